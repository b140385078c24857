package follow

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// sweep removes the folders of sources that there are not any more: the server ended before it could.
func (s *Service) sweep(list []*row) error {
	dir := filepath.Join(s.Dir, "sources")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if find(list, e.Name()) == nil {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// exists reports whether there is something at a path.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
