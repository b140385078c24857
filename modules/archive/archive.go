// Package archive is the module "archive": the files of a tar or zip archive,
// unpacked below a directory.
package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/treesync"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Archive is the state of what an archive holds, wanted or observed.
type Archive struct {
	Path     string         `state:"path,key,path" doc:"Absolute path of the directory that it is unpacked to."`
	Source   *states.Source `state:"source,in" doc:"Archive of the site."`
	File     *string        `state:"file,in,path" doc:"Absolute path of an archive on the host, in place of source."`
	Checksum *string        `state:"checksum,in" doc:"What the archive must be: \"sha256:\" or \"sha512:\" and hex digits. It is checked before anything is written."`
	Strip    *int           `state:"strip,in" doc:"How many names are taken from the beginning of each path in the archive; what has no more is left out."`
	Exclude  []string       `state:"exclude,in" doc:"Patterns of what is neither unpacked nor removed: \"*.bak\" is a name anywhere, \"cache/*.tmp\" a path from the directory."`
	Owner    *string        `state:"owner,in,widens,of_user" doc:"Name or number of the user who owns the directory and all of the archive. If not given, who runs tenet owns what is new."`
	Group    *string        `state:"group,in,widens,of_group" doc:"Name or number of the group, likewise."`
	FileMode *fs.FileMode   `state:"file_mode,in,widens" doc:"Permission bits of regular files; a file that is executable in the archive may be executed by all who may read it. If not given, as in the archive."`
	DirMode  *fs.FileMode   `state:"dir_mode,in,widens" doc:"Permission bits of directories. If not given, as in the archive, or 0755."`
	Purge    *bool          `state:"purge,in,widens" doc:"Removes what is in the directory and neither in the archive nor declared by another part, with all that is below it."`
	Creates  *string        `state:"creates,in,widens" doc:"Absolute path: while something is there, the archive counts as unpacked, and is not looked at."`
	Limit    *int           `state:"limit,in" doc:"How many bytes all its files together may have; 8 GiB if not given. More is an error."`

	skip       bool              // creates is there
	otherParts []string          // what other parts have below the directory, relative to it
	entries    []host.TreeEntry  // what shall be below the directory
	places     map[string]int    // of each regular file, its place in the archive
	observed   *treesync.Found   // what Read found
	names      treesync.Accounts // the owners of that
}

const doc = `The files of an archive, unpacked below a directory.

The archive is a tar file, plain or compressed with gzip, xz, zstd or bzip2, or a zip file; what it is, its first bytes say. It is read whenever the part is looked at, and compared with what is there, file by file: so drift is found, and only what differs is written. Where that takes too long, creates names a path that stands for all of it.

Nothing leads out of the directory: absolute paths, "..", what lies below a symbolic link of the archive, and hard links to what is not in it are errors, before anything is written, and no link on the host is followed below the directory. Symbolic links are unpacked as they are. Devices and pipes are errors. Of modes the permission bits count; owners and times mean nothing.

A directory with something in it gives way to a file only with purge. Of several entries with one name the last counts. A file system that is mounted below stays as it is, and the plan says so; something that the archive has in it is an error.

Absent removes what the archive holds, and directories that are empty then; with purge = true, all that is in the directory. For that the archive is needed: without it, only an empty directory is removed. Once the part is not declared any more, --prune removes what it has created and nobody has changed, and needs no archive.`

const example = `archive "/opt/app" {
  file      = "/var/cache/app-1.2.0.tar.gz"
  strip     = 1
  owner     = "root"
  file_mode = "0644"
}`

// Module is the module "archive".
var Module = states.Define(states.Type[Archive]{
	Name: "archive", Doc: doc, Example: example,
	Validate: validate, Complete: complete, Diff: diff, Import: read,
	Read: read, Write: write, Remove: remove, Makes: makes,
})

func validate(want Archive) error {
	switch {
	case want.Path == "/":
		return states.InvalidAttribute("path", "/ cannot be unpacked to as a whole", "name the directory that it is about")
	case want.Source != nil && want.File != nil:
		return states.InvalidAttribute("file", "it cannot be given beside source", "")
	case want.Strip != nil && *want.Strip < 0:
		return states.InvalidAttribute("strip", "it cannot be negative", "")
	case want.Limit != nil && *want.Limit < 0:
		return states.InvalidAttribute("limit", "it cannot be negative", "")
	}
	if want.Checksum != nil {
		if _, _, ok := parseChecksum(*want.Checksum); !ok {
			return states.InvalidAttribute("checksum", fmt.Sprintf("%.80q is no checksum", *want.Checksum), `write "sha256:" and 64 hex digits in lower case, or "sha512:" and 128`)
		}
	}
	return errors.Join(
		check.Path("path", want.Path), check.OptionalPath("file", want.File), check.OptionalPath("creates", want.Creates),
		check.Account("owner", want.Owner), check.Account("group", want.Group),
		treesync.ValidatePatterns("exclude", want.Exclude),
	)
}

// parseChecksum takes "sha256:…" apart.
func parseChecksum(s string) (algorithm, digits string, ok bool) {
	algorithm, digits, _ = strings.Cut(s, ":")
	n := map[string]int{"sha256": 64, "sha512": 128}[algorithm]
	return algorithm, digits, n > 0 && len(digits) == n && strings.Trim(digits, "0123456789abcdef") == ""
}

// complete lists the archive, once for all that follows.
func complete(ctx context.Context, h host.Host, want *Archive) error {
	want.otherParts = states.Declared(ctx, want.Path)
	if want.Creates != nil {
		if _, err := h.Lstat(*want.Creates); !errors.Is(err, fs.ErrNotExist) {
			want.skip = err == nil
			return err
		}
	}
	return want.load(ctx, h)
}

// wantedTree gives what shall stand below the directory.
func (a *Archive) wantedTree(h host.Host) treesync.Wanted {
	w := treesync.Wanted{
		Path: a.Path, Entries: a.entries, Owner: a.Owner, Group: a.Group, FileMode: a.FileMode, DirMode: a.DirMode,
		Exclude: a.Exclude, Purge: a.Purge != nil && *a.Purge,
	}
	w.Stream = func(ctx context.Context, wants func(string) bool, put func(string, host.Content) error) error {
		return a.stream(ctx, h, wants, put)
	}
	w.SpareDeclared(a.otherParts)
	return w
}

func diff(have *Archive, want Archive) []states.Change {
	switch {
	case have == nil:
		return treesync.Created(want.wantedTree(nil))
	case have.skip:
		return nil
	}
	return have.observed.Changes(have.names, want.wantedTree(nil))
}

func read(ctx context.Context, h host.Host, want Archive) (*Archive, error) {
	if want.skip {
		return &want, nil
	}
	if err := want.load(ctx, h); err != nil {
		return nil, err
	}
	found, names, err := treesync.Look(ctx, h, want.wantedTree(h))
	if err != nil || found == nil {
		return nil, err
	}
	want.observed, want.names = found, names
	return &want, nil
}

func write(ctx context.Context, h host.Host, have *Archive, want Archive) error {
	if want.Source == nil && want.File == nil {
		return errors.New("it names no archive: give source, for a file of the site, or file, for one on the host")
	}
	if err := want.load(ctx, h); err != nil {
		return err
	}
	found, err := want.differs(ctx, h, have)
	if err != nil {
		return err
	}
	return treesync.Write(ctx, h, want.wantedTree(h), found)
}

// differs is what Write has to do.
func (a *Archive) differs(ctx context.Context, h host.Host, have *Archive) (*treesync.Found, error) {
	if have != nil {
		return have.observed, nil
	}
	return treesync.Compare(ctx, h, a.wantedTree(h))
}

func makes(ctx context.Context, h host.Host, have *Archive, want Archive) ([]states.TreeChange, error) {
	if err := want.load(ctx, h); err != nil {
		return nil, err
	}
	found, err := want.differs(ctx, h, have)
	if err != nil {
		return nil, err
	}
	return found.Writes(), nil
}

func remove(ctx context.Context, h host.Host, have Archive) error {
	return treesync.Remove(ctx, h, have.Path, have.observed)
}
