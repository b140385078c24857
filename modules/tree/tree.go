// Package tree is the module "tree": a directory of the site, copied to the host
// with all that is below it.
package tree

import (
	"context"
	"errors"
	"io/fs"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/claim"
	"github.com/tenetcm/tenet/modules/internal/treesync"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Tree is the state of a directory with all below it, wanted or observed.
type Tree struct {
	Path     string       `state:"path,key,path" doc:"Absolute path of the directory on the host."`
	Source   *states.Tree `state:"source,in,present" doc:"Directory of the site that is copied."`
	Owner    *string      `state:"owner,in,widens,of_user" doc:"Name or number of the user who owns the directory and all below it. If not given, who runs tenet owns what is new."`
	Group    *string      `state:"group,in,widens,of_group" doc:"Name or number of the group, likewise."`
	FileMode *fs.FileMode `state:"file_mode,in,widens" doc:"Permission bits of regular files; a file that is executable in the source may be executed by all who may read it. If not given, as in the source."`
	DirMode  *fs.FileMode `state:"dir_mode,in,widens" doc:"Permission bits of directories. If not given, as in the source."`
	Exclude  []string     `state:"exclude,in,widens" doc:"Patterns of what is neither copied nor removed: \"*.bak\" is a name anywhere, \"cache/*.tmp\" a path from the directory."`
	Purge    *bool        `state:"purge,in,widens" doc:"Removes what is in the directory and neither in the source nor declared by another part, with all that is below it."`

	sourceEntries []host.TreeEntry  // of the source
	otherParts    []string          // what other parts have below the directory, relative to it
	observed      *treesync.Found   // what Read found
	names         treesync.Accounts // the owners of that
}

const doc = `A directory of the site, copied to the host with all that is below it.

Only what differs is written. A file is compared by size and SHA-256, and replaced as a whole; a file that is new is not there, or is there with all it holds, except in a directory that is new itself. Plans name what would be made, changed and removed, and show the differences of some small texts.

Symbolic links of the source are copied as links. On the host none is followed below the directory: where a link stands and the source has a directory or a file, that takes the link's place. A directory with something in it gives way to a file only with purge. A device, a socket or a pipe in the way is an error. A file system that is mounted below stays as it is, and the plan says so; something that the source has in it is an error.

Purge removes what neither the source nor another part of the site has. Symbolic links are removed, never followed. What exclude names stays, with the directories that it is in.

Absent removes what the source has, and directories that are empty then; with purge = true, all that is in the directory. Without its source, only an empty directory is removed. Once the part is not declared any more, --prune removes what it has created and nobody has changed.

Devices, sockets, pipes and names that are no UTF-8 cannot be in the source. Owners, times and extended attributes of the source mean nothing.`

const example = `tree "/srv/www" {
  source    = "files/www"
  owner     = "www-data"
  file_mode = "0640"
  dir_mode  = "0750"
  exclude   = ["*.bak", "uploads"]
  purge     = true
}`

// Module is the module "tree".
var Module = states.Define(states.Type[Tree]{
	Name: "tree", Doc: doc, Example: example,
	Validate: validate, Claims: claim.Kind("a directory"), Complete: complete, Diff: diff, Import: read,
	Read: read, Write: write, Remove: remove, Makes: makes,
})

func validate(want Tree) error {
	if want.Path == "/" {
		return states.InvalidAttribute("path", "/ cannot be copied to as a whole", "name the directory that it is about")
	}
	return errors.Join(
		check.Path("path", want.Path), check.Account("owner", want.Owner), check.Account("group", want.Group),
		treesync.ValidatePatterns("exclude", want.Exclude),
	)
}

// complete lists the source, once for all that follows.
func complete(ctx context.Context, _ host.Host, want *Tree) error {
	want.otherParts = states.Declared(ctx, want.Path)
	return want.load()
}

func (t *Tree) load() (err error) {
	if t.Source != nil && t.sourceEntries == nil {
		t.sourceEntries, err = t.Source.Entries()
	}
	return err
}

// wantedTree gives what shall stand below the directory.
func (t *Tree) wantedTree() treesync.Wanted {
	w := treesync.Wanted{
		Path: t.Path, Entries: t.sourceEntries, Owner: t.Owner, Group: t.Group, FileMode: t.FileMode, DirMode: t.DirMode,
		Exclude: t.Exclude, Purge: t.Purge != nil && *t.Purge,
	}
	if t.Source != nil {
		w.Content = t.Source.Content
	}
	w.SpareDeclared(t.otherParts)
	return w
}

func diff(have *Tree, want Tree) []states.Change {
	if have == nil {
		return treesync.Created(want.wantedTree())
	}
	return have.observed.Changes(have.names, want.wantedTree())
}

func read(ctx context.Context, h host.Host, want Tree) (*Tree, error) {
	if err := want.load(); err != nil {
		return nil, err
	}
	found, names, err := treesync.Look(ctx, h, want.wantedTree())
	if err != nil || found == nil {
		return nil, err
	}
	want.observed, want.names = found, names
	return &want, nil
}

func write(ctx context.Context, h host.Host, have *Tree, want Tree) error {
	if err := want.load(); err != nil {
		return err
	}
	found, err := want.differs(ctx, h, have)
	if err != nil {
		return err
	}
	return treesync.Write(ctx, h, want.wantedTree(), found)
}

// differs is what Write has to do.
func (t *Tree) differs(ctx context.Context, h host.Host, have *Tree) (*treesync.Found, error) {
	if have != nil {
		return have.observed, nil
	}
	return treesync.Compare(ctx, h, t.wantedTree())
}

func makes(ctx context.Context, h host.Host, have *Tree, want Tree) ([]states.TreeChange, error) {
	if err := want.load(); err != nil {
		return nil, err
	}
	found, err := want.differs(ctx, h, have)
	if err != nil {
		return nil, err
	}
	return found.Writes(), nil
}

func remove(ctx context.Context, h host.Host, have Tree) error {
	return treesync.Remove(ctx, h, have.Path, have.observed)
}
