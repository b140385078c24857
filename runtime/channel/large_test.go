package channel_test

import (
	"bytes"
	"testing"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/channel"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/remote"
)

// What a packet holds goes through, signature and all; what it does not is refused before it is sent, with what helps.
func TestLargeRequests(t *testing.T) {
	w := newWorld(t, serving(t))
	m := &remote.Machine{Name: "subject", Dial: w.dial, Registry: modules.Standard()}
	if _, err := m.Exec(t.Context(), machine.Exec{Argv: []string{"true"}, Stdin: bytes.Repeat([]byte("x"), 9_350_000)}, machine.Observer{}); err != nil {
		t.Errorf("what a packet holds is refused: %v", err)
	}
	_, err := m.Exec(t.Context(), machine.Exec{Argv: []string{"true"}, Stdin: bytes.Repeat([]byte("x"), 9_500_000)}, machine.Observer{})
	if diag.CodeOf(err) != channel.CodeTooLarge || diag.HintOf(err) == "" {
		t.Errorf("what no packet holds ends with %v", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	most := 0
	for _, data := range w.passed {
		most = max(most, len(data))
	}
	if most > link.MaxPacket || most < channel.MaxRequest*9/10 {
		t.Errorf("a packet had %d bytes", most)
	}
}
