package runner

import (
	"context"
	"errors"
	"testing"

	"github.com/tenetcm/tenet/runtime/become"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/machine"
)

// hurried are accounts of which it is seen what they are told.
type hurried struct {
	told   chan struct{}
	closed error
}

// As implements accounts.
func (h *hurried) As(context.Context, string) (host.Host, error) { return nil, errors.New("nobody") }

// Hurry implements accounts.
func (h *hurried) Hurry() { h.told <- struct{}{} }

// Close implements accounts.
func (h *hurried) Close() error { return h.closed }

// At Ctrl-C nobody waits any longer than a moment for a process that acts as another
// account: without it, such a process could hold up the end of a run for ever.
func TestInterruptHurriesAccounts(t *testing.T) {
	h := &hurried{told: make(chan struct{}, 1), closed: errors.New("it hangs")}
	var of become.Options
	r := &Runner{Executable: "/tenet", accounts: func(o become.Options) accounts {
		of = o
		return h
	}}
	ctx, interrupt := context.WithCancel(t.Context())
	_, done := (&call{Runner: r}).options(ctx, &machine.Job{Become: machine.Become{Password: "right"}}, pastRuns{}, nil)
	if len(h.told) > 0 || of.Program != "/tenet" || of.Password != "right" {
		t.Errorf("%d told, %+v", len(h.told), of)
	}
	interrupt()
	<-h.told
	if err := done(); !errors.Is(err, h.closed) {
		t.Errorf("its end: %v", err)
	}
}
