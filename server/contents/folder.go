package contents

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/tenetcm/tenet/internal/atomicfile"
)

// Folder keeps each content as a file that is named by its digest.
type Folder struct {
	root *os.Root
	// times is held while it is looked at when a content was put, and that is changed, or the content removed.
	times sync.Mutex
}

// OpenFolder opens a folder, and makes it where there is none. What a process that was killed has not
// finished is cleared away after a day.
func OpenFolder(dir string) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	f := &Folder{root: root}
	err = f.each(func(info fs.FileInfo) error {
		if strings.HasPrefix(info.Name(), atomicfile.TempPrefix) && time.Since(info.ModTime()) > abandoned {
			return root.Remove(info.Name())
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return f, nil
}

// Close lets go of the folder.
func (f *Folder) Close() error { return f.root.Close() }

// Put is Store's.
func (f *Folder) Put(ctx context.Context, d Digest, r io.Reader) error {
	if _, err := ParseDigest(string(d)); err != nil {
		return err
	}
	if there, err := f.refresh(d); there || err != nil {
		return err
	}
	return atomicfile.ReplaceIn(f.root, string(d), atomicfile.Options{Durable: true}, func(file *os.File) error {
		_, err := io.Copy(file, checked(until{ctx, r}, d))
		return err
	})
}

// refresh has a content that is there count as put now.
func (f *Folder) refresh(d Digest) (there bool, err error) {
	f.times.Lock()
	defer f.times.Unlock()
	if info, err := f.root.Lstat(string(d)); err != nil || !info.Mode().IsRegular() {
		return false, nil // why it cannot be looked at shows when it is written
	}
	now := time.Now()
	return true, f.root.Chtimes(string(d), now, now)
}

// Open is Store's.
func (f *Folder) Open(ctx context.Context, d Digest, offset int64) (io.ReadCloser, int64, error) {
	if _, err := ParseDigest(string(d)); err != nil {
		return nil, 0, err
	}
	file, err := f.root.Open(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, ErrNone
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err == nil && (offset < 0 || offset > info.Size()) {
		err = badOffset(offset, info.Size())
	}
	if err == nil {
		_, err = file.Seek(offset, io.SeekStart)
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	reader := io.Reader(until{ctx, file})
	if offset == 0 {
		reader = checked(reader, d)
	}
	return struct {
		io.Reader
		io.Closer
	}{reader, file}, info.Size(), nil
}

// Remove is Store's.
func (f *Folder) Remove(_ context.Context, d Digest, before time.Time) error {
	if _, err := ParseDigest(string(d)); err != nil {
		return err
	}
	f.times.Lock()
	defer f.times.Unlock()
	info, err := f.root.Lstat(string(d))
	if err == nil && info.ModTime().Before(before) {
		err = f.root.Remove(string(d))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// List is Store's.
func (f *Folder) List(ctx context.Context, each func(Info) error) error {
	return f.each(func(info fs.FileInfo) error {
		d, err := ParseDigest(info.Name())
		if err != nil || !info.Mode().IsRegular() {
			return context.Cause(ctx)
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		return each(Info{d, info.Size(), info.ModTime().UTC()})
	})
}

// each calls a function for all files that are still there, some at a time.
func (f *Folder) each(call func(fs.FileInfo) error) error {
	dir, err := f.root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	for {
		list, err := dir.ReadDir(1000)
		for _, entry := range list {
			info, err := entry.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err == nil {
				err = call(info)
			}
			if err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
