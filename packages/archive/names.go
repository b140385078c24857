package archive

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
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

func refuseDepth(name string, limits Limits) error {
	return refuse("", "%s is more than %d folders deep", quote(name), limits.Depth)
}

// names are those of an archive so far, which come in their order.
type names struct {
	limits Limits
	last   string
	// known has each file and folder by what file systems that ignore case, or how letters are composed, take it for.
	known map[string]known
	fold  cases.Caser
}

type known struct {
	name string
	file bool
}

func newNames(limits Limits) *names {
	return &names{limits: limits, known: map[string]known{}, fold: cases.Fold()}
}

// add takes one more name, unless it cannot be that of a package's file.
func (n *names) add(name string) error {
	if err := n.check(name); err != nil {
		return err
	}
	if name == n.last {
		return refuse("", "it has %s twice", quote(name))
	}
	if name < n.last {
		return refuse("", "%s comes after %s, and names have to be sorted", quote(name), quote(n.last))
	}
	n.last = name
	for i := 0; i < len(name); {
		end := strings.IndexByte(name[i:], '/')
		if i += end; end < 0 {
			i = len(name)
		}
		if err := n.occupy(name[:i], i == len(name)); err != nil {
			return err
		}
		i++
	}
	return nil
}

// occupy says that a name is that of a file or a folder.
func (n *names) occupy(name string, file bool) error {
	key := norm.NFC.String(n.fold.String(norm.NFD.String(name)))
	former, ok := n.known[key]
	switch {
	case !ok:
		n.known[key] = known{strings.Clone(name), file}
		return nil
	case former.name != name:
		return refuse("rename one of them", "%s and %s differ by case or by how letters are composed alone, which not every file system tells apart", quote(former.name), quote(name))
	case former.file || file:
		return refuse("", "%s is a file and a folder", quote(name))
	}
	return nil
}

// check looks at one name alone.
func (n *names) check(name string) error {
	refuseName := func(why string) error { return refuse("rename it", "%s %s", quote(name), why) }
	switch {
	case !utf8.ValidString(name):
		return refuseName("is no UTF-8")
	case strings.ContainsFunc(name, unicode.IsControl):
		return refuseName("has a control character")
	case strings.Contains(name, `\`):
		return refuseName("has a backslash, which separates folders elsewhere")
	case !fs.ValidPath(name) || name == ".":
		return refuseName("is no name within a folder")
	case len(name) > maxName:
		return refuseName("has more than " + strconv.Itoa(maxName) + " bytes")
	}
	elements := strings.Split(name, "/")
	if len(elements) > n.limits.Depth {
		return refuseDepth(name, n.limits)
	}
	for i, element := range elements {
		if len(element) > maxElement {
			return refuseName("has a part of more than " + strconv.Itoa(maxElement) + " bytes")
		}
		if isLeftOut(strings.Join(elements[:i+1], "/")) && !(i == 0 && element == "vendor" && len(elements) == 1) {
			return refuseName("is no part of a package: " + element + " is left out of one")
		}
	}
	return nil
}

// quote shows a name that may hold anything.
func quote(name string) string {
	const longest = 200
	if len(name) > longest {
		name = name[:longest] + "…"
	}
	return strconv.QuoteToGraphic(name)
}
