package bytefile

import (
	"io"

	"github.com/neardup/neardup/blocks"
)

// repacker writes what is kept of a compressed file: frames that nothing is dropped of as they stand
// there, others anew.
type repacker struct {
	w           io.Writer
	packed      follower // the file
	compression string
	anew        bool // all frames are

	position int64 // in the plain bytes
	frame    frame
	entered  bool // some of frame was put
	copied   bool // and so it is written
	out      compressor
	begun    bool // out has a frame that is not ended
	written  bool
}

// put writes the next plain bytes, or leaves them out if they are dropped; next is where the next
// record that is to be dropped begins.
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

// replace leaves the next plain bytes out, and writes others.
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

// enter goes on to the next frame that has plain bytes.
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

// follow goes through the frame, and copies it, not far behind where the file is being read.
func (p *repacker) follow() error {
	read := p.packed.read()
	if read-min(p.frame.end, p.packed.at) < readBytes {
		return nil
	}
	return p.through(read)
}

// through goes on to limit, or where a block ends behind it.
func (p *repacker) through(limit int64) error {
	if err := p.frame.walk(p.packed.packed, limit); err != nil || !p.copied {
		return err
	}
	return p.packed.to(min(p.frame.end, limit))
}

// leave ends with the frame.
func (p *repacker) leave() error {
	p.entered = false
	return p.through(blocks.End)
}

// open begins a frame, unless one is begun.
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

// finish ends the file, which has a frame even if nothing is kept.
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

// end ends the frame that was begun.
func (p *repacker) end() error {
	if !p.begun {
		return nil
	}
	p.begun = false
	return p.out.Close()
}
