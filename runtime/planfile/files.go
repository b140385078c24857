package planfile

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"path"

	"github.com/tenetcm/tenet/states"
)

// treeName is the file in the archive that lists a directory of the site: what a
// zip file does not keep of it, such as modes and symbolic links.
func treeName(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return path.Join(treesDir, hex.EncodeToString(sum[:])+".json")
}

// planFiles are the files of a plan.
type planFiles struct {
	fs.FS
	archive *Archive
}

// Tree is states.TreeFS.
func (f *planFiles) Tree(dir string) ([]states.TreeEntry, error) {
	var entries []states.TreeEntry
	err := f.archive.JSON(treeName(dir), maxJSON, &entries)
	return entries, err
}

// OpenFile is states.TreeFS.
func (f *planFiles) OpenFile(name string) (io.ReadCloser, error) { return f.FS.Open(name) }
