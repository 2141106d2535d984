package lossy

import (
	"path"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// server answers the kernel's requests. It answers others with ENOSYS: the kernel then does without, as for attributes,
// or handles them itself, as for locks.
type server struct {
	fuse.RawFileSystem
	*System
}

func (s *System) inode(number uint64) *inode { return s.inodes[number-1] }

func (n *inode) attributes(out *fuse.Attr) {
	*out = fuse.Attr{
		Ino: n.number, Mode: n.mode, Nlink: n.links, Owner: fuse.Owner{Uid: n.uid, Gid: n.gid},
		Size: uint64(len(n.data)), Blocks: uint64(len(n.data)+511) / 512, Blksize: 4096,
	}
	out.SetTimes(nil, &n.modified, &n.changed)
}

func (n *inode) describe(out *fuse.EntryOut) {
	out.NodeId = n.number
	n.attributes(&out.Attr)
}

func (s server) Lookup(_ <-chan struct{}, header *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	node := s.inode(header.NodeId).names[name]
	if node == nil {
		return fuse.ENOENT
	}
	node.describe(out)
	return fuse.OK
}

func (s server) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inode(in.NodeId).attributes(&out.Attr)
	return fuse.OK
}

func (s server) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	node := s.inode(in.NodeId)
	node.changed = s.now()
	if size, ok := in.GetSize(); ok {
		node.resize(int(size))
		node.touch()
	}
	if mode, ok := in.GetMode(); ok {
		node.mode = node.mode&syscall.S_IFMT | mode&0o7777
	}
	if uid, ok := in.GetUID(); ok {
		node.uid = uid
	}
	if gid, ok := in.GetGID(); ok {
		node.gid = gid
	}
	if modified, ok := in.GetMTime(); ok {
		node.modified = modified
	}
	node.attributes(&out.Attr)
	return fuse.OK
}

func (n *inode) resize(size int) {
	if size > len(n.data) {
		n.data = append(n.data, make([]byte, size-len(n.data))...)
	}
	n.data = n.data[:size]
}

func (s server) Mkdir(_ <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	parent := s.inode(in.NodeId)
	if parent.names[name] != nil {
		return fuse.Status(unix.EEXIST)
	}
	node := s.add(syscall.S_IFDIR | in.Mode)
	parent.name(name, node)
	node.describe(out)
	s.tell("mkdir %s", node.path)
	return fuse.OK
}

func (s server) Create(_ <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	parent := s.inode(in.NodeId)
	if parent.names[name] != nil {
		return fuse.Status(unix.EEXIST) // the kernel has checked, so another process was faster
	}
	node := s.add(syscall.S_IFREG | in.Mode&0o7777)
	parent.name(name, node)
	node.describe(&out.EntryOut)
	s.tell("create %s", node.path)
	return fuse.OK
}

func (s server) Link(_ <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) fuse.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	parent, node := s.inode(in.NodeId), s.inode(in.Oldnodeid)
	if parent.names[name] != nil {
		return fuse.Status(unix.EEXIST)
	}
	parent.name(name, node)
	node.links++
	node.describe(out)
	s.tell("link %s", node.path)
	return fuse.OK
}

func (s server) Unlink(_ <-chan struct{}, header *fuse.InHeader, name string) fuse.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remove(s.inode(header.NodeId), name)
}

func (s server) Rmdir(_ <-chan struct{}, header *fuse.InHeader, name string) fuse.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remove(s.inode(header.NodeId), name)
}

func (s *System) remove(parent *inode, name string) fuse.Status {
	node := parent.names[name]
	if node == nil {
		return fuse.ENOENT
	}
	if len(node.names) > 0 {
		return fuse.Status(unix.ENOTEMPTY)
	}
	delete(parent.names, name)
	parent.touch()
	node.links--
	s.tell("remove %s", path.Join(parent.path, name))
	return fuse.OK
}

// Rename leaves checks of kinds, and of folders moved into themselves, to the kernel.
func (s server) Rename(_ <-chan struct{}, in *fuse.RenameIn, from, to string) fuse.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	if in.Flags != 0 && s.options.NoFlags || in.Flags&^(unix.RENAME_EXCHANGE|unix.RENAME_NOREPLACE) != 0 {
		return fuse.EINVAL
	}
	source, target := s.inode(in.NodeId), s.inode(in.Newdir)
	node, old := source.names[from], target.names[to]
	exchange := in.Flags&unix.RENAME_EXCHANGE != 0
	switch {
	case node == nil, exchange && old == nil:
		return fuse.ENOENT
	case old != nil && in.Flags&unix.RENAME_NOREPLACE != 0:
		return fuse.Status(unix.EEXIST)
	case exchange && s.options.Busy && len(node.names)+len(old.names) > 0:
		return fuse.EBUSY
	case node == old:
		return fuse.OK
	case exchange:
		source.name(from, old)
	case old != nil && len(old.names) > 0:
		return fuse.Status(unix.ENOTEMPTY)
	default:
		delete(source.names, from)
		if old != nil {
			old.links--
		}
	}
	target.name(to, node)
	source.touch()
	s.tell("rename %s to %s", path.Join(source.path, from), node.path)
	return fuse.OK
}

func (s server) Open(_ <-chan struct{}, in *fuse.OpenIn, _ *fuse.OpenOut) fuse.Status {
	if in.Flags&syscall.O_TRUNC != 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		node := s.inode(in.NodeId)
		node.resize(0)
		node.touch()
	}
	return fuse.OK
}

func (s server) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data := s.inode(in.NodeId).data
	n := copy(buf, data[min(in.Offset, uint64(len(data))):])
	return fuse.ReadResultData(buf[:n]), fuse.OK
}

func (s server) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	node := s.inode(in.NodeId)
	end := int(in.Offset) + len(data)
	node.resize(max(end, len(node.data)))
	copy(node.data[in.Offset:], data)
	node.touch()
	return uint32(len(data)), fuse.OK
}

func (s server) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	node := s.inode(in.NodeId)
	node.sync()
	s.tell("fsync %s", node.path)
	return fuse.OK
}

func (s server) FsyncDir(cancel <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return s.Fsync(cancel, in)
}

// OpenDir keeps the current names, because a reader may remove files between two reads.
func (s server) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handles++
	for name, node := range s.inode(in.NodeId).names {
		s.listed[s.handles] = append(s.listed[s.handles], entry{name, node})
	}
	out.Fh = s.handles
	return fuse.OK
}

func (s server) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries := s.listed[in.Fh]
	for _, e := range entries[min(in.Offset, uint64(len(entries))):] {
		if !out.AddDirEntry(fuse.DirEntry{Name: e.name, Ino: e.node.number, Mode: e.node.mode}) {
			break
		}
	}
	return fuse.OK
}

func (s server) ReleaseDir(in *fuse.ReleaseIn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listed, in.Fh)
}

// StatFs reports 1 TiB, all of it free.
func (s server) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	*out = fuse.StatfsOut{Bsize: 4096, Frsize: 4096, Blocks: 1 << 28, Bfree: 1 << 28, Bavail: 1 << 28, NameLen: 255}
	return fuse.OK
}
