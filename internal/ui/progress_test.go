package ui_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/states"
)

// safe is a buffer for several goroutines.
type safe struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safe) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// take gives what was written since the last time.
func (s *safe) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.b.Reset()
	return s.b.String()
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := &states.StateRun{Invocations: []states.Invocation{{Parts: make([]states.Part, 3)}}}
		terminal, out := &safe{}, &safe{}
		r := ui.Progress(terminal, 50, run, ui.Text(out, ui.TextOptions{}))
		begin := func(address string) {
			r.Event(states.Event{Type: states.EventBegin, Address: address, Time: time.Now()})
		}
		begin("command.slow")
		time.Sleep(250 * time.Millisecond)
		if got := terminal.take(); got != "" {
			t.Errorf("shows %q at once", got)
		}
		time.Sleep(2 * time.Second)
		if got := terminal.take(); !strings.HasSuffix(got, "\r\x1b[K0 of 3  2s  command.slow 2s") {
			t.Errorf("shows %q", got)
		}
		begin("command.with-a-very-long-name-that-fills-the-line")
		time.Sleep(time.Second)
		if got := terminal.take(); !strings.HasSuffix(got, "\r\x1b[K0 of 3  3s  command.slow 3s, command.with-a-very…") {
			t.Errorf("shows %q", got)
		}
		r.Event(states.Event{Type: states.EventPart, Address: "command.slow", Outcome: states.Changed, Action: states.Execute})
		if got := terminal.take(); got != "\r\x1b[K" {
			t.Errorf("the line is not gone before the part is shown: %q", got)
		}
		if got := out.take(); !strings.Contains(got, "command.slow") {
			t.Errorf("the part is not shown: %q", got)
		}
		time.Sleep(110 * time.Millisecond)
		if got := terminal.take(); !strings.HasPrefix(got, "1 of 3  ") {
			t.Errorf("shows %q", got)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if got := terminal.take(); !strings.HasSuffix(got, "\r\x1b[K") {
			t.Errorf("leaves %q", got)
		}
	})
}
