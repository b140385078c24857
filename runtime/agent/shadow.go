package agent

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
)

// shadowFolder is a directory of which nothing changes: what is written stays in memory.
type shadowFolder struct {
	path    string
	changed map[string]*shadowFile // nil: it was removed
}

// openShadow opens a directory, which need not be there.
func openShadow(path string) (folder, error) {
	return &shadowFolder{path, map[string]*shadowFile{}}, nil
}

// Names lists the files.
func (s *shadowFolder) Names() ([]string, error) {
	names := map[string]bool{}
	entries, err := os.ReadDir(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		names[e.Name()] = true
	}
	for name, f := range s.changed {
		if names[name] = true; f == nil {
			delete(names, name)
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// Open opens a file.
func (s *shadowFolder) Open(name string, create bool) (file, error) {
	none := &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	if f, ok := s.changed[name]; ok && f != nil {
		return f, nil
	} else if ok && !create {
		return nil, none
	}
	data, err := os.ReadFile(s.path + "/" + name)
	if _, removed := s.changed[name]; removed || create && errors.Is(err, fs.ErrNotExist) {
		data, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &shadowFile{folder: s, name: name, data: data}, nil
}

// Remove removes a file.
func (s *shadowFolder) Remove(name string) error {
	if _, err := s.Open(name, false); err != nil {
		return err
	}
	s.changed[name] = nil
	return nil
}

// Replace replaces a file.
func (s *shadowFolder) Replace(name string, data []byte) error {
	s.changed[name] = &shadowFile{folder: s, name: name, data: slices.Clone(data)}
	return nil
}

// Sync makes nothing durable.
func (s *shadowFolder) Sync() error { return nil }

// shadowFile is an open file.
type shadowFile struct {
	folder *shadowFolder
	name   string
	data   []byte
}

// ReadAt reads.
func (f *shadowFile) ReadAt(p []byte, at int64) (int, error) {
	return bytes.NewReader(f.data).ReadAt(p, at)
}

// WriteAt writes.
func (f *shadowFile) WriteAt(p []byte, at int64) (int, error) {
	if end := at + int64(len(p)); end > int64(len(f.data)) {
		f.data = append(f.data, make([]byte, end-int64(len(f.data)))...)
	}
	f.folder.changed[f.name] = f
	return copy(f.data[at:], p), nil
}

// Truncate cuts the file, or makes it longer.
func (f *shadowFile) Truncate(size int64) error {
	if size < 0 || size > 1<<40 {
		return io.ErrShortWrite
	}
	f.data = append(f.data[:min(size, int64(len(f.data)))], make([]byte, max(0, size-int64(len(f.data))))...)
	f.folder.changed[f.name] = f
	return nil
}

// Sync makes nothing durable.
func (f *shadowFile) Sync() error { return nil }

// Close does nothing.
func (f *shadowFile) Close() error { return nil }
