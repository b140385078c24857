package remote

import (
	"testing"

	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// What a machine may say goes by what it was sent, and small frames count for what they cost here.
func TestBudget(t *testing.T) {
	parts := func(invocations, handlers int) *machine.Job {
		return &machine.Job{Run: &states.StateRun{
			Invocations: []states.Invocation{{Parts: make([]states.Part, invocations)}},
			Handlers:    []states.Invocation{{Parts: make([]states.Part, handlers)}},
		}}
	}
	for _, test := range []struct {
		name string
		op   wire.Op
		sent *machine.Job
		kind wire.Kind
		size int
		want int // frames that are let through; -1: all
	}{
		{"a plan", wire.OpPlan, parts(0, 0), wire.KindEvent, 1<<20 - 64, 64},
		{"a plan of four parts", wire.OpPlan, parts(4, 0), wire.KindEvent, 1<<16 - 64, 64<<4 + 4},
		{"a plan of four handlers", wire.OpPlan, parts(0, 4), wire.KindEvent, 1<<16 - 64, 64<<4 + 4},
		{"an apply", wire.OpApply, parts(0, 0), wire.KindEvent, 1<<20 - 64, 256},
		{"a run of another time", wire.OpLogs, nil, wire.KindEvent, 1<<24 - 64, 16 + 100_000>>8},
		{"empty events", wire.OpPlan, parts(0, 0), wire.KindEvent, 0, 1 << 20},
		{"empty notes", wire.OpPlan, parts(0, 0), wire.KindNote, 1 << 10, 64 << 20 / (64 + 2<<10)},
		{"output", wire.OpExec, parts(0, 0), wire.KindStdout, 64 << 20, -1},
		{"errors", wire.OpExec, parts(0, 0), wire.KindStderr, 64 << 20, -1},
	} {
		b, frame, got := &budget{}, wire.Frame{Kind: test.kind, Data: make([]byte, test.size)}, 0
		if b.parts = unknownParts; test.sent != nil {
			b.parts = partsOf(test.sent)
		}
		for got <= 1<<20 && b.spend(frame, test.op) == nil {
			got++
		}
		if test.want == -1 && got <= 1<<20 || test.want >= 0 && got != test.want {
			t.Errorf("%s: %d frames", test.name, got)
		}
	}
}
