// Package plainjson writes JSON as it is everywhere in the project: <, > and & stay as they
// are, since no HTML is made of it, and people read it.
package plainjson

import (
	"bytes"
	"encoding/json"
	"io"
)

// NewEncoder gives an encoder that writes each value on a line of its own.
func NewEncoder(w io.Writer) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e
}

// Marshal gives a value in one line, without the line's end.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	err := NewEncoder(&b).Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Quote gives a string as JSON.
func Quote(s string) string {
	text, err := Marshal(s)
	if err != nil {
		panic("plainjson: a string is no JSON: " + err.Error())
	}
	return string(text)
}

// WriteIndented writes a value over several lines, for people.
func WriteIndented(w io.Writer, v any) error {
	e := NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
