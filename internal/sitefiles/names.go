package sitefiles

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/tenetcm/tenet/lang/diag"
)

// The lengths of names that are taken.
const (
	MaxName    = 1000 // bytes of a whole name
	maxElement = 255  // bytes between two slashes, as file systems have it
)

// Names are those of files that come from elsewhere, so far: they have to be good names wherever they are written to, and different ones.
type Names struct {
	depth int
	// known has each file and folder by what file systems that ignore case, or how letters are composed, take it for.
	known map[string]knownName
	fold  cases.Caser
}

type knownName struct {
	name string
	file bool
}

// NewNames begins with none. depth is how many names a path has at most.
func NewNames(depth int) *Names {
	return &Names{depth: depth, known: map[string]knownName{}, fold: cases.Fold()}
}

// Add takes one more name of a file. Its errors have a hint.
func (n *Names) Add(name string) error {
	if err := n.Check(name); err != nil {
		return err
	}
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
func (n *Names) occupy(name string, file bool) error {
	key := norm.NFC.String(n.fold.String(norm.NFD.String(name)))
	former, ok := n.known[key]
	switch {
	case !ok:
		n.known[key] = knownName{strings.Clone(name), file}
		return nil
	case former.name != name:
		return refuseName("rename one of them", "%s and %s differ by case or by how letters are composed alone, which not every file system tells apart", QuoteName(former.name), QuoteName(name))
	case former.file && file:
		return refuseName("", "%s is there twice", QuoteName(name))
	case former.file || file:
		return refuseName("", "%s is a file and a folder", QuoteName(name))
	}
	return nil
}

// Check looks at one name alone, of a file or a folder.
func (n *Names) Check(name string) error {
	wrong := ""
	switch {
	case !utf8.ValidString(name):
		wrong = "is no UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl):
		wrong = "has a control character"
	case strings.Contains(name, `\`):
		wrong = "has a backslash, which separates folders elsewhere"
	case !fs.ValidPath(name) || name == ".":
		wrong = "is no name within a folder"
	case len(name) > MaxName:
		wrong = fmt.Sprintf("has more than %d bytes", MaxName)
	case strings.Count(name, "/") >= n.depth:
		wrong = fmt.Sprintf("is more than %d folders deep", n.depth)
	}
	for element := range strings.SplitSeq(name, "/") {
		if wrong == "" && len(element) > maxElement {
			wrong = fmt.Sprintf("has a part of more than %d bytes", maxElement)
		}
	}
	if wrong == "" {
		return nil
	}
	return refuseName("rename it", "%s %s", QuoteName(name), wrong)
}

func refuseName(hint, format string, args ...any) error {
	return &diag.HintError{Message: fmt.Sprintf(format, args...), Hint: hint}
}

// QuoteName shows a name that may hold anything.
func QuoteName(name string) string {
	const longest = 200
	if len(name) > longest {
		name = name[:longest] + "…"
	}
	return strconv.QuoteToGraphic(name)
}
