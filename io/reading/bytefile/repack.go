package bytefile

import (
	"io"

	"github.com/neardup/neardup/blocks"
)

// repacker writes the kept parts of a compressed file: it copies frames of which nothing is dropped, and compresses the
// others again.
type repacker struct {
	w           io.Writer
	packed      follower // reads and copies the file
	compression string
	anew        bool // compress all frames again

	position int64 // in the decompressed bytes
	frame    frame
	entered  bool // bytes of frame were put
	copied   bool // frame is copied
	out      compressor
	begun    bool // out has an unfinished frame
	written  bool
}

// put writes the next decompressed bytes, or omits them if they are dropped. next is where the next record to drop
// begins.
func (p *repacker) put(raw []byte, dropped bool, next int64) error {
	for len(raw) > 0 {
		if p.entered && p.position == p.frame.plainEnd {
			if err := p.leave(); err != nil {
				return err
			}
		}
		if !p.entered {
			if err := p.enter(); err != nil {
				return err
			}
			if p.copied = !dropped && next >= p.frame.plainEnd; p.copied {
				p.written = true
				if err := p.end(); err != nil {
					return err
				}
			}
		}
		part := raw[:min(int64(len(raw)), p.frame.plainEnd-p.position)]
		raw = raw[len(part):]
		p.position += int64(len(part))
		if err := p.follow(); err != nil {
			return err
		}
		if p.copied || dropped {
			continue
		}
		if err := p.open(); err != nil {
			return err
		}
		if _, err := p.out.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// replace omits the next decompressed bytes and writes others instead.
func (p *repacker) replace(raw, with []byte) error {
	if err := p.put(raw, true, p.position); err != nil {
		return err
	}
	if err := p.open(); err != nil {
		return err
	}
	_, err := p.out.Write(with)
	return err
}

// enter moves on to the next frame with content.
func (p *repacker) enter() error {
	for ok := p.compression == zstded && !p.anew; ; {
		at := p.frame.end
		if ok {
			p.frame, ok = beginFrame(p.packed.packed, at, p.position)
		}
		if !ok {
			p.frame = rest(at)
		}
		if p.frame.plainEnd > p.position {
			p.packed.at, p.entered = at, true
			return nil
		}
		if err := p.frame.walk(p.packed.packed, blocks.End); err != nil {
			return err
		}
	}
}

// follow walks the frame, and copies it if it is kept, close behind the file's reader.
func (p *repacker) follow() error {
	read := p.packed.read()
	if read-min(p.frame.end, p.packed.at) < readBytes {
		return nil
	}
	return p.through(read)
}

// through moves on to limit, or to the first block's end after it.
func (p *repacker) through(limit int64) error {
	if err := p.frame.walk(p.packed.packed, limit); err != nil || !p.copied {
		return err
	}
	return p.packed.to(min(p.frame.end, limit))
}

// leave finishes the frame.
func (p *repacker) leave() error {
	p.entered = false
	return p.through(blocks.End)
}

// open begins a frame unless one is open.
func (p *repacker) open() (err error) {
	switch {
	case p.begun:
		return nil
	case p.out == nil:
		p.out, err = compress(p.w, p.compression)
	default:
		p.out.Reset(p.w)
	}
	p.begun, p.written = true, true
	return err
}

// finish ends the file, which gets a frame even if nothing is kept.
func (p *repacker) finish() error {
	if p.entered && p.copied {
		if err := p.leave(); err != nil {
			return err
		}
	}
	if !p.written {
		if err := p.open(); err != nil {
			return err
		}
	}
	return p.end()
}

// end ends the open frame.
func (p *repacker) end() error {
	if !p.begun {
		return nil
	}
	p.begun = false
	return p.out.Close()
}
