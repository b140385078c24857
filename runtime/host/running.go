package host

// Running reports whether a host is the machine that the kernel runs, with mounts and
// processes, rather than a tree of files below a root.
func Running(h Host) bool { return h.Running() }

// Running is the function of this name.
func (l *Local) Running() bool { return l.root == nil }

// Running is that of the base.
func (s *Shadow) Running() bool { return Running(s.host) }

// Obscure tells a Shadow that a file system is mounted on a directory, or unmounted:
// all there, the directory itself included, is ErrUnforeseeable from then on. The path
// is resolved to its last name. To any other host it means nothing.
func Obscure(h Host, path string) error {
	return h.obscure(path)
}

// Foreseen reports whether earlier steps of a plan change what the path leads to, so
// that what the machine itself shows elsewhere may not be what it will show by then. Of
// any host but a Shadow it is false.
func Foreseen(h Host, path string) bool {
	return h.foreseen(path)
}

func (s *Shadow) foreseen(path string) bool { return s.HasChanged(path) }
