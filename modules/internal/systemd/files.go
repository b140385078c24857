package systemd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
)

// Place is where the administrator's own unit files are: the machine's, or an
// account's.
type Place struct {
	Dir  string
	meta host.Meta
	home string // below which everything is the account's
}

// PlaceOf gives the place for an account; nil: the machine's.
func PlaceOf(h host.Accounts, user *string) (Place, error) {
	if user == nil {
		return Place{Dir: "/etc/systemd/system", meta: host.Meta{Mode: new(fs.FileMode(0o644))}}, nil
	}
	u, err := h.User(*user)
	if err != nil {
		return Place{}, err
	}
	if !path.IsAbs(u.Home) || u.Home == "/" {
		return Place{}, fmt.Errorf("the account %s has no home for its units", *user)
	}
	return Place{
		Dir: path.Join(u.Home, ".config/systemd/user"), home: u.Home,
		meta: host.Meta{Mode: new(fs.FileMode(0o644)), UID: &u.UID, GID: &u.GID},
	}, nil
}

// Read gives the text of a file below the place, and whether there is one. What is
// no regular file is an error.
func (p Place) Read(h host.Reader, name string) (host.Content, bool, error) {
	at := path.Join(p.Dir, name)
	if err := p.safe(h, path.Dir(at)); err != nil {
		return host.Content{}, false, err
	}
	info, err := h.Lstat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return host.Content{}, false, nil
	case err != nil:
		return host.Content{}, false, err
	case info.Kind == host.Symlink:
		target, err := h.ReadLink(at)
		if err == nil && target == "/dev/null" {
			err = fmt.Errorf("%s is masked: a service part with masked = false lifts that", name)
		} else if err == nil {
			err = fmt.Errorf("%s is a symbolic link to %s, not a file", at, target)
		}
		return host.Content{}, false, err
	case info.Kind != host.Regular:
		return host.Content{}, false, fmt.Errorf("%s is a %s, not a file", at, info.Kind)
	}
	content, err := host.ReadContent(h, at, info)
	return content, err == nil, err
}

// Write puts a file below the place, with the directories above it.
func (p Place) Write(ctx context.Context, h host.Host, name string, c host.Content) error {
	at := path.Join(p.Dir, name)
	if err := p.parents(h, path.Dir(at)); err != nil {
		return err
	}
	return h.WriteFile(ctx, at, c, p.meta)
}

// Remove takes a file away, and the directory of drop-ins that is empty then.
func (p Place) Remove(h host.Host, name string) error {
	if err := p.safe(h, path.Dir(path.Join(p.Dir, name))); err != nil {
		return err
	}
	err := h.Remove(path.Join(p.Dir, name))
	if dir := path.Dir(name); err == nil && dir != "." {
		entries, lerr := h.ReadDir(path.Join(p.Dir, dir))
		if lerr == nil && len(entries) == 0 {
			lerr = h.Remove(path.Join(p.Dir, dir))
		}
		err = lerr
	}
	return err
}

func (p Place) parents(h host.Host, dir string) error {
	if err := p.safe(h, dir); err != nil {
		return err
	}
	var missing []string
	for at := dir; ; at = path.Dir(at) {
		_, err := h.Lstat(at)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if at == p.home {
			return fmt.Errorf("the home %s is not there", p.home)
		}
		missing = append(missing, at)
	}
	for i := len(missing) - 1; i >= 0; i-- {
		m := p.meta
		m.Mode = new(fs.FileMode(0o755))
		if err := h.Mkdir(missing[i], m); err != nil {
			return err
		}
	}
	return nil
}

// safe refuses a way through links in an account's home: the account could lead
// root to another place by it.
func (p Place) safe(h host.Reader, dir string) error {
	if p.home == "" {
		return nil
	}
	at := p.home
	for _, name := range strings.Split(strings.TrimPrefix(dir, p.home+"/"), "/") {
		at = path.Join(at, name)
		info, err := h.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if info.Kind != host.Directory {
			return fmt.Errorf("%s is a %s, and is not followed: units of an account are written to its own directories only", at, info.Kind)
		}
	}
	return nil
}
