package authorizedkeys

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/internal/home"
	"github.com/tenetcm/tenet/modules/internal/lines"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// place is where the keys of a user are.
type place interface {
	load() (text lines.Text, there bool, wrong []states.Change, err error)
	save(ctx context.Context, text lines.Text) error
	remove() error
}

// open finds the place. Where the user, the home or the directory is missing, the
// error wraps fs.ErrNotExist.
func open(h host.Host, a AuthorizedKeys) (place, error) {
	if a.Path == nil {
		folder, err := home.Open(h, a.User, folder)
		return homeFile{folder}, err
	}
	c := central{host.NoFollow(h), path.Clean(*a.Path)}
	return c, c.checkTrust(h)
}

// homeFile is the file in the user's home.
type homeFile struct{ folder *home.Folder }

func (o homeFile) load() (lines.Text, bool, []states.Change, error) { return o.folder.Load(file) }

func (o homeFile) save(ctx context.Context, text lines.Text) error {
	return o.folder.Save(ctx, file, text)
}

func (o homeFile) remove() error { return o.folder.Remove(file) }

// central is a file that belongs to root, where sshd is told to look. sshd reads it as
// the user, and passes over it where anybody but root or the user could change it or
// put another one in its place.
type central struct {
	host host.Host // which follows no symbolic link
	path string
}

const centralMode = fs.FileMode(0o644)

// checkTrust holds all directories above the file to be root's alone.
func (c central) checkTrust(h host.Host) error {
	if is := host.Resolve(h, c.path); is != c.path {
		return &states.FinalError{Err: &diag.HintError{Err: fmt.Errorf("a symbolic link leads from %s to %s", c.path, is), Hint: "write path without links"}}
	}
	for dir := path.Dir(c.path); ; dir = path.Dir(dir) {
		info, err := c.host.Lstat(dir)
		wrong := ""
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return &diag.HintError{Err: states.DirectoryError(c.host, dir, err),
				Hint: `declare it before, as directory, with owner = "root" and mode = "0755"`}
		case err != nil:
			return err
		case info.Kind != host.Directory:
			return states.WrongKindError(dir, info.Kind, "directory")
		case info.UID != 0:
			wrong = fmt.Sprintf("belongs to the user %d", info.UID)
		case info.Mode&0o022 != 0:
			wrong = "has mode " + states.FormatMode(info.Mode) + ", so that others may write to it"
		case info.Mode&0o001 == 0:
			wrong = "has mode " + states.FormatMode(info.Mode) + ", so that sshd, which reads the keys as the user, does not come in"
		}
		if wrong != "" {
			return &states.FinalError{Err: &diag.HintError{Err: fmt.Errorf("%s, above %s, %s", dir, c.path, wrong),
				Hint: "put the file where all directories are root's with mode 0755, as in /etc/ssh/authorized_keys; leave path out for the file in the user's home"}}
		}
		if dir == "/" {
			return nil
		}
	}
}

func (c central) load() (text lines.Text, there bool, wrong []states.Change, err error) {
	info, err := c.host.Lstat(c.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil, nil
	case err != nil:
		return nil, false, nil, err
	case info.Kind != host.Regular:
		return nil, false, nil, states.WrongKindError(c.path, info.Kind, "file")
	}
	if info.UID != 0 {
		wrong = append(wrong, states.Change{Attribute: "owner", From: fmt.Sprint(info.UID), To: "root"})
	}
	if info.Mode != centralMode {
		wrong = append(wrong, states.Change{Attribute: "mode", From: states.FormatMode(info.Mode), To: states.FormatMode(centralMode)})
	}
	text, err = lines.Load(c.host, c.path)
	return text, true, wrong, err
}

func (c central) save(ctx context.Context, text lines.Text) error {
	root := 0
	return text.Save(ctx, c.host, c.path, host.Meta{Mode: new(centralMode), UID: &root, GID: &root})
}

func (c central) remove() error { return c.host.Remove(c.path) }
