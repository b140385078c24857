package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/tenetcm/tenet/lang/diag"
)

// jsonReader makes nodes of JSON (RFC 8259).
type jsonReader struct {
	builder
	d *json.Decoder
}

func readJSON(text *diag.Text) (*Node, error) {
	if len(bytes.TrimSpace(text.Data)) == 0 {
		return &Node{Range: text.Span(0, 0)}, nil
	}
	r := &jsonReader{builder{text: text}, json.NewDecoder(bytes.NewReader(text.Data))}
	r.d.UseNumber()
	n, err := r.value(0)
	if err == nil {
		if _, end := r.d.Token(); end != io.EOF {
			at := int(r.d.InputOffset())
			return nil, wrong(text.Span(at, at+1), "a file is one document", "there is something behind the document")
		}
		return n, nil
	}
	if _, ok := errors.AsType[*fault](err); ok {
		return nil, err
	}
	offset := int(r.d.InputOffset())
	var all json.RawMessage // at once: of single tokens the decoder does not tell where it has stopped
	if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(text.Data, &all)); ok {
		offset, err = int(syntax.Offset)-1, syntax
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || err.Error() == "unexpected end of JSON input" {
		offset, err = len(text.Data), errors.New("it ends too early")
	}
	return nil, wrong(text.Span(offset, offset+1), "", "this is no JSON: %v", err)
}

// start is where the next token begins.
func (r *jsonReader) start() int {
	at := int(r.d.InputOffset())
	for at < len(r.text.Data) && bytes.IndexByte([]byte(" \t\r\n,:"), r.text.Data[at]) >= 0 {
		at++
	}
	return at
}

func (r *jsonReader) value(depth int) (*Node, error) {
	from := r.start()
	token, err := r.d.Token()
	if err != nil {
		return nil, err
	}
	n := &Node{Range: r.text.Span(from, from+1)}
	if err := r.add(n.Range, depth); err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		n.Kind = List
		for err == nil && r.d.More() {
			var e *Node
			e, err = r.value(depth + 1)
			n.Items = append(n.Items, e)
		}
	case json.Delim('{'):
		n.Kind = Map
		err = r.fields(n, depth)
	default:
		n.Value = token
		n.Range = r.text.Span(from, int(r.d.InputOffset()))
		return n, checkNumber(n)
	}
	if err == nil {
		_, err = r.d.Token() // the bracket
	}
	n.Range = r.text.Span(from, int(r.d.InputOffset()))
	return n, err
}

func (r *jsonReader) fields(n *Node, depth int) error {
	index := map[string]diag.Range{}
	for r.d.More() {
		from := r.start()
		token, err := r.d.Token()
		if err != nil {
			return err
		}
		name, ok := token.(string)
		at := r.text.Span(from, int(r.d.InputOffset()))
		if !ok {
			return wrong(at, "", "this is no JSON: a name is a text")
		}
		value, err := r.value(depth + 1)
		if err == nil {
			err = put(n, index, name, at, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
