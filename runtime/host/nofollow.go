package host

import (
	"context"
	"errors"
	"io"
	"path"
	"syscall"
)

// NoFollower keeps to the way that a path says, whoever puts a symbolic link into it.
type NoFollower interface {
	// NoFollow gives the host with paths that lead where they say: a symbolic link on
	// the way to what is looked at or changed is an error, whoever puts it there and
	// whenever. What stands at the path itself is not followed either.
	NoFollow() Host
}

// NoFollow gives a host as NoFollower does. Use it in directories that belong to somebody
// with fewer rights than the program has, with a path that Resolve has given.
func NoFollow(h Host) Host { return h.NoFollow() }

// NoFollowByPath is the NoFollow of a host on which nobody else acts, such as one in memory: it
// looks at the way before each act.
func NoFollowByPath(h Host) Host { return noFollowHost{h} }

// IsLink reports whether an error of such a host is about a symbolic link.
func IsLink(err error) bool { return errors.Is(err, syscall.ELOOP) }

// NoFollow is NoFollower.NoFollow: the kernel sees to it.
func (l *Local) NoFollow() Host {
	if l.origin != nil {
		return l
	}
	return &Local{root: l.root, dir: l.dir, env: l.env, grace: l.grace, runID: l.runID,
		componentwise: l.componentwise, origin: l, files: l.files, otherAccounts: l.otherAccounts, buses: l.buses, cache: &answerCache{}}
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

// noFollowReader looks at the way before it reads.
type noFollowReader struct{ Reader }

func (s noFollowReader) Lstat(name string) (Info, error) {
	if err := checkWay(s.Reader, "lstat", name, false); err != nil {
		return Info{}, err
	}
	return s.Reader.Lstat(name)
}

func (s noFollowReader) ReadDir(name string) ([]Entry, error) {
	if err := checkWay(s.Reader, "readdir", name, true); err != nil {
		return nil, err
	}
	return s.Reader.ReadDir(name)
}

func (s noFollowReader) ReadLink(name string) (string, error) {
	if err := checkWay(s.Reader, "readlink", name, false); err != nil {
		return "", err
	}
	return s.Reader.ReadLink(name)
}

func (s noFollowReader) Open(name string) (io.ReadCloser, error) {
	if err := checkWay(s.Reader, "open", name, true); err != nil {
		return nil, err
	}
	return s.Reader.Open(name)
}

// noFollowHost looks at the way before each act.
type noFollowHost struct{ Host }

func (s noFollowHost) check(op, name string) error { return checkWay(s.Host, op, name, false) }

func (s noFollowHost) NoFollow() Host                   { return s }
func (s noFollowHost) ForRun(id string) Host            { return noFollowHost{s.Host.ForRun(id)} }
func (s noFollowHost) OpenDir(name string) (Dir, error) { return DirByPath(s, name) }
func (s noFollowHost) Lstat(name string) (Info, error)  { return noFollowReader{s.Host}.Lstat(name) }
func (s noFollowHost) ReadDir(name string) ([]Entry, error) {
	return noFollowReader{s.Host}.ReadDir(name)
}
func (s noFollowHost) ReadLink(name string) (string, error) {
	return noFollowReader{s.Host}.ReadLink(name)
}
func (s noFollowHost) Open(name string) (io.ReadCloser, error) {
	return noFollowReader{s.Host}.Open(name)
}

func (s noFollowHost) OpenNoFollow(name string) (io.ReadCloser, Info, error) {
	return openNoFollow(s, name)
}

func (s noFollowHost) WriteFile(ctx context.Context, name string, c Content, m Meta) error {
	if err := s.check("write", name); err != nil {
		return err
	}
	return s.Host.WriteFile(ctx, name, c, m)
}

func (s noFollowHost) Mkdir(name string, m Meta) error {
	if err := s.check("mkdir", name); err != nil {
		return err
	}
	return s.Host.Mkdir(name, m)
}

func (s noFollowHost) Symlink(target, name string, m Meta) error {
	if err := s.check("symlink", name); err != nil {
		return err
	}
	return s.Host.Symlink(target, name, m)
}

func (s noFollowHost) SetMeta(name string, m Meta) error {
	if err := s.check("chown", name); err != nil {
		return err
	}
	return s.Host.SetMeta(name, m)
}

func (s noFollowHost) Remove(name string) error {
	if err := s.check("remove", name); err != nil {
		return err
	}
	return s.Host.Remove(name)
}

func (s noFollowHost) Tune(name, value string) error {
	if err := checkWay(s.Host, "write", name, true); err != nil {
		return err
	}
	return s.Host.Tune(name, value)
}
