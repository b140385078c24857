// Package atomicfile puts a file in the place of another one in one step: whoever reads it
// meanwhile, or is left with it when the program is killed, has the former one or the new one
// whole. It is for files of this program; those of machines go through a Host, and records of
// runs through the journal.
package atomicfile

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// TempPrefix begins the names of files that are being written. One that is left was not
// finished.
const TempPrefix = ".tenet-"

// Options say how a file is written.
type Options struct {
	Mode    fs.FileMode // of which the umask takes its bits away; 0: 0600
	Durable bool        // a loss of power after that leaves the new file
}

// Replace puts what fill writes at a path, which nobody opens before it is whole. The path
// itself is replaced: where it is a symbolic link, what that leads to stays as it is.
func Replace(path string, o Options, fill func(*os.File) error) error {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer root.Close()
	return ReplaceIn(root, filepath.Base(path), o, fill)
}

// ReplaceIn is Replace for a name below a directory that is held open.
func ReplaceIn(root *os.Root, name string, o Options, fill func(*os.File) error) error {
	err := replace(root, name, o, fill)
	if err == nil && o.Durable {
		return syncDir(root, filepath.Dir(name))
	}
	return err
}

func replace(root *os.Root, name string, o Options, fill func(*os.File) error) (err error) {
	if o.Mode == 0 {
		o.Mode = 0o600
	}
	random := make([]byte, 8)
	rand.Read(random)
	temp := filepath.Join(filepath.Dir(name), TempPrefix+hex.EncodeToString(random)+".tmp")
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, o.Mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, root.Remove(temp))
		}
	}()
	err = fill(f)
	if err == nil && o.Durable {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return root.Rename(temp, name)
}

// Data gives a function that writes data.
func Data(data []byte) func(*os.File) error {
	return func(f *os.File) error {
		_, err := f.Write(data)
		return err
	}
}

func syncDir(root *os.Root, dir string) error {
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
