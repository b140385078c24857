package host

import (
	"context"
	"errors"
	"io"
	"path"
	"syscall"
)

// Stiller keeps to the way that a path says, whoever puts a symbolic link into it.
type Stiller interface {
	// Still gives the host with paths that lead where they say: a symbolic link on
	// the way to what is looked at or changed is an error, whoever puts it there and
	// whenever. What stands at the path itself is not followed either.
	Still() Host
}

// Still gives a host as Stiller does. Use it in directories that belong to somebody
// with fewer rights than the program has, with a path that Resolve has given.
func Still(h Host) Host { return h.Still() }

// StillByPath is the Still of a host on which nobody else acts, such as one in memory: it
// looks at the way before each act.
func StillByPath(h Host) Host { return still{h} }

// IsLink reports whether an error of such a host is about a symbolic link.
func IsLink(err error) bool { return errors.Is(err, syscall.ELOOP) }

// Still is Stiller.Still: the kernel sees to it.
func (l *Local) Still() Host {
	if l.of != nil {
		return l
	}
	return &Local{root: l.root, dir: l.dir, env: l.env, grace: l.grace, runID: l.runID,
		componentwise: l.componentwise, of: l, files: l.files, others: l.others, buses: l.buses, kept: &keptThings{}}
}

// checkWay is an error where a path has a symbolic link on its way, or, if so wanted,
// at its end.
func checkWay(r Reader, op, name string, last bool) error {
	for dir := path.Dir(name); dir != "/" && dir != "."; dir = path.Dir(dir) {
		if info, err := r.Lstat(dir); err == nil && info.Kind == Symlink {
			return pathError(op, name, syscall.ELOOP)
		}
	}
	if info, err := r.Lstat(name); last && err == nil && info.Kind == Symlink {
		return pathError(op, name, syscall.ELOOP)
	}
	return nil
}

// stillReader looks at the way before it reads.
type stillReader struct{ Reader }

func (s stillReader) Lstat(name string) (Info, error) {
	if err := checkWay(s.Reader, "lstat", name, false); err != nil {
		return Info{}, err
	}
	return s.Reader.Lstat(name)
}

func (s stillReader) ReadDir(name string) ([]Entry, error) {
	if err := checkWay(s.Reader, "readdir", name, true); err != nil {
		return nil, err
	}
	return s.Reader.ReadDir(name)
}

func (s stillReader) ReadLink(name string) (string, error) {
	if err := checkWay(s.Reader, "readlink", name, false); err != nil {
		return "", err
	}
	return s.Reader.ReadLink(name)
}

func (s stillReader) Open(name string) (io.ReadCloser, error) {
	if err := checkWay(s.Reader, "open", name, true); err != nil {
		return nil, err
	}
	return s.Reader.Open(name)
}

// still looks at the way before each act.
type still struct{ Host }

func (s still) check(op, name string) error { return checkWay(s.Host, op, name, false) }

func (s still) Still() Host                             { return s }
func (s still) ForRun(id string) Host                   { return still{s.Host.ForRun(id)} }
func (s still) OpenDir(name string) (Dir, error)        { return DirByPath(s, name) }
func (s still) Lstat(name string) (Info, error)         { return stillReader{s.Host}.Lstat(name) }
func (s still) ReadDir(name string) ([]Entry, error)    { return stillReader{s.Host}.ReadDir(name) }
func (s still) ReadLink(name string) (string, error)    { return stillReader{s.Host}.ReadLink(name) }
func (s still) Open(name string) (io.ReadCloser, error) { return stillReader{s.Host}.Open(name) }

func (s still) OpenStill(name string) (io.ReadCloser, Info, error) { return openStill(s, name) }

func (s still) WriteFile(ctx context.Context, name string, c Content, m Meta) error {
	if err := s.check("write", name); err != nil {
		return err
	}
	return s.Host.WriteFile(ctx, name, c, m)
}

func (s still) Mkdir(name string, m Meta) error {
	if err := s.check("mkdir", name); err != nil {
		return err
	}
	return s.Host.Mkdir(name, m)
}

func (s still) Symlink(target, name string, m Meta) error {
	if err := s.check("symlink", name); err != nil {
		return err
	}
	return s.Host.Symlink(target, name, m)
}

func (s still) SetMeta(name string, m Meta) error {
	if err := s.check("chown", name); err != nil {
		return err
	}
	return s.Host.SetMeta(name, m)
}

func (s still) Remove(name string) error {
	if err := s.check("remove", name); err != nil {
		return err
	}
	return s.Host.Remove(name)
}

func (s still) Tune(name, value string) error {
	if err := checkWay(s.Host, "write", name, true); err != nil {
		return err
	}
	return s.Host.Tune(name, value)
}
