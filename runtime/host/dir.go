package host

import (
	"context"
	"io"
)

// Dir is a directory that is held open: what stands in it is reached by its name
// alone. Symbolic links are never followed, so that nothing that is moved or linked
// meanwhile leads elsewhere; and many files are read and written in less time.
type Dir interface {
	DirReader
	DirWriter
	Close() error
}

// DirReader looks at what stands in a directory.
type DirReader interface {
	// Entries lists the directory, sorted by name.
	Entries() ([]Entry, error)
	// Lstat describes what has this name; "." is the directory itself.
	Lstat(name string) (Info, error)
	// ReadLink gives the target of a symbolic link.
	ReadLink(name string) (string, error)
	// Open opens a regular file, and describes it.
	Open(name string) (io.ReadCloser, Info, error)
	// Enter opens a directory; "." is the directory itself, once more. Who opens it
	// closes it.
	Enter(name string) (Dir, error)
}

// DirWriter changes what stands in a directory, as Writer does.
type DirWriter interface {
	// WriteFile is Writer.WriteFile. A fresh file is one of whose name nothing
	// stands there: what does nonetheless is fs.ErrExist.
	WriteFile(ctx context.Context, name string, c Content, m Meta, fresh bool) error
	Mkdir(name string, m Meta) error
	Symlink(target, name string, m Meta) error
	SetMeta(name string, m Meta) error // "." is the directory itself
	Remove(name string) error
}

// DirOpener holds directories open.
type DirOpener interface {
	// OpenDir opens a directory. A symbolic link on the way to it is followed, but
	// not at its end.
	OpenDir(path string) (Dir, error)
}

// OpenDir opens a directory. Of what is no DirOpener, such as the files of a site, it can
// only be read, and nothing below it by way of a symbolic link.
func OpenDir(r Reader, path string) (Dir, error) {
	if o, ok := r.(DirOpener); ok {
		return o.OpenDir(path)
	}
	return openByPath(&pathDir{r: noFollowReader{r}}, Resolve(r, path))
}

// DirByPath opens a directory of a host on which nobody else acts, such as one in memory:
// what stands in it is reached by its path, as long as no symbolic link is on the way.
func DirByPath(h Host, path string) (Dir, error) {
	if _, err := h.Lstat(path); err != nil { // which tells what is not to be followed
		return nil, err
	}
	straight := h.NoFollow()
	return openByPath(&pathDir{r: straight, w: straight}, Resolve(h, path))
}

// Place is where something stands, or shall stand: a name in a directory that is held
// open. What is done by Dir and Name is done there, wherever Path leads by then.
type Place struct {
	Dir  Dir
	Name string // "." is the directory itself
	Path string // by which it was reached
}

// Enter opens the directory that stands there. Who opens it closes it.
func (p Place) Enter() (Dir, error) { return p.Dir.Enter(p.Name) }

// OpenPlace opens the directory that a path's last name stands in. What has this name
// need not be there. Who opens it closes Dir.
func OpenPlace(h DirOpener, path string) (Place, error) {
	clean, err := checkPath("open", path)
	if err != nil {
		return Place{}, err
	}
	dir, name := splitPath(clean)
	if name == "" || name == "." || name == ".." {
		dir, name = clean, "."
	}
	// Behind the dot a link to the directory is on the way, and not at its end.
	d, err := h.OpenDir(joinPath(dir, "."))
	if err != nil {
		return Place{}, pathError("open", dir, err)
	}
	return Place{Dir: d, Name: name, Path: path}, nil
}
