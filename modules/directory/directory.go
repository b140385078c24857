// Package directory is the module "directory": a directory with a given owner
// and mode and, on request, of all that is below it.
package directory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/claim"
	"github.com/tenetcm/tenet/modules/internal/owner"
	"github.com/tenetcm/tenet/modules/internal/trees"
	"github.com/tenetcm/tenet/modules/internal/unmanaged"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Directory is the state of one directory, wanted or observed. A nil attribute
// is not managed.
type Directory struct {
	Path     string       `state:"path,key,path" doc:"Absolute path of the directory."`
	Owner    *string      `state:"owner,of_user" doc:"Name or number of the user who owns the directory."`
	Group    *string      `state:"group,of_group" doc:"Name or number of the group of the directory."`
	Mode     *fs.FileMode `state:"mode,of_directory" doc:"Permission bits, such as \"0755\"."`
	Parents  *bool        `state:"parents,in" doc:"Creates missing directories above it, of mode 0755 and owned by who runs tenet."`
	Recurse  *bool        `state:"recurse,in,widens" doc:"Gives the owner and group to all that is below, and the mode to all directories below. Symbolic links are not followed, and files not written anew: who has one open for writing still writes to it."`
	FileMode *fs.FileMode `state:"file_mode,in,widens" doc:"With recurse: the permission bits of all regular files below."`
	Purge    *bool        `state:"purge,in,widens" doc:"Removes what is in the directory and neither declared by another part nor named by keep, with all that is below it."`
	Keep     []string     `state:"keep,in,widens" doc:"With purge: the names in the directory that stay, as patterns: \"*.conf\"."`
	Force    *bool        `state:"force,in,widens" doc:"Lets absent remove the directory with all that is in it."`

	dirMode *fs.FileMode // wanted: the mode of directories below, as it was given

	otherParts []string // wanted: what other parts have below the directory, relative to it

	// What Read found below the directory, for Diff and Write.
	ownerEffects []states.Change // what goes with the owner
	deviations   []entry         // entries with another owner or mode
	extra        []string        // names to purge
}

const doc = `A directory with the given owner, group and mode.

What is not given is not managed: an existing directory keeps it. A new directory has mode 0755 and is owned by who runs tenet. A missing directory above it is an error, unless parents = true.

Purge leaves alone what other parts of the site put into the directory, and the names that keep lists: those that programs put there.

Where something else stands at the path, a symbolic link to a directory included, the part fails. Absent removes an empty directory; with force = true, a directory with all that is in it. Symbolic links in it are removed, never followed.

Neither recurse nor purge nor force enters a file system that is mounted below, or changes what it is mounted on: recurse and purge leave it, and say so; a directory with one in it cannot be removed. Of a file whose owner changes the setuid bit goes, the setgid bit with its group, and where the former owner was not root, the right of group and others to write, unless file_mode gives them. With an owner that was not root, whoever is named in an access control list goes too, of files and directories, and so does a directory's default list.`

const example = `directory "/srv/www" {
  owner = "www-data"
  mode  = "0750"
}

directory "/etc/nginx/sites-enabled" {
  purge = true
  keep  = ["default"]
}`

// Module is the module "directory".
var Module = states.Define(states.Type[Directory]{
	Name: "directory", Doc: doc, Example: example,
	New:      Directory{Mode: new(fs.FileMode(0o755))},
	Validate: validate, Claims: claim.Kind("a directory"), Complete: complete, Extra: differencesBelow,
	Read: read, Write: write, Remove: remove,
	Import: importDirectory, List: unmanaged.List(host.Directory, func(path string) Directory { return Directory{Path: path} }),
})

func validate(want Directory) error {
	mistake := func(attribute, message string) error {
		return states.InvalidAttribute(attribute, message, "")
	}
	switch {
	case want.FileMode != nil && !check.True(want.Recurse):
		return mistake("file_mode", "it has a meaning only beside recurse = true")
	case want.Keep != nil && !check.True(want.Purge):
		return mistake("keep", "it has a meaning only beside purge = true")
	}
	for _, pattern := range want.Keep {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" || strings.Contains(pattern, "/") {
			return mistake("keep", fmt.Sprintf("%q is no pattern of one name", pattern))
		}
	}
	return errors.Join(
		check.Path("path", want.Path),
		check.Account("owner", want.Owner),
		check.Account("group", want.Group),
	)
}

// complete remembers whether a mode is wanted: where none is, the directory's
// own is filled in, and that is not for those below. And it asks for the other
// parts' paths, while it is known of which run this is.
func complete(ctx context.Context, _ host.Host, want *Directory) error {
	want.dirMode = want.Mode
	want.otherParts = states.Declared(ctx, want.Path)
	return nil
}

func read(ctx context.Context, h host.Host, want Directory) (*Directory, error) {
	info, err := h.Lstat(want.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.Kind != host.Directory:
		return nil, states.WrongKindError(want.Path, info.Kind, "directory")
	}
	have := &Directory{
		Path:         want.Path,
		Owner:        owner.User(h, info.UID, want.Owner),
		Group:        owner.Group(h, info.GID, want.Group),
		Mode:         &info.Mode,
		Force:        want.Force,
		ownerEffects: owner.ListLost(h, want.Path, info, want.Owner),
	}
	if !check.True(want.Purge) && !check.True(want.Recurse) {
		return have, nil
	}
	d, err := h.OpenDir(want.Path)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	if check.True(want.Purge) {
		if have.extra, err = findExtra(ctx, d, want); err != nil {
			return nil, err
		}
	}
	if check.True(want.Recurse) {
		if have.deviations, err = findWrong(ctx, h, d, want, have.extra); err != nil {
			return nil, err
		}
	}
	return have, nil
}

func write(ctx context.Context, h host.Host, have *Directory, want Directory) error {
	meta, err := owner.Meta(h, want.Owner, want.Group, want.Mode)
	if err != nil {
		return err
	}
	if have == nil {
		return create(h, want, meta)
	}
	// All is done in the directory that is opened here, wherever its path leads by then.
	at, err := host.OpenPlace(h, want.Path)
	if err != nil {
		return err
	}
	defer at.Dir.Close()
	if len(have.extra) > 0 || len(have.deviations) > 0 {
		if err := writeBelow(ctx, h, at, have); err != nil {
			return err
		}
	}
	return at.Dir.SetMeta(at.Name, meta)
}

// writeBelow removes what is to be purged, and corrects what is wrong.
func writeBelow(ctx context.Context, h host.Host, at host.Place, have *Directory) error {
	d, err := at.Enter()
	if err != nil {
		return err
	}
	defer d.Close()
	for _, name := range have.extra {
		if err := host.RemoveAll(ctx, d, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return correct(ctx, h, d, have.deviations)
}

func create(h host.Host, want Directory, meta host.Meta) error {
	parent := path.Dir(want.Path)
	if check.True(want.Parents) {
		if err := createParents(h, parent); err != nil {
			return err
		}
	}
	err := h.Mkdir(want.Path, meta)
	if missing := states.DirectoryError(h, path.Dir(want.Path), err); missing != err {
		return &diag.HintError{Err: missing, Hint: "parents = true creates it, too"}
	}
	return err
}

func createParents(h host.Host, dir string) error {
	if dir == "/" {
		return nil
	}
	_, err := h.Lstat(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := createParents(h, path.Dir(dir)); err != nil {
		return err
	}
	err = h.Mkdir(dir, host.Meta{})
	if errors.Is(err, fs.ErrExist) { // another part was faster
		return nil
	}
	return err
}

func remove(ctx context.Context, h host.Host, have Directory) error {
	if have.Path == "/" {
		return errors.New("/ cannot be removed")
	}
	if check.True(have.Force) {
		return trees.Remove(ctx, h, have.Path)
	}
	entries, err := h.ReadDir(have.Path)
	if err != nil {
		return err
	}
	if n := len(entries); n > 0 {
		return &diag.HintError{Hint: "force = true removes it with all that is in it",
			Message: fmt.Sprintf("%s is not empty: it holds %s%s", have.Path, entries[0].Name, moreText(n-1))}
	}
	return h.Remove(have.Path)
}

func moreText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// importDirectory leaves out the owner and the group that a new one would have.
func importDirectory(ctx context.Context, h host.Host, key Directory) (*Directory, error) {
	key.Owner, key.Group = owner.Unusual(h, key.Path)
	return read(ctx, h, key)
}
