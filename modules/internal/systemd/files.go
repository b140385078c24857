package systemd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/home"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Place is where the administrator's own unit files are: the machine's, or an
// account's.
type Place struct {
	Dir  string
	host host.Host // follows no symbolic link where an account may put one
	meta host.Meta
	home string // below which everything is the account's
}

// Written is the first line of the files of a systemd_timer.
const Written = "# Written by tenet: what is changed here is put back.\n"

// PlaceOf gives the place for an account; nil: the machine's.
func PlaceOf(h host.Host, user *string) (Place, error) {
	if user == nil {
		return Place{host: h, Dir: "/etc/systemd/system", meta: host.Meta{Mode: new(fs.FileMode(0o644))}}, nil
	}
	u, err := h.User(*user)
	if err != nil {
		return Place{}, err
	}
	own, err := home.Real(h, u)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // one that is missing holds no unit
		return Place{}, err
	}
	return Place{
		host: host.NoFollow(h), Dir: path.Join(own, ".config/systemd/user"), home: own,
		meta: host.Meta{Mode: new(fs.FileMode(0o644)), UID: &u.UID, GID: &u.GID},
	}, nil
}

// Read gives the text of a file below the place, and whether there is one. What is
// no regular file is an error.
func (p Place) Read(name string) (host.Content, bool, error) {
	at := path.Join(p.Dir, name)
	if err := p.safe(path.Dir(at)); err != nil {
		return host.Content{}, false, err
	}
	info, err := p.host.Lstat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return host.Content{}, false, nil
	case err != nil:
		return host.Content{}, false, err
	case info.Kind == host.Symlink:
		target, err := p.host.ReadLink(at)
		if err == nil && target == "/dev/null" {
			err = fmt.Errorf("%s is masked: a service part with masked = false lifts that", name)
		} else if err == nil {
			err = fmt.Errorf("%s is a symbolic link to %s, not a file", at, target)
		}
		return host.Content{}, false, err
	case info.Kind != host.Regular:
		return host.Content{}, false, states.WrongKindError(at, info.Kind, "file")
	}
	content, err := host.CopyContent(context.Background(), p.host, at, info) // a large one is no unit file, and not read
	return content, err == nil, err
}

// Write puts a file below the place, with the directories above it.
func (p Place) Write(ctx context.Context, name string, c host.Content) error {
	at := path.Join(p.Dir, name)
	if err := p.parents(path.Dir(at)); err != nil {
		return err
	}
	return p.host.WriteFile(ctx, at, c, p.meta)
}

// Remove takes a file away, and the directory of drop-ins that is empty then.
func (p Place) Remove(name string) error {
	if err := p.safe(path.Dir(path.Join(p.Dir, name))); err != nil {
		return err
	}
	err := p.host.Remove(path.Join(p.Dir, name))
	if dir := path.Dir(name); err == nil && dir != "." {
		entries, lerr := p.host.ReadDir(path.Join(p.Dir, dir))
		if lerr == nil && len(entries) == 0 {
			lerr = p.host.Remove(path.Join(p.Dir, dir))
		}
		err = lerr
	}
	return err
}

func (p Place) parents(dir string) error {
	if err := p.safe(dir); err != nil {
		return err
	}
	var missing []string
	for at := dir; ; at = path.Dir(at) {
		_, err := p.host.Lstat(at)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if at == p.home {
			return states.DirectoryError(p.host, p.home, err)
		}
		missing = append(missing, at)
	}
	for i := len(missing) - 1; i >= 0; i-- {
		m := p.meta
		m.Mode = new(fs.FileMode(0o755))
		// Another part may have made it meanwhile.
		if err := p.host.Mkdir(missing[i], m); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// safe refuses a way through links in an account's home: the account could lead
// root to another place by it.
func (p Place) safe(dir string) error {
	if p.home == "" {
		return nil
	}
	at := p.home
	for _, name := range strings.Split(strings.TrimPrefix(dir, p.home+"/"), "/") {
		at = path.Join(at, name)
		info, err := p.host.Lstat(at)
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
