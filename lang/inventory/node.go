package inventory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/tenetcm/tenet/lang/diag"
)

// node is a value of YAML or JSON with its place.
type node struct {
	src    diag.Range
	kind   kind
	scalar any // plain, or unusable
	list   []*node
	keys   []key // of an object, each once
	values map[string]*node
}

type key struct {
	name string
	src  diag.Range
}

type kind int

const (
	scalarKind kind = iota
	listKind
	objectKind
)

func (k kind) String() string { return [...]string{"a single value", "a list", "an object"}[k] }

func (n *node) isNull() bool { return n.kind == scalarKind && n.scalar == nil }

// get gives the value of a key; nil: there is none, or it is null.
func (n *node) get(name string) *node {
	if v := n.values[name]; v != nil && !v.isNull() {
		return v
	}
	return nil
}

// put sets a key; true: it was there.
func (n *node) put(name string, src diag.Range, v *node) (twice bool) {
	if n.values == nil {
		n.values = map[string]*node{}
	}
	if _, twice = n.values[name]; !twice {
		n.keys = append(n.keys, key{name, src})
	}
	n.values[name] = v
	return twice
}

// plain gives the node as plain data.
func (n *node) plain() any {
	switch n.kind {
	case listKind:
		out := make([]any, len(n.list))
		for i, e := range n.list {
			out[i] = e.plain()
		}
		return out
	case objectKind:
		out := make(map[string]any, len(n.keys))
		for _, k := range n.keys {
			out[k.name] = n.values[k.name].plain()
		}
		return out
	}
	return n.scalar
}

// jsonReader reads JSON into nodes.
type jsonReader struct {
	*problems
	*diag.Text
	d     *json.Decoder
	depth int
	nodes int
}

// json reads one JSON value; nil: it is none, which is reported.
func (p *problems) json(s *diag.Text) *node {
	r := &jsonReader{problems: p, Text: s, d: json.NewDecoder(bytes.NewReader(s.Data))}
	r.d.UseNumber()
	n, err := r.value()
	if err == nil {
		if _, end := r.d.Token(); end != io.EOF {
			err = errors.New("there is more than one JSON value")
		}
	}
	if err == nil {
		return n
	}
	offset := int(r.d.InputOffset())
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = int(syntax.Offset) - 1
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		offset, err = len(s.Data), errors.New("it ends too early")
	}
	p.errorAt(s.Span(offset, offset+1), "", "this is no JSON: %v", err)
	return nil
}

// start is where the next token begins.
func (r *jsonReader) start() int {
	at := int(r.d.InputOffset())
	for at < len(r.Data) && bytes.IndexByte([]byte(" \t\r\n,:"), r.Data[at]) >= 0 {
		at++
	}
	return at
}

func (r *jsonReader) value() (*node, error) {
	from := r.start()
	token, err := r.d.Token()
	if err != nil {
		return nil, err
	}
	n := &node{}
	if r.nodes++; r.nodes > maxNodes {
		return nil, fmt.Errorf("it holds more than %d values", maxNodes)
	}
	if r.depth++; r.depth > maxDepth {
		return nil, fmt.Errorf("it nests deeper than %d levels", maxDepth)
	}
	defer func() { r.depth-- }()
	switch token {
	case json.Delim('['):
		n.kind = listKind
		for r.d.More() {
			e, err := r.value()
			if err != nil {
				return nil, err
			}
			n.list = append(n.list, e)
		}
		_, err = r.d.Token()
	case json.Delim('{'):
		n.kind = objectKind
		err = r.object(n)
	default:
		n.scalar = token
	}
	n.src = r.Span(from, int(r.d.InputOffset()))
	return n, err
}

func (r *jsonReader) object(n *node) error {
	for r.d.More() {
		from := r.start()
		token, err := r.d.Token()
		if err != nil {
			return err
		}
		name, ok := token.(string)
		if !ok {
			return errors.New("a key is text")
		}
		src := r.Span(from, int(r.d.InputOffset()))
		v, err := r.value()
		if err != nil {
			return err
		}
		if n.put(name, src, v) {
			r.warn(src, "leave one of them out", "%q is given twice; the last counts", name)
		}
	}
	_, err := r.d.Token()
	return err
}
