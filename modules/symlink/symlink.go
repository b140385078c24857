// Package symlink is the module "symlink": a symbolic link with a given
// target.
package symlink

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/claim"
	"github.com/tenetcm/tenet/modules/internal/owner"
	"github.com/tenetcm/tenet/modules/internal/unmanaged"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Symlink is the state of one symbolic link, wanted or observed. A nil
// attribute is not managed.
type Symlink struct {
	Path    string  `state:"path,key,path" doc:"Absolute path of the link."`
	Target  *string `state:"target,present" doc:"Where the link leads, as it is to stand in the link: absolute, or relative to the link's directory. It need not exist."`
	Owner   *string `state:"owner,of_user" doc:"Name or number of the user who owns the link itself."`
	Group   *string `state:"group,of_group" doc:"Name or number of the group of the link itself."`
	Replace *bool   `state:"replace,in" doc:"Puts the link in the place of a regular file, which is lost; otherwise that is an error."`
}

const doc = `A symbolic link with the given target.

The link itself is managed, never what it leads to: the target may be missing, and its owner and mode stay as they are. A link with another target is replaced in one step, so that the path is never without one.

The directory must be there. Where a regular file stands at the path, the part fails unless it may replace it; a directory always is an error. Absent removes a symbolic link, and nothing else.`

const example = `symlink "/etc/nginx/sites-enabled/blog" {
  target = "../sites-available/blog"
}`

// Module is the module "symlink".
var Module = states.Define(states.Type[Symlink]{
	Name: "symlink", Doc: doc, Example: example,
	Validate: validate, Claims: claim.Kind("a symbolic link"), Read: read, Write: write, Remove: remove,
	Import: importSymlink, List: unmanaged.List(host.Symlink, func(path string) Symlink { return Symlink{Path: path} }),
})

func validate(want Symlink) error {
	if want.Target != nil && (*want.Target == "" || strings.Contains(*want.Target, "\x00")) {
		return states.InvalidAttribute("target", "a link cannot lead to an empty path or one with a NUL byte", "write the path that it is to lead to")
	}
	if want.Path == "/" {
		return states.InvalidAttribute("path", "/ is a directory", "name the link itself, such as /srv/current")
	}
	return errors.Join(
		check.Path("path", want.Path),
		check.Account("owner", want.Owner),
		check.Account("group", want.Group),
	)
}

func read(_ context.Context, h host.Host, want Symlink) (*Symlink, error) {
	info, err := h.Lstat(want.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.Kind == host.Regular && want.Replace != nil && *want.Replace:
		return nil, nil
	case info.Kind == host.Regular:
		return nil, &diag.HintError{Message: want.Path + " is a file, not a symbolic link", Hint: "replace = true puts the link in its place"}
	case info.Kind != host.Symlink:
		return nil, states.WrongKindError(want.Path, info.Kind, "symbolic link")
	}
	target, err := h.ReadLink(want.Path)
	if err != nil {
		return nil, err
	}
	return &Symlink{
		Path:   want.Path,
		Target: &target,
		Owner:  owner.User(h, info.UID, want.Owner),
		Group:  owner.Group(h, info.GID, want.Group),
	}, nil
}

func write(_ context.Context, h host.Host, have *Symlink, want Symlink) error {
	if want.Target == nil {
		return states.InvalidAttribute("target", "it is required for a link that is to be there", "")
	}
	meta, err := owner.Meta(h, want.Owner, want.Group, nil)
	if err != nil {
		return err
	}
	if have != nil && *have.Target == *want.Target {
		return h.SetMeta(want.Path, meta)
	}
	return states.DirectoryError(h, path.Dir(want.Path), h.Symlink(*want.Target, want.Path, meta))
}

func remove(_ context.Context, h host.Host, have Symlink) error { return h.Remove(have.Path) }

// importSymlink leaves out the owner and the group that a new one would have.
func importSymlink(ctx context.Context, h host.Host, key Symlink) (*Symlink, error) {
	key.Owner, key.Group = owner.Unusual(h, key.Path)
	return read(ctx, h, key)
}
