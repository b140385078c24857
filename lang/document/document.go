// Package document reads documents in YAML, JSON and TOML, in which every value has its place, and checks them against schemas.
package document

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tenetcm/tenet/lang/diag"
)

// Limits of a document. One that is larger is not read.
const (
	MaxSize    = 16 << 20 // bytes
	maxNodes   = 1_000_000
	maxAliased = 50_000 // values that aliases of YAML give again
	maxDepth   = 100
)

// Kind says what a node is.
type Kind int

// The kinds of nodes.
const (
	Scalar Kind = iota
	List
	Map
)

// Node is a value at its place.
type Node struct {
	Range  diag.Range
	Kind   Kind
	Value  any // of a scalar: nil, bool, json.Number or string
	Items  []*Node
	Fields []Field // each name once, in the document's order
}

// Field is a named value of a map.
type Field struct {
	Name  string
	Range diag.Range // of the name
	Value *Node
}

// New makes a document of plain data, as Plain gives it, all of which is at one place. The fields of maps are sorted.
func New(plain any, at diag.Range) *Node {
	n := &Node{Range: at}
	switch v := plain.(type) {
	case []any:
		n.Kind = List
		for _, e := range v {
			n.Items = append(n.Items, New(e, at))
		}
	case map[string]any:
		n.Kind = Map
		for _, name := range slices.Sorted(maps.Keys(v)) {
			n.Fields = append(n.Fields, Field{name, at, New(v[name], at)})
		}
	default:
		n.Value = plain
	}
	return n
}

// Field gives the field of a map; nil: there is none.
func (n *Node) Field(name string) *Field {
	for i := range n.Fields {
		if n.Fields[i].Name == name {
			return &n.Fields[i]
		}
	}
	return nil
}

// Plain gives the value as plain data: nil, bool, json.Number, string, []any and map[string]any.
func (n *Node) Plain() any {
	switch n.Kind {
	case List:
		out := make([]any, len(n.Items))
		for i, e := range n.Items {
			out[i] = e.Plain()
		}
		return out
	case Map:
		out := make(map[string]any, len(n.Fields))
		for _, f := range n.Fields {
			out[f.Name] = f.Value.Plain()
		}
		return out
	}
	return n.Value
}

// At follows a path of names, and of numbers of items from 0, as far as it leads.
func (n *Node) At(steps []string) *Node {
	for _, step := range steps {
		next := n.step(step)
		if next == nil {
			break
		}
		n = next
	}
	return n
}

func (n *Node) step(step string) *Node {
	switch n.Kind {
	case Map:
		if f := n.Field(step); f != nil {
			return f.Value
		}
	case List:
		var i int
		if _, err := fmt.Sscanf(step, "%d", &i); err == nil && i >= 0 && i < len(n.Items) {
			return n.Items[i]
		}
	}
	return nil
}

// Formats names the endings of files that are documents.
func Formats() []string { return []string{".json", ".toml", ".yaml", ".yml"} }

// fault is what is wrong with a document, and where.
type fault struct {
	at      diag.Range
	summary string
	hint    string
}

func (f *fault) Error() string { return f.summary }

func wrong(at diag.Range, hint, format string, args ...any) error {
	return &fault{at, fmt.Sprintf(format, args...), hint}
}

// Read reads a document; its format is that of the name's ending. In YAML only version 1.2's plain values (the core schema) are
// other values than texts. A document without any value is null.
func Read(name string, data []byte) (*Node, diag.List) {
	n, err := read(diag.NewText(name, data))
	if err != nil {
		return nil, listOf(name, err)
	}
	return n, nil
}

// ReadAll reads a file of several documents: in YAML those of a stream, in other formats there is one.
func ReadAll(name string, data []byte) ([]*Node, diag.List) {
	text := diag.NewText(name, data)
	err := check(text)
	if ext := path.Ext(name); err == nil && (ext == ".yml" || ext == ".yaml") {
		var all []*Node
		if all, err = readStream(text, 0); err == nil {
			return all, nil
		}
	}
	if err != nil {
		return nil, listOf(name, err)
	}
	n, list := Read(name, data)
	if n == nil {
		return nil, list
	}
	return []*Node{n}, list
}

// listOf gives what is wrong with a document as a diagnostic.
func listOf(name string, err error) diag.List {
	d := diag.Diagnostic{Summary: err.Error(), Range: diag.Range{File: name}}
	if f, ok := errors.AsType[*fault](err); ok {
		d.Range, d.Summary, d.Hint = f.at, f.summary, f.hint
	}
	d.Hint = cmp.Or(d.Hint, "look at this place, and at what is before it")
	var list diag.List
	list.Add(d)
	return list
}

// check refuses what is too large, or no text.
func check(text *diag.Text) error {
	if len(text.Data) > MaxSize {
		return wrong(diag.Range{File: text.Name}, "split it", "the document has %d bytes; it may have %d", len(text.Data), MaxSize)
	}
	if at := invalidUTF8(text.Data); at >= 0 {
		return wrong(text.Span(at, at+1), "save it as UTF-8", "the document is not in UTF-8")
	}
	return nil
}

func read(text *diag.Text) (*Node, error) {
	if err := check(text); err != nil {
		return nil, err
	}
	switch path.Ext(text.Name) {
	case ".yml", ".yaml":
		return readYAML(text)
	case ".json":
		return readJSON(text)
	case ".toml":
		return readTOML(text)
	}
	return nil, wrong(diag.Range{File: text.Name}, "give it the ending of its format", "a document's name ends in %s", strings.Join(Formats(), ", "))
}

// invalidUTF8 gives the offset of the first byte that is no UTF-8; -1: there is none.
func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// builder counts what a document holds.
type builder struct {
	text  *diag.Text
	nodes int
}

// add counts a value, below so many others.
func (b *builder) add(at diag.Range, depth int) error {
	if b.nodes++; b.nodes > maxNodes {
		return wrong(at, "split it", "the document holds more than %d values", maxNodes)
	}
	if depth > maxDepth {
		return wrong(at, "", "the document nests deeper than %d levels", maxDepth)
	}
	return nil
}

// put adds a field to a map, in which names are told apart by an index, since a map may be large.
func put(n *Node, index map[string]diag.Range, name string, at diag.Range, value *Node) error {
	if first, ok := index[name]; ok {
		return wrong(at, "leave one of them out", "%q is there twice, first in line %d", name, first.Start.Line)
	}
	index[name] = at
	n.Fields = append(n.Fields, Field{name, at, value})
	return nil
}
