package document

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/tenetcm/tenet/lang/diag"
)

// tomlReader makes nodes of TOML 1.0.
type tomlReader struct {
	builder
	root *Node
	// index has the fields of each map by their names.
	index map[*Node]map[string]*Node
}

func readTOML(text *diag.Text) (*Node, error) {
	var valid map[string]any // the library alone tells which tables may not be declared again
	if err := toml.Unmarshal(text.Data, &valid); err != nil {
		if e, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, column := e.Position()
			return nil, wrong(text.Character(line, column), "", "this is no TOML: %s", strings.TrimPrefix(e.Error(), "toml: "))
		}
		return nil, wrong(text.Line(1), "", "this is no TOML: %s", strings.TrimPrefix(err.Error(), "toml: "))
	}
	r := &tomlReader{builder: builder{text: text}, root: &Node{Kind: Map, Range: text.Span(0, 0)}, index: map[*Node]map[string]*Node{}}
	p := unstable.Parser{}
	p.Reset(text.Data)
	table := r.root
	for p.NextExpression() {
		e := p.Expression()
		var err error
		switch e.Kind {
		case unstable.Table:
			table, err = r.descend(r.root, r.keys(e), false)
		case unstable.ArrayTable:
			table, err = r.descend(r.root, r.keys(e), true)
		case unstable.KeyValue:
			err = r.set(table, e, 0)
		}
		if err != nil {
			return nil, err
		}
	}
	return r.root, p.Error()
}

// tomlKey is one name of a dotted key.
type tomlKey struct {
	name string
	at   diag.Range
}

func (r *tomlReader) keys(e *unstable.Node) (list []tomlKey) {
	for it := e.Key(); it.Next(); {
		n := it.Node()
		list = append(list, tomlKey{string(n.Data), r.raw(n)})
	}
	return list
}

func (r *tomlReader) raw(n *unstable.Node) diag.Range {
	return r.text.Span(int(n.Raw.Offset), int(n.Raw.Offset+n.Raw.Length))
}

// descend gives the table that names lead to, which are made where they are not there; one of a list is a further one of it.
func (r *tomlReader) descend(n *Node, keys []tomlKey, further bool) (*Node, error) {
	for i, k := range keys {
		last := i == len(keys)-1
		next := r.index[n][k.name]
		if next == nil {
			next = &Node{Kind: Map, Range: k.at}
			if last && further {
				next.Kind = List
			}
			if err := r.put(n, k, next, i); err != nil {
				return nil, err
			}
		}
		if next.Kind == List {
			if last && further {
				item := &Node{Kind: Map, Range: k.at}
				if err := r.add(k.at, i+1); err != nil {
					return nil, err
				}
				next.Items = append(next.Items, item)
			}
			next = next.Items[len(next.Items)-1]
		}
		n = next
	}
	return n, nil
}

func (r *tomlReader) put(n *Node, k tomlKey, value *Node, depth int) error {
	if err := r.add(k.at, depth+1); err != nil {
		return err
	}
	if r.index[n] == nil {
		r.index[n] = map[string]*Node{}
	}
	r.index[n][k.name] = value
	n.Fields = append(n.Fields, Field{k.name, k.at, value})
	return nil
}

// set takes in a key with its value.
func (r *tomlReader) set(table *Node, e *unstable.Node, depth int) error {
	keys := r.keys(e)
	last := keys[len(keys)-1]
	in, err := r.descend(table, keys[:len(keys)-1], false)
	if err != nil {
		return err
	}
	value, err := r.value(e.Value(), last.at, depth+len(keys))
	if err != nil {
		return err
	}
	return r.put(in, last, value, depth+len(keys))
}

func (r *tomlReader) value(e *unstable.Node, key diag.Range, depth int) (*Node, error) {
	n := &Node{Range: key}
	if e.Raw.Length > 0 {
		n.Range = r.raw(e)
	}
	if depth > maxDepth {
		return nil, r.add(n.Range, depth)
	}
	text := strings.ReplaceAll(string(e.Data), "_", "")
	switch e.Kind {
	case unstable.Array:
		n.Kind = List
		for it := e.Children(); it.Next(); {
			if it.Node().Kind == unstable.Comment {
				continue
			}
			item, err := r.value(it.Node(), key, depth+1)
			if err == nil {
				err = r.add(n.Range, depth+1)
			}
			if err != nil {
				return nil, err
			}
			n.Items = append(n.Items, item)
		}
	case unstable.InlineTable:
		n.Kind = Map
		for it := e.Children(); it.Next(); {
			if it.Node().Kind == unstable.Comment {
				continue
			}
			if err := r.set(n, it.Node(), depth+1); err != nil {
				return nil, err
			}
		}
	case unstable.Bool:
		n.Value = string(e.Data) == "true"
	case unstable.Integer:
		n.Value = tomlInteger(text)
	case unstable.Float:
		if strings.HasSuffix(text, "inf") || strings.HasSuffix(text, "nan") {
			return nil, wrong(n.Range, "write it in quotes if it is a text", "a document holds no infinite numbers, and none that are not numbers")
		}
		n.Value = fraction(text)
	default: // a text, a date or a time, which are texts in the other formats
		n.Value = string(e.Data)
	}
	return n, checkNumber(n)
}

func tomlInteger(text string) json.Number {
	if bits, ok := strings.CutPrefix(text, "0b"); ok {
		return binary(bits)
	}
	return integer(text)
}
