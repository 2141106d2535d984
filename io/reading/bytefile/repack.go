package bytefile

import "io"

// repacker writes what is kept of a compressed file: frames that nothing is dropped of as they stand
// there, others anew.
type repacker struct {
	w           io.Writer
	packed      io.ReaderAt // the file
	compression string
	frames      []frame // those that are not passed

	position int64 // in the plain bytes
	entered  bool  // some of the first frame was put
	copied   bool  // and so it was written
	out      compressor
	begun    bool // out has a frame that is not ended
	written  bool
}

// put writes the next plain bytes, or leaves them out if they are dropped; next is where the next
// record that is to be dropped begins.
func (p *repacker) put(raw []byte, dropped bool, next int64) error {
	for len(raw) > 0 {
		f := p.frames[0]
		if p.position == f.plainEnd {
			p.frames, p.entered = p.frames[1:], false
			continue
		}
		if !p.entered {
			p.entered = true
			p.copied = !dropped && next >= f.plainEnd
			if p.copied {
				if err := p.copy(f); err != nil {
					return err
				}
			}
		}
		part := raw[:min(int64(len(raw)), f.plainEnd-p.position)]
		raw = raw[len(part):]
		p.position += int64(len(part))
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

func (p *repacker) copy(f frame) error {
	if err := p.end(); err != nil {
		return err
	}
	p.written = true
	_, err := io.Copy(p.w, io.NewSectionReader(p.packed, f.start, f.end-f.start))
	return err
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
