package simulated

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"

	"github.com/tenetcm/tenet/runtime/host"
)

// WriteFile puts a file at the path, with the directories above it.
func WriteFile(ctx context.Context, h host.Host, name, content string, m host.Meta) error {
	if err := parents(h, name); err != nil {
		return err
	}
	return h.WriteFile(ctx, name, host.Text(content), m)
}

// MakeDirectory makes a directory, with those above it. One that is there stays
// as it is.
func MakeDirectory(h host.Host, name string, mode *fs.FileMode) error {
	if name == "/" {
		return nil
	}
	if info, err := h.Lstat(name); err == nil {
		if info.Kind == host.Regular {
			return fmt.Errorf("%s is a file, and cannot be a directory", name)
		}
		return nil
	}
	if err := parents(h, name); err != nil {
		return err
	}
	err := h.Mkdir(name, host.Meta{Mode: mode})
	if errors.Is(err, fs.ErrExist) { // somebody else was faster
		if info, now := h.Lstat(name); now == nil && info.Kind == host.Directory {
			return nil
		}
	}
	return err
}

// Link makes a symbolic link, with the directories above it.
func Link(h host.Host, target, name string) error {
	if err := parents(h, name); err != nil {
		return err
	}
	return h.Symlink(target, name, host.Meta{})
}

func parents(h host.Host, name string) error {
	if !path.IsAbs(name) || path.Clean(name) != name {
		return fmt.Errorf("%q is no absolute path in its shortest form", name)
	}
	return MakeDirectory(h, path.Dir(name), nil)
}

// Text reads a file, through symbolic links; "" where there is none.
func Text(h host.Reader, name string) string {
	text, _ := host.ReadText(h, name)
	return text
}

// Exists reports whether something is at the path.
func Exists(h host.Reader, name string) bool {
	_, err := h.Lstat(name)
	return err == nil
}

// resolve turns names into numbers.
func (m Meta) resolve(h host.Accounts) (host.Meta, error) {
	out := host.Meta{Mode: m.Mode}
	if m.Owner != "" {
		uid, err := UID(h, m.Owner)
		if err != nil {
			return out, err
		}
		out.UID = &uid
	}
	if m.Group != "" {
		gid, err := GID(h, m.Group)
		if err != nil {
			return out, err
		}
		out.GID = &gid
	}
	return out, nil
}

// UID gives the number of a user that is given by name or number.
func UID(h host.Accounts, name string) (int, error) {
	if u, err := h.User(name); err == nil {
		return u.UID, nil
	}
	if n, err := strconv.ParseUint(name, 10, 31); err == nil {
		return int(n), nil
	}
	return 0, fmt.Errorf("there is no user %q", name)
}

// GID gives the number of a group that is given by name or number.
func GID(h host.Accounts, name string) (int, error) {
	if g, err := h.Group(name); err == nil {
		return g.GID, nil
	}
	if n, err := strconv.ParseUint(name, 10, 31); err == nil {
		return int(n), nil
	}
	return 0, fmt.Errorf("there is no group %q", name)
}
