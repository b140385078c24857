package archive

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/internal/sitefiles"
	"github.com/tenetcm/tenet/lang/diag"
)

// isLeftOut reports whether a file or folder is no part of a package.
func isLeftOut(name string) bool {
	return name == "vendor" || path.Base(name) == ".git"
}

// listFiles lists the plain files that a package has, in the order of the archive.
func listFiles(files fs.FS, limits Limits) ([]string, error) {
	var list []string
	checked := newNames(limits)
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case isLeftOut(name) && entry.IsDir():
			return fs.SkipDir
		case path.Base(name) == ".git", name == ".": // a work tree's or a submodule's .git is a file
			return nil
		}
		if err := checked.check(name); err != nil { // a file system may have names that cannot be opened by fs.FS
			return err
		}
		switch {
		case entry.IsDir():
			return nil
		case !entry.Type().IsRegular():
			return refuseKind(name)
		case len(list) >= limits.Files:
			return refuseCount(limits)
		}
		list = append(list, name)
		return nil
	})
	// By folders, "a/b" comes before "a-b"; by bytes it is the other way around.
	slices.Sort(list)
	return list, err
}

func refuseKind(name string) error {
	return refuse("put a copy of the file there", "%s is a link or a device, and a package has only plain files", quote(name))
}

func refuseCount(limits Limits) error {
	return refuse("make several packages of it", "it has more than %d files", limits.Files)
}

// names are those of an archive so far, which come in their order.
type names struct {
	*sitefiles.Names
	last string
}

func newNames(limits Limits) *names { return &names{Names: sitefiles.NewNames(limits.Depth)} }

// add takes one more name, unless it cannot be that of a package's file.
func (n *names) add(name string) error {
	switch err := n.check(name); {
	case err != nil:
		return err
	case name == n.last:
		return refuse("", "it has %s twice", quote(name))
	case name < n.last:
		return refuse("", "%s comes after %s, and names have to be sorted", quote(name), quote(n.last))
	}
	n.last = name
	return refused(n.Add(name))
}

// check looks at one name alone.
func (n *names) check(name string) error {
	if err := n.Check(name); err != nil {
		return refused(err)
	}
	elements := strings.Split(name, "/")
	for i, element := range elements {
		if isLeftOut(strings.Join(elements[:i+1], "/")) && !(i == 0 && element == "vendor" && len(elements) == 1) {
			return refuse("rename it", "%s is no part of a package: %s is left out of one", quote(name), element)
		}
	}
	return nil
}

// refused makes an error about a name one about a package.
func refused(err error) error {
	if err == nil {
		return nil
	}
	return refuse(diag.HintOf(err), "%v", err)
}

// quote shows a name that may hold anything.
func quote(name string) string { return sitefiles.QuoteName(name) }
