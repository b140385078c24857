package expr

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
)

// Locate gives the path within the site of a name relative to dir, with all
// symbolic links followed. Paths that lead out of the site are errors.
func (f *Files) Locate(dir, name string) (string, error) {
	found, err := f.locate(dir, name)
	return found.at, err
}

// location is where a name leads to.
type location struct {
	at string // the path within the site
	// info is what is there, and no symbolic link; nil: nobody has looked.
	info fs.FileInfo
}

func (f *Files) locate(dir, name string) (location, error) {
	switch {
	case name == "" || strings.ContainsRune(name, 0):
		return location{}, fmt.Errorf("%q is no path", name)
	case path.IsAbs(name):
		return location{}, errOutside(name)
	}
	clean := path.Join(dir, name)
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return location{}, errOutside(name)
	}
	linked, ok := f.site.(fs.ReadLinkFS)
	if !ok {
		return location{at: clean}, nil
	}
	return f.follow(linked, name, clean)
}

// follow resolves the symbolic links in a clean path.
func (f *Files) follow(site fs.ReadLinkFS, name, clean string) (location, error) {
	done, rest := location{at: "."}, strings.Split(clean, "/")
	for links := 0; len(rest) > 0; {
		step := path.Join(done.at, rest[0])
		rest = rest[1:]
		if rest := strings.Join(rest, "/"); strings.HasPrefix(step, "..") && (step == ".." || step[2] == '/') {
			return location{}, errOutside(path.Join(name, rest))
		}
		if len(rest) > 0 && f.folders[step] {
			done = location{at: step}
			continue
		}
		info, err := site.Lstat(step)
		if err != nil {
			return location{}, f.explainMissing(name, step, err)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = location{at: step, info: info}
			if info.IsDir() {
				f.folders[step] = true
			}
			continue
		}
		target, err := site.ReadLink(step)
		if err != nil {
			return location{}, err
		}
		if links++; links > maxLinks {
			return location{}, fmt.Errorf("%q leads through too many symbolic links", name)
		}
		if path.IsAbs(target) {
			return location{}, linkOutside(name, step, target)
		}
		if joined := path.Join(path.Dir(step), target); joined == ".." || strings.HasPrefix(joined, "../") {
			return location{}, linkOutside(name, step, target)
		}
		done = location{at: path.Dir(step)}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return done, nil
}

func linkOutside(name, link, target string) error {
	return &diag.HintError{
		Message: fmt.Sprintf("%q leads out of the site: %s is a symbolic link to %s", name, link, target),
		Hint:    "a site reads nothing but its own directory; copy the file into it, or make the link relative"}
}

// open opens the regular file that a name leads to.
func (f *Files) open(name string, found location) (fs.File, error) {
	info := found.info
	if info == nil {
		var err error
		if info, err = fs.Stat(f.site, found.at); err != nil {
			return nil, f.explainMissing(name, found.at, err)
		}
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%q is no regular file", name)
	}
	file, err := f.site.Open(found.at)
	if err != nil {
		return nil, f.explainMissing(name, found.at, err)
	}
	return file, nil
}
