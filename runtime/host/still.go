package host

import (
	"context"
	"errors"
	"io"
	"path"
	"syscall"
)

// Stiller is offered by hosts on which somebody else may put a symbolic link in the
// way at any time.
type Stiller interface {
	// Still gives the host with paths that lead where they say: a symbolic link on
	// the way to what is looked at or changed is an error, whoever puts it there and
	// whenever. What stands at the path itself is not followed either.
	Still() Host
}

// Still gives a host as Stiller does. Use it in directories that belong to somebody
// with fewer rights than the program has, with a path that Resolve has given.
func Still(h Host) Host {
	if s, ok := h.(Stiller); ok {
		return s.Still()
	}
	return still{h}
}

// IsLink reports whether an error of such a host is about a symbolic link.
func IsLink(err error) bool { return errors.Is(err, syscall.ELOOP) }

// Still is Stiller.Still: the kernel sees to it.
func (l *Local) Still() Host {
	view := &Local{root: l.root, dir: l.dir, env: l.env, grace: l.grace, runID: l.runID,
		componentwise: l.componentwise, of: l, others: l.others}
	view.files = l.files
	return view
}

// Still is Stiller.Still.
func (w *watched) Still() Host { return &watched{Host: Still(w.Host), watcher: w.watcher} }

// still looks at the way before each act: enough for a host that nobody else acts on
// meanwhile, such as one in memory.
type still struct{ Host }

// check is an error where a path has a symbolic link on its way, or, if so wanted,
// at its end.
func (s still) check(op, name string, last bool) error {
	for dir := path.Dir(name); dir != "/" && dir != "."; dir = path.Dir(dir) {
		if info, err := s.Host.Lstat(dir); err == nil && info.Kind == Symlink {
			return pathError(op, name, syscall.ELOOP)
		}
	}
	if info, err := s.Host.Lstat(name); last && err == nil && info.Kind == Symlink {
		return pathError(op, name, syscall.ELOOP)
	}
	return nil
}

func (s still) Lstat(name string) (Info, error) {
	if err := s.check("lstat", name, false); err != nil {
		return Info{}, err
	}
	return s.Host.Lstat(name)
}

func (s still) ReadDir(name string) ([]Entry, error) {
	if err := s.check("readdir", name, true); err != nil {
		return nil, err
	}
	return s.Host.ReadDir(name)
}

func (s still) ReadLink(name string) (string, error) {
	if err := s.check("readlink", name, false); err != nil {
		return "", err
	}
	return s.Host.ReadLink(name)
}

func (s still) Open(name string) (io.ReadCloser, error) {
	if err := s.check("open", name, true); err != nil {
		return nil, err
	}
	return s.Host.Open(name)
}

func (s still) WriteFile(ctx context.Context, name string, c Content, m Meta) error {
	if err := s.check("write", name, false); err != nil {
		return err
	}
	return s.Host.WriteFile(ctx, name, c, m)
}

func (s still) Mkdir(name string, m Meta) error {
	if err := s.check("mkdir", name, false); err != nil {
		return err
	}
	return s.Host.Mkdir(name, m)
}

func (s still) Symlink(target, name string, m Meta) error {
	if err := s.check("symlink", name, false); err != nil {
		return err
	}
	return s.Host.Symlink(target, name, m)
}

func (s still) SetMeta(name string, m Meta) error {
	if err := s.check("chown", name, false); err != nil {
		return err
	}
	return s.Host.SetMeta(name, m)
}

func (s still) Remove(name string) error {
	if err := s.check("remove", name, false); err != nil {
		return err
	}
	return s.Host.Remove(name)
}
