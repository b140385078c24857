// Package ui shows a run to people and to programs: one renderer for each form
// of output, fed with the events of the runtime.
package ui

import (
	"encoding/json"
	"io"

	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/states"
)

// Renderer shows a run, event by event.
type Renderer interface {
	// Event takes the next event. Events come one at a time, in order.
	Event(ev states.Event)
	// Close shows what is left to show, and tells the first error of writing.
	Close() error
}

// JSON writes events as JSON lines.
func JSON(w io.Writer) Renderer {
	return &jsonLines{encoder: plainjson.NewEncoder(w)}
}

type jsonLines struct {
	encoder *json.Encoder
	err     error
}

// Event writes one line.
func (j *jsonLines) Event(ev states.Event) {
	if j.err == nil {
		j.err = j.encoder.Encode(ev)
	}
}

// Close tells the first error.
func (j *jsonLines) Close() error { return j.err }

// printer gathers text, writes it when it is told to, and remembers the first
// error.
type printer struct {
	w   io.Writer
	buf []byte
	err error
}

func (p *printer) print(parts ...string) {
	for _, s := range parts {
		p.buf = append(p.buf, s...)
	}
}

// flush writes what was printed since the last one, in one piece.
func (p *printer) flush() {
	if p.err == nil && len(p.buf) > 0 {
		_, p.err = p.w.Write(p.buf)
	}
	p.buf = p.buf[:0]
}
