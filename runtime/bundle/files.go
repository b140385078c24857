package bundle

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// bundle gives what is kept for a run. Lists are those of directories that are known
// already.
func (n *needs) bundle(s *Store, lists map[digest][]states.TreeEntry) *Bundle {
	files := &files{store: s, byName: map[string]file{}, trees: map[string]tree{}, lists: lists, dirs: map[string][]fs.DirEntry{".": nil}}
	if files.lists == nil {
		files.lists = map[digest][]states.TreeEntry{}
	}
	for _, f := range n.Files {
		files.byName[f.Name] = f
	}
	for _, t := range n.Trees {
		files.trees[t.Name] = t
	}
	files.arrange()
	return &Bundle{Origin: n.Origin, Modules: n.Modules, Files: files}
}

// files are the files of a bundle in the store. The directories of the site that
// parts name are told by Tree, and their files opened by OpenFile; in others the files
// are listed that parts and modules name.
type files struct {
	store  *Store
	byName map[string]file
	trees  map[string]tree
	dirs   map[string][]fs.DirEntry // sorted by name

	mu    sync.Mutex
	lists map[digest][]states.TreeEntry
}

// arrange makes the directories that the files are in.
func (f *files) arrange() {
	for _, one := range f.byName {
		entry := fs.DirEntry(&info{name: path.Base(one.Name), size: one.Size})
		for dir := path.Dir(one.Name); ; dir = path.Dir(dir) {
			_, known := f.dirs[dir]
			f.dirs[dir] = append(f.dirs[dir], entry)
			if known || dir == "." {
				break
			}
			entry = &info{name: path.Base(dir), dir: true}
		}
	}
	for _, list := range f.dirs {
		slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	}
}

// Tree is states.TreeFS.
func (f *files) Tree(dir string) ([]states.TreeEntry, error) {
	t, ok := f.trees[dir]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: fs.ErrNotExist}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if entries := f.lists[t.SHA256]; entries != nil {
		return entries, nil
	}
	entries, err := f.store.list(t)
	if err == nil {
		f.lists[t.SHA256] = entries
	}
	return entries, err
}

// find finds a file that is named itself, or is in a directory that is.
func (f *files) find(name string) (file, error) {
	if one, ok := f.byName[name]; ok {
		return one, nil
	}
	for dir, more := name, true; more; {
		dir = path.Dir(dir)
		more = dir != "."
		if _, ok := f.trees[dir]; !ok {
			continue
		}
		entries, err := f.Tree(dir)
		if err != nil {
			return file{}, err
		}
		at, ok := slices.BinarySearchFunc(entries, strings.TrimPrefix(name, dir+"/"), func(e states.TreeEntry, name string) int { return strings.Compare(e.Name, name) })
		if !ok || entries[at].Kind != host.Regular {
			continue
		}
		one := file{Name: name, Size: entries[at].Size}
		return one, one.SHA256.UnmarshalText([]byte(entries[at].SHA256))
	}
	return file{}, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// OpenFile is states.TreeFS.
func (f *files) OpenFile(name string) (io.ReadCloser, error) {
	one, err := f.find(name)
	if err != nil {
		return nil, err
	}
	return f.store.content(one)
}

// Open opens a file, or a directory that files are in.
func (f *files) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if list, ok := f.dirs[name]; ok {
		return &openDir{info: &info{name: path.Base(name), dir: true}, list: list}, nil
	}
	one, err := f.find(name)
	if err != nil {
		return nil, err
	}
	in, err := f.store.content(one)
	if err != nil {
		return nil, err
	}
	return &openOne{ReadCloser: in, info: &info{name: path.Base(name), size: one.Size}}, nil
}

// info describes a file or a directory.
type info struct {
	name string
	size int64
	dir  bool
}

func (i *info) Name() string               { return i.name }
func (i *info) Size() int64                { return i.size }
func (i *info) ModTime() time.Time         { return time.Time{} }
func (i *info) IsDir() bool                { return i.dir }
func (i *info) Sys() any                   { return nil }
func (i *info) Type() fs.FileMode          { return i.Mode().Type() }
func (i *info) Info() (fs.FileInfo, error) { return i, nil }
func (i *info) String() string             { return fs.FormatDirEntry(i) }

// Mode is that of something to read.
func (i *info) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o500
	}
	return 0o400
}

// openOne is a file that is open.
type openOne struct {
	io.ReadCloser
	info *info
}

func (o *openOne) Stat() (fs.FileInfo, error) { return o.info, nil }

// openDir is a directory that is open.
type openDir struct {
	info *info
	list []fs.DirEntry
}

func (o *openDir) Stat() (fs.FileInfo, error) { return o.info, nil }
func (o *openDir) Close() error               { return nil }

// Read is an error.
func (o *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: o.info.name, Err: fs.ErrInvalid}
}

// ReadDir is fs.ReadDirFile's.
func (o *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	list := o.list
	if n > 0 {
		if len(list) == 0 {
			return nil, io.EOF
		}
		list = list[:min(n, len(list))]
	}
	o.list = o.list[len(list):]
	return slices.Clone(list), nil
}
