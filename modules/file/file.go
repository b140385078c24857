// Package file is the module "file": a regular file with a given content,
// owner and mode.
package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/claim"
	"github.com/tenetcm/tenet/modules/internal/owner"
	"github.com/tenetcm/tenet/modules/internal/unmanaged"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// File is the state of one regular file, wanted or observed. A nil attribute
// is not managed.
type File struct {
	Path     string         `state:"path,key,path" doc:"Absolute path of the file."`
	Content  *host.Content  `state:"content" doc:"Whole content of the file."`
	Source   *states.Source `state:"source,in" doc:"File of the site whose bytes become the content, untouched; in place of content."`
	Owner    *string        `state:"owner,of_user" doc:"Name or number of the user who owns the file."`
	Group    *string        `state:"group,of_group" doc:"Name or number of the group of the file."`
	Mode     *fs.FileMode   `state:"mode" doc:"Permission bits, such as \"0644\"."`
	Backup   *bool          `state:"backup,in" doc:"Keeps the former file beside the new one, under the same name with .~tenet~ behind it."`
	Validate []string       `state:"validate,in" doc:"Program and arguments that check the new content: exit status 0 accepts it. An argument's %s stands for the path of a temporary file; without one the program runs with the new file in place, and its failure puts the former file back, with its file capabilities unless become is given. It is not run in a plan."`
	Replace  *bool          `state:"replace,in" doc:"Puts the file in the place of a symbolic link, which otherwise is an error."`

	ownerEffects []states.Change // observed: what goes with the owner
}

const doc = `A regular file with the given content, owner, group and mode.

What is not given is not managed: an existing file keeps it. A new file is empty, of mode 0644, and owned by who runs tenet. Where the content is sensitive and no mode is given, the mode is 0600. The file is replaced as a whole: the new one is written beside it, gets its owner and mode, and is renamed over it, so that nobody ever sees half of it. What is replaced leaves its access control list and its extended attributes to the new one; as for chmod, the mode's bits for the group are the list's mask then.

` + owner.Doc + `

The directory must be there. Where a directory or a device stands at the path, the part fails; a symbolic link is replaced only on request, and never written through. Absent removes a regular file, and nothing else: use symlink or directory for those.

A content over 1 MiB is never held in memory, and is shown by size and digest.`

const example = `file "/etc/motd" {
  content = "Managed by tenet.\n"
}

file "/etc/sudoers.d/deploy" {
  content  = "deploy ALL=(root) NOPASSWD: /usr/bin/systemctl restart app\n"
  mode     = "0440"
  validate = ["visudo", "-c", "-f", "%s"]
}`

// Module is the module "file".
var Module = states.Define(states.Type[File]{
	Name: "file", Doc: doc, Example: example,
	New:      File{Content: new(host.Text("")), Mode: new(fs.FileMode(0o644))},
	Validate: validate, Complete: complete, Claims: claim.File("source"),
	Extra: func(have, _ File) []states.Change { return have.ownerEffects },
	Read:  read, Write: write, Remove: remove, Recover: recoverAct,
	Import: importFile, List: unmanaged.List(host.Regular, func(path string) File { return File{Path: path} }),
})

func validate(want File) error {
	if want.Content != nil && want.Source != nil {
		return states.InvalidAttribute(
			"source", "it cannot be given beside content",
			"use content for text made here, source for a file of the site",
		)
	}
	if want.Validate != nil && (len(want.Validate) == 0 || want.Validate[0] == "") {
		return states.InvalidAttribute("validate", "it names no program", `write validate = ["PROGRAM", "ARGUMENT", "%s"]`)
	}
	if want.Path == "/" {
		return states.InvalidAttribute("path", "/ is a directory", "name a file in it, such as /etc/motd")
	}
	return errors.Join(
		check.Path("path", want.Path),
		check.Account("owner", want.Owner),
		check.Account("group", want.Group),
	)
}

// complete turns a source into the content that it holds.
func complete(_ context.Context, _ host.Host, want *File) error {
	if want.Source == nil {
		return nil
	}
	content, err := want.Source.Content()
	if err != nil {
		return fmt.Errorf("reading the source: %w", err)
	}
	want.Content = &content
	return nil
}

// read looks at content and owners only where they are wanted: a site of many
// files opens no file and looks up no user for nothing.
func read(ctx context.Context, h host.Host, want File) (*File, error) {
	info, err := h.Lstat(want.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.Kind == host.Symlink && want.Replace != nil && *want.Replace:
		return nil, nil
	case info.Kind == host.Symlink:
		return nil, &diag.HintError{Message: want.Path + " is a symbolic link, not a file",
			Hint: "replace = true puts the file in its place, a symlink part manages the link"}
	case info.Kind != host.Regular:
		return nil, states.WrongKindError(want.Path, info.Kind, "file")
	}
	have := &File{
		Path:         want.Path,
		Owner:        owner.User(h, info.UID, want.Owner),
		Group:        owner.Group(h, info.GID, want.Group),
		Mode:         &info.Mode,
		ownerEffects: owner.ListLost(h, want.Path, info, want.Owner),
	}
	if want.Content != nil {
		content, err := host.CompareContent(ctx, h, want.Path, info, *want.Content)
		if err != nil {
			return nil, err
		}
		have.Content = &content
	}
	return have, nil
}

func remove(_ context.Context, h host.Host, have File) error { return h.Remove(have.Path) }

// importFile leaves out the owner and the group that a new one would have.
func importFile(ctx context.Context, h host.Host, key File) (*File, error) {
	key.Content = new(host.Content)
	key.Owner, key.Group = owner.Unusual(h, key.Path)
	return read(ctx, h, key)
}
