package git

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenetcm/tenet/lang/diag"
)

// The lengths of names that are taken.
const (
	maxName    = 1000
	maxElement = 255
)

// names are those of a commit so far, which must be good names of files wherever they are written to.
type names struct {
	depth int
	// files and folders have each by what file systems that ignore case take it for.
	files, folders map[string]string
}

func newNames(depth int) *names {
	return &names{depth: depth, files: map[string]string{}, folders: map[string]string{}}
}

// add takes one more name of a file.
func (n *names) add(name string) error {
	if err := n.check(name); err != nil {
		return err
	}
	key := strings.ToLower(name)
	if former, ok := n.files[key]; ok {
		return conflict(former, name)
	}
	if former, ok := n.folders[key]; ok {
		return conflict(former, name)
	}
	n.files[key] = name
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		key := strings.ToLower(dir)
		former, ok := n.folders[key]
		if file, taken := n.files[key]; taken {
			return conflict(file, dir)
		}
		if ok && former != dir {
			return conflict(former, dir)
		}
		if ok {
			break // its parents are known as well
		}
		n.folders[key] = dir
	}
	return nil
}

func conflict(one, other string) error {
	return &diag.HintError{Message: fmt.Sprintf("%s and %s are the same name, or differ by case alone, which not every file system tells apart", quoteName(one), quoteName(other)), Hint: "rename one of them"}
}

// check looks at one name alone.
func (n *names) check(name string) error {
	wrong := func(why string) error {
		return &diag.HintError{Message: quoteName(name) + " " + why, Hint: "rename it"}
	}
	switch {
	case !utf8.ValidString(name):
		return wrong("is no UTF-8")
	case strings.ContainsFunc(name, unicode.IsControl):
		return wrong("has a control character")
	case strings.Contains(name, `\`):
		return wrong("has a backslash, which separates folders elsewhere")
	case !fs.ValidPath(name) || name == ".":
		return wrong("is no name within a folder")
	case len(name) > maxName:
		return wrong(fmt.Sprintf("has more than %d bytes", maxName))
	case strings.Count(name, "/") >= n.depth:
		return wrong(fmt.Sprintf("is more than %d folders deep", n.depth))
	}
	for element := range strings.SplitSeq(name, "/") {
		if strings.EqualFold(element, ".git") {
			return wrong("has a part that is Git's own")
		}
		if len(element) > maxElement {
			return wrong(fmt.Sprintf("has a part of more than %d bytes", maxElement))
		}
	}
	return nil
}

// quoteName shows a name that may hold anything.
func quoteName(name string) string {
	const longest = 200
	if len(name) > longest {
		name = name[:longest] + "…"
	}
	return strconv.QuoteToGraphic(name)
}
