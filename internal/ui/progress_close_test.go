package ui

import (
	"bytes"
	"testing"
	"time"

	"github.com/tenetcm/tenet/states"
)

// Nothing is drawn behind the end, also not what was about to be when it came.
func TestProgressClose(t *testing.T) {
	var terminal, out bytes.Buffer
	p := Progress(&terminal, 50, &states.StateRun{}, Text(&out, TextOptions{})).(*progress)
	p.mu.Lock()
	p.started = p.started.Add(-time.Hour)
	time.Sleep(3 * redrawInterval) // it waits for the lock, to draw
	p.mu.Unlock()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(redrawInterval)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown || terminal.Len() > 0 && !bytes.HasSuffix(terminal.Bytes(), []byte("\r\x1b[K")) {
		t.Errorf("behind the end there is %q", terminal.String())
	}
}
