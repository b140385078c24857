package expr

import (
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
)

// Folder is a folder of a site or component, from which names lead to files.
type Folder struct {
	files *Files
	dir   string
}

// File is a file that was read of a Folder.
type File struct {
	Name   string // its path among all that a run opens, as messages name it
	Data   []byte
	Folder Folder // where it is, with all symbolic links followed
}

// Folder gives a folder of the site.
func (f *Files) Folder(dir string) Folder { return Folder{f, dir} }

// NamesFile reports whether a value names a file: it is a text or a source. It is known, and has no marks.
func NamesFile(v cty.Value) bool {
	_, isSource := sourceOf(v)
	return isSource || v.Type() == cty.String && !v.IsNull()
}

// Name gives the way to what a value names (see NamesFile): a text from this folder, a source from where it is itself.
func (d Folder) Name(named cty.Value) (Folder, string) {
	if s, ok := sourceOf(named); ok {
		return d.files.of(s).Folder("."), s.at
	}
	return d, named.AsString()
}

// Parent gives the folder that a name leads to a file in, whether that is there or not.
func (d Folder) Parent(name string) Folder { return Folder{d.files, path.Dir(path.Join(d.dir, name))} }

// Read reads a file, of at most so many bytes. Like all that reads files of a site, it leads nowhere out of that, and one
// evaluation sees one version of each file.
func (d Folder) Read(name string, limit int64) (File, error) {
	found, err := d.files.locate(d.dir, name)
	if err != nil {
		return File{}, err
	}
	out := File{Name: path.Join(d.files.name, found.at), Folder: Folder{d.files, path.Dir(found.at)}}
	if data, ok := d.files.read.data.get(found.at); ok {
		out.Data = data
		return out, nil
	}
	file, err := d.files.open(name, found)
	if err != nil {
		return File{}, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return File{}, fmt.Errorf("%q cannot be read: %w", name, err)
	}
	if int64(len(data)) > limit {
		return File{}, &diag.HintError{Message: fmt.Sprintf("%q has more than %d bytes", name, limit), Hint: "split it"}
	}
	out.Data = d.files.read.data.keep(found.at, data)
	return out, nil
}

// ReadNamed is Read for a file that is named as File.Name names it.
func (d Folder) ReadNamed(name string, limit int64) (File, error) {
	if d.files.name != "." {
		name = strings.TrimPrefix(name, d.files.name+"/")
	}
	return Folder{d.files, "."}.Read(name, limit)
}
