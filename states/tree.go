package states

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/tenetcm/tenet/runtime/host"
)

// Tree is a directory of the site that goes to the host with all below it. In
// values it is {"path", "sha256", "size", "files"}: the digest is that of its
// entries, which are read again where they are needed.
type Tree struct {
	Path   string // within the site, slash-separated
	SHA256 string // of the entries, lower-case hex
	Size   int64  // of all files together
	Files  int    // how many entries there are
	site   fs.FS
}

// TreeEntry is one thing in a tree. In a source the owner says nothing.
type TreeEntry = host.TreeEntry

// TreeFS is offered by files of a site that know the entries of its directories,
// because they were read before, or have faster ways to read than those of fs.FS.
type TreeFS interface {
	fs.FS
	// Tree gives what ReadTree says of a directory.
	Tree(dir string) ([]TreeEntry, error)
	// OpenFile opens a regular file.
	OpenFile(name string) (io.ReadCloser, error)
}

// NewTree describes the tree that has these entries.
func NewTree(path string, entries []TreeEntry) *Tree {
	t := &Tree{Path: path, SHA256: treeDigest(entries), Files: len(entries)}
	for _, e := range entries {
		t.Size += e.Size
	}
	return t
}

// Entries lists what is in the tree by name, each directory before what is in it.
// It fails when the files are not at hand, or have changed since the site was
// loaded.
func (t *Tree) Entries() ([]TreeEntry, error) {
	if t.site == nil {
		return nil, fmt.Errorf("%s: the site's files are not at hand", t.Path)
	}
	entries, err := ReadTree(t.site, t.Path)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !fs.ValidPath(e.Name) {
			return nil, fmt.Errorf("%s: %q is no name in a directory", t.Path, e.Name)
		}
	}
	if treeDigest(entries) != t.SHA256 {
		return nil, fmt.Errorf("%s has changed since the site was loaded", t.Path)
	}
	return entries, nil
}

// Content gives the bytes of a regular file among the entries. They are read, and
// compared with what the entry says, where they are used.
func (t *Tree) Content(e TreeEntry) host.Content {
	return host.Stream(e.Size, e.SHA256, func() (io.ReadCloser, error) { return OpenFile(t.site, path.Join(t.Path, e.Name)) })
}

// decodeTree makes a Tree of its canonical value.
func decodeTree(m map[string]any, site fs.FS) (*Tree, error) {
	number := func(name string) (int64, error) {
		n, _ := m[name].(json.Number)
		return n.Int64()
	}
	path, _ := m["path"].(string)
	sum, _ := m["sha256"].(string)
	size, err := number("size")
	files, ferr := number("files")
	if path == "" || len(sum) != 64 || errors.Join(err, ferr) != nil {
		return nil, fmt.Errorf("a tree needs path, sha256, size and files")
	}
	return &Tree{Path: path, SHA256: sum, Size: size, Files: int(files), site: site}, nil
}

// Value gives the canonical value.
func (t *Tree) Value() map[string]any {
	return map[string]any{
		"path": t.Path, "sha256": t.SHA256,
		"size": json.Number(fmt.Sprint(t.Size)), "files": json.Number(fmt.Sprint(t.Files)),
	}
}
