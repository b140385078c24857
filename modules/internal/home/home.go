// Package home reads and writes files in a user's home directory, as root mostly.
// The directory is the user's: whatever stands there, and whatever the user puts
// there meanwhile, must not lead to a file of somebody else.
package home

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/lines"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Folder is a directory in a user's home, such as .ssh. Files in it belong to the
// user, with mode 0600, and the directory has mode 0700 when it is made.
type Folder struct {
	host host.Host // which follows no symbolic link
	user host.User
	path string
}

// Open looks up the folder of a user. It is not made, and need not be there. The
// user and the home directory must.
func Open(h host.Host, user, name string) (*Folder, error) {
	u, err := h.User(user)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, check.NotOnHost("user", fmt.Sprintf("%q", user))
	}
	if err != nil {
		return nil, err
	}
	if _, err := Real(h, u); err != nil {
		return nil, err
	}
	f := &Folder{host: host.NoFollow(h), user: u, path: host.Resolve(h, path.Join(u.Home, name))}
	info, err := f.host.Lstat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return nil, f.explain(err)
	case info.Kind != host.Directory:
		return nil, fmt.Errorf("%s is a %s, not a directory; what it leads to is not looked at, since the user may have put it there", f.path, info.Kind)
	}
	return f, f.ofUser(f.path, info)
}

// Real gives the path of a home directory without symbolic links. One that somebody
// else than the user or root decides about is an error; of one that is missing the
// path is given beside an error that wraps fs.ErrNotExist.
func Real(h host.Reader, u host.User) (string, error) {
	if !path.IsAbs(u.Home) || path.Clean(u.Home) == "/" {
		return "", fmt.Errorf("the user %s has no home directory (%q)", u.Name, u.Home)
	}
	return strings.TrimSuffix(host.Resolve(h, path.Join(u.Home, "x")), "/x"), checkTrust(h, u)
}

// checkTrust holds the home directory to belong to the user or to root, and what is
// above it to root: else somebody else decides where it is. Above what is the
// user's own only the user's own counts, too.
func checkTrust(h host.Reader, u host.User) error {
	home := path.Clean(u.Home)
	nested := false
	for i := 1; i < len(home); i++ {
		if home[i] != '/' {
			continue
		}
		info, err := h.Lstat(home[:i])
		if errors.Is(err, fs.ErrNotExist) {
			break // so is the home
		}
		if err != nil {
			return err
		}
		if info.UID != 0 && info.UID != u.UID {
			return fmt.Errorf("%s, above the home directory of %s, belongs to the user %d, and neither to root nor to %s", home[:i], u.Name, info.UID, u.Name)
		}
		nested = nested || info.UID != 0
	}
	if info, err := h.Lstat(home); err == nil && info.Kind == host.Symlink {
		nested = nested || info.UID != 0
	}
	resolved := strings.TrimSuffix(host.Resolve(h, home+"/x"), "/x")
	info, err := h.Lstat(resolved)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &diag.HintError{Code: "not_found", Message: fmt.Sprintf("%s, the home directory of %s, is not there", home, u.Name), Err: err,
			Hint: fmt.Sprintf("a user part makes it for a new user, but for system accounts; else declare before it: directory %q, with owner = %q and mode = \"0700\"", home, u.Name)}
	case err != nil:
		return err
	case info.Kind != host.Directory:
		return fmt.Errorf("%s, the home directory of %s, is a %s", home, u.Name, info.Kind)
	case info.UID == u.UID || info.UID == 0 && !nested:
		return nil
	}
	return fmt.Errorf("%s, the home directory of %s, belongs to the user %d", home, u.Name, info.UID)
}

// ofUser is an error where something belongs to somebody else.
func (f *Folder) ofUser(name string, info host.Info) error {
	if info.UID != f.user.UID && info.UID != 0 {
		return fmt.Errorf("%s belongs to the user %d, and neither to %s nor to root", name, info.UID, f.user.Name)
	}
	return nil
}

// explain says of a link what it is.
func (f *Folder) explain(err error) error {
	if host.IsLink(err) {
		return fmt.Errorf("%w: a symbolic link is not followed here, since the user %s may have put it there", err, f.user.Name)
	}
	return err
}

// Path is where a file of the folder is.
func (f *Folder) Path(name string) string { return path.Join(f.path, name) }

const (
	fileMode      = fs.FileMode(0o600)
	directoryMode = fs.FileMode(0o700)
)

// Load reads a file; there says that it is. Wrong are the changes that it needs
// beside its content: its owner and mode, and the mode of the folder, where others
// may write to it.
func (f *Folder) Load(name string) (text lines.Text, there bool, wrong []states.Change, err error) {
	info, err := f.host.Lstat(f.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil, nil
	}
	if err != nil {
		return nil, false, nil, f.explain(err)
	}
	if err := f.ofUser(f.Path(name), info); err != nil {
		return nil, false, nil, err
	}
	if info.Kind != host.Regular {
		return nil, false, nil, fmt.Errorf("%s is a %s, not a file; what it leads to is not looked at, since the user may have put it there", f.Path(name), info.Kind)
	}
	if info.UID != f.user.UID {
		wrong = append(wrong, states.Change{Attribute: "owner", From: "root", To: f.user.Name})
	}
	if info.Mode != fileMode {
		wrong = append(wrong, states.Change{Attribute: "mode", From: states.FormatMode(info.Mode), To: states.FormatMode(fileMode)})
	}
	if info, err := f.host.Lstat(f.path); err == nil && info.Mode&0o022 != 0 {
		wrong = append(wrong, states.Change{Attribute: "mode of " + path.Base(f.path), From: states.FormatMode(info.Mode), To: states.FormatMode(directoryMode)})
	}
	text, err = lines.Load(f.host, f.Path(name))
	return text, true, wrong, f.explain(err)
}

// Save writes a file, and makes the folder where it is missing.
func (f *Folder) Save(ctx context.Context, name string, text lines.Text) error {
	own := host.Meta{Mode: new(directoryMode), UID: &f.user.UID, GID: &f.user.GID}
	info, err := f.host.Lstat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = f.host.Mkdir(f.path, own)
	case err == nil && info.Mode&0o022 != 0:
		err = f.host.SetMeta(f.path, host.Meta{Mode: own.Mode})
	}
	if err != nil {
		return f.explain(err)
	}
	own.Mode = new(fileMode)
	return f.explain(text.Save(ctx, f.host, f.Path(name), own))
}

// Remove removes a file.
func (f *Folder) Remove(name string) error { return f.explain(f.host.Remove(f.Path(name))) }
