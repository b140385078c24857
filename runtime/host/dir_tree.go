package host

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tenetcm/tenet/runtime/fault"
)

// TreeEntry is one thing below a directory.
type TreeEntry struct {
	Name   string      `json:"name"` // relative to the directory, slash-separated; "." is itself
	Kind   Kind        `json:"kind"`
	Mode   fs.FileMode `json:"mode"`
	Size   int64       `json:"size,omitempty"`   // of a regular file
	SHA256 string      `json:"sha256,omitempty"` // of a regular file that was read, lower-case hex
	Target string      `json:"target,omitempty"` // of a symbolic link, as it stands there
	UID    int         `json:"-"`
	GID    int         `json:"-"`
	Mount  bool        `json:"-"` // a file system is mounted on it
}

// TreeOptions say how far ReadTree looks.
type TreeOptions struct {
	// Skip leaves out an entry, with all below it. Nil: none.
	Skip func(name string, kind Kind) bool
	// Enter says whether a directory is looked into. Nil: all are.
	Enter func(name string) bool
	// Sum says whether a regular file is read; it is asked with the size -1 first,
	// before the file is opened. Nil: all are.
	Sum func(name string, size int64) bool
	// Mounts lets file systems be entered that are mounted below.
	Mounts bool
	// Keep says whether an entry is given. Nil: all are.
	Keep func(e TreeEntry) bool
}

// MaxTree bounds the entries that ReadTree gives.
const MaxTree = 1 << 20

// ReadTree lists what is below a directory, and the directory itself, sorted by
// name: what is in a directory comes after it. Files are read several at a time.
// Symbolic links are not followed.
func ReadTree(ctx context.Context, d DirReader, o TreeOptions) ([]TreeEntry, error) {
	info, err := d.Lstat(".")
	if err != nil {
		return nil, err
	}
	r := treeReader{options: o, free: make(chan []byte, 2*runtime.GOMAXPROCS(0))}
	for range cap(r.free) {
		r.free <- make([]byte, 64<<10)
	}
	r.entries = []TreeEntry{entryOf(".", info)}
	r.walk(ctx, d)
	r.running.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	slices.SortFunc(r.entries, func(a, b TreeEntry) int { return cmp.Compare(a.Name, b.Name) })
	return r.entries, errors.Join(r.errs...)
}

func entryOf(name string, info Info) TreeEntry {
	e := TreeEntry{Name: name, Kind: info.Kind, Mode: info.Mode, UID: info.UID, GID: info.GID, Mount: info.Mount}
	if info.Kind == Symlink {
		e.Mode = 0
	}
	if info.Kind == Regular {
		e.Size = info.Size
	}
	return e
}

// treeReader reads a tree with as many workers as it has buffers.
type treeReader struct {
	options TreeOptions
	free    chan []byte
	running fault.Group

	mu      sync.Mutex
	entries []TreeEntry
	errs    []error
}

// sharedDir is a directory that is closed by the last one who uses it. It is only read.
type sharedDir struct {
	DirReader
	DirWriter
	users atomic.Int32
	close func() error // nil: somebody else closes it
}

// Enter is DirReader.Enter.
func (d *sharedDir) Enter(name string) (Dir, error) {
	below, err := d.DirReader.Enter(name)
	if err != nil {
		return nil, err
	}
	shared := &sharedDir{DirReader: below, close: below.Close}
	shared.users.Store(1)
	return shared, nil
}

// Close is Dir.Close.
func (d *sharedDir) Close() error {
	d.leave()
	return nil
}

func (d *sharedDir) knownSum(name string) (string, int64, bool) {
	if k, ok := d.DirReader.(sumKnower); ok {
		return k.knownSum(name)
	}
	return "", 0, false
}

func (d *sharedDir) leave() {
	if d.users.Add(-1) == 0 && d.close != nil {
		_ = d.close() // it was only read
	}
}

// chunk is how many things a worker takes at a time.
const chunk = 64

// maxErrors is how many mistakes are told at once.
const maxErrors = 5

// walk reads the directories, one after the other.
func (r *treeReader) walk(ctx context.Context, root DirReader) {
	c := NewCursor(&sharedDir{DirReader: root})
	c.mounts = r.options.Mounts
	defer c.Close()
	for todo := []string{"."}; len(todo) > 0; {
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if ctx.Err() != nil || r.hasFailed() {
			return
		}
		d, err := c.To(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, ErrMount): // it has gone, or is not entered
		case err != nil:
			r.add(nil, err)
		default:
			todo = append(todo, r.directory(ctx, d.(*sharedDir), dir)...)
		}
	}
}

// directory reads what is in a directory, and gives the directories there that are to be
// read, the last one first.
func (r *treeReader) directory(ctx context.Context, d *sharedDir, dir string) (below []string) {
	path := ""
	if dir != "." {
		path = dir + "/"
	}
	list, err := d.Entries()
	if err != nil {
		r.add(nil, err)
		return nil
	}
	if r.options.Skip != nil {
		list = slices.DeleteFunc(list, func(e Entry) bool { return r.options.Skip(path+e.Name, e.Kind) })
	}
	for part := range slices.Chunk(list, chunk) {
		buf := <-r.free
		d.users.Add(1)
		r.running.Go(func() {
			defer func() { r.free <- buf }()
			defer d.leave()
			r.add(r.describe(ctx, d, path, part, buf))
		})
	}
	for _, e := range slices.Backward(list) {
		if e.Kind == Directory && (r.options.Enter == nil || r.options.Enter(path+e.Name)) {
			below = append(below, path+e.Name)
		}
	}
	return below
}

func (r *treeReader) add(entries []TreeEntry, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if keep := r.options.Keep; keep != nil {
		entries = slices.DeleteFunc(entries, func(e TreeEntry) bool { return !keep(e) })
	}
	r.entries = append(r.entries, entries...)
	if err == nil && len(r.entries) > MaxTree {
		err = fmt.Errorf("there are more than %d files", MaxTree)
	}
	if err != nil && len(r.errs) < maxErrors {
		r.errs = append(r.errs, err)
	}
}

func (r *treeReader) hasFailed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.errs) > 0
}

// describe describes some of the things in a directory. What has gone meanwhile is
// left out.
func (r *treeReader) describe(ctx context.Context, d DirReader, path string, list []Entry, buf []byte) ([]TreeEntry, error) {
	out := make([]TreeEntry, 0, len(list))
	for _, l := range list {
		if ctx.Err() != nil {
			return nil, nil
		}
		e, err := r.entry(ctx, d, path, l, buf)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return out, err
		}
		out = append(out, e)
	}
	return out, nil
}

func (r *treeReader) entry(ctx context.Context, d DirReader, path string, l Entry, buf []byte) (TreeEntry, error) {
	name := path + l.Name
	sum := r.options.Sum
	if l.Kind == Regular && (sum == nil || sum(name, -1)) {
		return r.read(ctx, d, name, l.Name, buf)
	}
	info, err := d.Lstat(l.Name)
	if err != nil {
		return TreeEntry{}, err
	}
	e := entryOf(name, info)
	if info.Kind == Symlink {
		e.Target, err = d.ReadLink(l.Name)
	}
	return e, err
}

// sumKnower is offered by directories that know digests without reading.
type sumKnower interface {
	knownSum(name string) (sum string, size int64, known bool)
}

// read describes a regular file, and reads it.
func (r *treeReader) read(ctx context.Context, d DirReader, path, name string, buf []byte) (TreeEntry, error) {
	if k, ok := d.(sumKnower); ok {
		if sum, size, known := k.knownSum(name); known {
			info, err := d.Lstat(name)
			e := entryOf(path, info)
			e.SHA256, e.Size = sum, size
			return e, err
		}
	}
	f, info, err := d.Open(name)
	if err != nil {
		return TreeEntry{}, err
	}
	e := entryOf(path, info)
	if r.options.Sum != nil && !r.options.Sum(path, info.Size) {
		return e, f.Close()
	}
	e.SHA256, e.Size, err = sumOf(ReaderWithin(ctx, f), info.Size, buf)
	return e, errors.Join(err, f.Close())
}

// sumOf reads to the end. Of a file as large as it was said to be, and no larger
// than the buffer, that is one call.
func sumOf(f io.Reader, size int64, buf []byte) (sum string, n int64, err error) {
	k, err := f.Read(buf)
	if err == io.EOF || err == nil && int64(k) == size && k < len(buf) {
		digest := sha256.Sum256(buf[:k])
		return hex.EncodeToString(digest[:]), int64(k), nil
	}
	digest := sha256.New()
	for n = 0; err == nil; k, err = f.Read(buf) {
		digest.Write(buf[:k])
		n += int64(k)
	}
	if err == io.EOF {
		digest.Write(buf[:k])
		n, err = n+int64(k), nil
	}
	return hex.EncodeToString(digest.Sum(nil)), n, err
}
