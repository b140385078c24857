package rc2

import (
	_ "embed" // the schema
	"errors"
	"fmt"
	"sync"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/document"
)

// Limits of what a manager sends, in bytes.
const (
	MaxManifest   = 4 << 20
	MaxDeployment = 1 << 20
	MaxProblem    = 64 << 10
	MaxBundle     = 32 << 20 // compressed
	maxUnpacked   = 64 << 20 // of a bundle
)

//go:embed schema.json
var schemaText []byte

// compiled are the schemas of the documents by their names, and what is wrong with ours.
type compiled struct {
	byKind map[string]*document.Schema
	err    error
}

var schemas = sync.OnceValue(func() compiled {
	all := compiled{byKind: map[string]*document.Schema{}}
	for _, kind := range []string{"manifest", "deployment", "problem", "capabilities"} {
		entry := `{"$ref": "schema.json#/$defs/` + kind + `"}`
		schema, list := document.ReadSchema(kind+".json", func(file string) ([]byte, error) {
			if file == "schema.json" {
				return schemaText, nil
			}
			return []byte(entry), nil
		})
		all.byKind[kind], all.err = schema, errors.Join(all.err, list.Err())
	}
	return all
})

// read reads a document of a kind, and checks it.
func read(kind, name string, data []byte, limit int) (*document.Node, error) {
	if len(data) > limit {
		return nil, fmt.Errorf("%s has %d bytes; it may have %d", name, len(data), limit)
	}
	known := schemas()
	if known.err != nil {
		return nil, known.err
	}
	node, list := document.Read(name, data)
	if list.HasErrors() {
		return nil, brief(list)
	}
	if list := known.byKind[kind].Check(node); list.HasErrors() {
		return nil, brief(list)
	}
	return node, nil
}

// brief keeps the first mistakes: who sends many may not fill our logs.
func brief(list diag.List) error {
	const most = 5
	if len(list) > most {
		return fmt.Errorf("%w\nand %d more", list[:most], len(list)-most)
	}
	if err := list.Err(); err != nil {
		return err
	}
	return errors.New("the document is wrong")
}

// text gives a text of a map, or "". The schema has seen to its kind.
func text(n *document.Node, name string) string {
	if f := n.Field(name); f != nil {
		s, _ := f.Value.Value.(string) // another kind has no text
		return s
	}
	return ""
}

// items gives the items of a list of a map, or none.
func items(n *document.Node, name string) []*document.Node {
	if f := n.Field(name); f != nil {
		return f.Value.Items
	}
	return nil
}

// below gives what a map has below a name; a node without anything where it has nothing.
func below(n *document.Node, name string) *document.Node {
	if f := n.Field(name); f != nil {
		return f.Value
	}
	return &document.Node{}
}
