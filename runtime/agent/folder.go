package agent

import (
	"errors"
	"io"
	"os"
	"strings"

	"github.com/tenetcm/tenet/internal/atomicfile"
)

// folder is where records are: a directory, but in tests, where it loses what was not made durable.
type folder interface {
	Names() ([]string, error)
	// Open opens a file to read and write it; where there is none, one is made if create says so. Sync makes its name durable.
	Open(name string, create bool) (file, error)
	Remove(name string) error
	// Replace puts data in the place of a file in one step, and makes it durable.
	Replace(name string, data []byte) error
	// Sync makes names durable: of files that were made, and that are gone.
	Sync() error
}

// file is an open file of a folder.
type file interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	Sync() error
	Close() error
}

// directory is a folder on the disk.
type directory struct{ root *os.Root }

// openDirectory opens a directory, and makes it where there is none. What a process that was killed has begun to write there is removed.
func openDirectory(path string) (folder, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	d := directory{root}
	names, err := d.Names()
	for _, name := range names {
		if strings.HasPrefix(name, atomicfile.TempPrefix) {
			err = errors.Join(err, root.Remove(name))
		}
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return d, nil
}

// Names lists the files.
func (d directory) Names() ([]string, error) {
	dir, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	return names, errors.Join(err, dir.Close())
}

// Open opens a file.
func (d directory) Open(name string, create bool) (file, error) {
	flags := os.O_RDWR
	if create {
		flags |= os.O_CREATE
	}
	f, err := d.root.OpenFile(name, flags, 0o600)
	if err != nil {
		return nil, err // no file in an interface
	}
	return f, nil
}

// Remove removes a file.
func (d directory) Remove(name string) error { return d.root.Remove(name) }

// Replace replaces a file.
func (d directory) Replace(name string, data []byte) error {
	return atomicfile.ReplaceIn(d.root, name, atomicfile.Options{Durable: true}, atomicfile.Data(data))
}

// Sync makes names durable.
func (d directory) Sync() error {
	dir, err := d.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Close lets go of the directory.
func (d directory) Close() error { return d.root.Close() }

// readFile gives the content of a file.
func readFile(in folder, name string) ([]byte, error) {
	f, err := in.Open(name, false)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<62))
	return data, errors.Join(err, f.Close())
}

// closeFolders lets go of folders.
func closeFolders(list ...folder) error {
	var err error
	for _, one := range list {
		if c, ok := one.(io.Closer); ok {
			err = errors.Join(err, c.Close())
		}
	}
	return err
}
