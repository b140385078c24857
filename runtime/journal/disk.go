package journal

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// OpKind is what an operation on the disk does.
type OpKind string

// The operations. A file is closed, and read, without one.
const (
	OpMkdir    OpKind = "mkdir"
	OpOpen     OpKind = "open" // to write; it may create the file
	OpWrite    OpKind = "write"
	OpTruncate OpKind = "truncate"
	OpSync     OpKind = "sync"
	OpRename   OpKind = "rename" // Path is the new name
	OpLink     OpKind = "link"   // Path is the new name
	OpRemove   OpKind = "remove" // a file, or a directory and what is in it
)

// Op is an operation on the disk that a Folder is about to do. See
// Options.Intercept.
type Op struct {
	Kind OpKind
	Path string
	Data []byte // of a write; not to be changed
}

// Torn, as the error of Options.Intercept, lets the first N bytes of a write
// reach the disk before it fails with Err.
type Torn struct {
	N   int
	Err error
}

// Error is that of Err.
func (t *Torn) Error() string { return t.Err.Error() }

// Unwrap gives Err.
func (t *Torn) Unwrap() error { return t.Err }

// disk is what a Folder changes its files through: nothing outside of its directory,
// whatever symbolic links are in there. In a tree that somebody else has made they
// may lead anywhere.
type disk struct {
	dir       string
	root      *os.Root
	intercept func(Op) error
	volatile  bool // nothing is synced
}

// openDisk makes the directory if there is none.
func openDisk(dir string, intercept func(Op) error) (disk, error) {
	d := disk{dir: dir, intercept: intercept}
	if err := d.may(OpMkdir, dir); err != nil {
		return d, err
	}
	err := MakeFolder(dir)
	if err == nil {
		d.root, err = os.OpenRoot(dir)
	}
	if err == nil {
		if err = trustFor(dir).checkOwner(d.root, dir); err != nil {
			err = Join(err, d.root.Close())
		}
	}
	return d, err
}

// MakeFolder makes the directory of a state folder for its owner alone, if there is none.
// What is made above it, as /var/lib in an empty tree, is for all to pass through.
func MakeFolder(dir string) error {
	err := os.MkdirAll(filepath.Dir(dir), 0o755)
	if err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if errors.Is(err, fs.ErrExist) { // if it is no directory, that shows as it is opened
		return nil
	}
	return err
}

func (d disk) may(kind OpKind, path string) error {
	if d.intercept == nil {
		return nil
	}
	return d.intercept(Op{Kind: kind, Path: path})
}

// in gives a path within the directory.
func (d disk) in(path string) string {
	if rel, err := filepath.Rel(d.dir, path); err == nil {
		return rel
	}
	return path // which the root refuses
}

func (d disk) mkdir(path string) error {
	if err := d.may(OpMkdir, path); err != nil {
		return err
	}
	return d.root.MkdirAll(d.in(path), 0o700)
}

func (d disk) rename(from, to string) error {
	if err := d.may(OpRename, to); err != nil {
		return err
	}
	return d.root.Rename(d.in(from), d.in(to))
}

func (d disk) link(from, to string) error {
	if err := d.may(OpLink, to); err != nil {
		return err
	}
	return d.root.Link(d.in(from), d.in(to))
}

// remove removes what is at the path, if there is something.
func (d disk) remove(path string) error {
	if err := d.may(OpRemove, path); err != nil {
		return err
	}
	return d.root.RemoveAll(d.in(path))
}

// sync makes durable a file, or a directory's names.
func (d disk) sync(path string) error {
	if err := d.may(OpSync, path); err != nil || d.volatile {
		return err
	}
	f, err := d.root.Open(d.in(path))
	if err != nil {
		return err
	}
	return Join(f.Sync(), f.Close())
}

// open opens a file to write, mode 0600 if it is new. Programs that are started
// do not inherit it: package os opens every file so.
func (d disk) open(path string, flags int) (*file, error) {
	if err := d.may(OpOpen, path); err != nil {
		return nil, err
	}
	f, err := d.root.OpenFile(d.in(path), flags, 0o600)
	if err != nil {
		return nil, named(err, path)
	}
	return &file{File: f, path: path, disk: d}, nil
}

// named gives an error the whole path.
func named(err error, path string) error {
	if failed, ok := err.(*fs.PathError); ok {
		failed.Path = path
	}
	return err
}

// read opens a file to read. What is no file, as a pipe that nobody writes to,
// keeps nobody waiting.
func (d disk) read(path string) (*os.File, error) {
	f, err := d.root.OpenFile(d.in(path), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, named(err, path)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("it is not a regular file")}
	}
	if err != nil {
		return nil, Join(err, f.Close())
	}
	return f, nil
}

// readFile reads a whole file.
func (d disk) readFile(path string) ([]byte, error) {
	f, err := d.read(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// list lists a directory, sorted by name.
func (d disk) list(path string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(d.root.FS(), filepath.ToSlash(d.in(path)))
	return entries, named(err, path)
}

// write puts data at the path, over what is there.
func (d disk) write(path string, data []byte, flags int) error {
	f, err := d.open(path, os.O_WRONLY|os.O_CREATE|flags)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return Join(err, f.Close())
}

// tempPrefix begins the names of temporary files; as many random bytes follow.
const (
	tempPrefix = ".tenet-"
	tempRandom = 8
)

// replace puts data at the path in one step, mode 0600. If it is to be durable,
// it is so on return; else a loss of power may leave the old or an empty file.
// An apply that starts beside it may take the temporary file for one that was
// left: then it begins anew.
func (d disk) replace(path string, data []byte, durable bool) error {
	return d.replaceFrom(filepath.Dir(path), path, data, durable)
}

// replaceFrom is replace with the temporary file in another directory.
func (d disk) replaceFrom(dir, path string, data []byte, durable bool) error {
	for try := 1; ; try++ {
		if err := d.tryReplace(dir, path, data, durable); !errors.Is(err, fs.ErrNotExist) || try == 5 {
			return err
		}
	}
}

func (d disk) tryReplace(dir, path string, data []byte, durable bool) error {
	random := make([]byte, tempRandom)
	rand.Read(random)
	temp := filepath.Join(dir, tempPrefix+hex.EncodeToString(random))
	err := d.write(temp, data, os.O_EXCL)
	if err == nil && durable {
		err = d.sync(temp)
	}
	if err == nil {
		err = d.rename(temp, path)
	}
	if err != nil {
		if gone := d.remove(temp); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = Join(err, gone)
		}
		return err
	}
	if durable {
		return d.sync(filepath.Dir(path))
	}
	return nil
}

// file is a file that is written.
type file struct {
	*os.File
	path string
	disk disk
}

// Write writes at the file's offset, or its end if it was opened so.
func (f *file) Write(data []byte) (int, error) {
	if f.disk.intercept != nil {
		err := f.disk.intercept(Op{Kind: OpWrite, Path: f.path, Data: data})
		var torn *Torn
		if errors.As(err, &torn) {
			n, _ := f.File.Write(data[:min(max(torn.N, 0), len(data))])
			return n, err
		}
		if err != nil {
			return 0, err
		}
	}
	return f.File.Write(data)
}

// Truncate cuts the file.
func (f *file) Truncate(size int64) error {
	if err := f.disk.may(OpTruncate, f.path); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

// Sync makes durable what the file holds, and how much.
func (f *file) Sync() error {
	if err := f.disk.may(OpSync, f.path); err != nil || f.disk.volatile {
		return err
	}
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if err != unix.EINTR {
			return err
		}
	}
}

// directories lists the names of the directories in a directory. The system tells which
// names are directories as it lists them; list looks at each, which an os.Root has to do.
func (d disk) directories(path string) ([]string, error) {
	within, err := d.root.Open(d.in(path))
	if err != nil {
		return nil, named(err, path)
	}
	fd, err := unix.FcntlInt(within.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err = Join(err, within.Close()); err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	entries, err := f.ReadDir(-1)
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, Join(err, f.Close())
}
