package runtime_test

import (
	"context"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// Content that a killed run has put in place is checked though it reads as wanted,
// until it passes.
func TestContentIsCheckedThatADeadRunPutInPlace(t *testing.T) {
	h, valid := machine(), false
	h.Handle("check", func(context.Context, host.Command) (host.Result, error) {
		if valid {
			return host.Result{}, nil
		}
		return host.Result{ExitCode: 1, Stderr: []byte("line 1: what?\n")}, nil
	})
	write(t, h, "/conf", "wanted")
	run := compile(t, modules.Standard(), `file "/conf" {
		content  = "wanted"
		validate = ["check"]
	}
	`).Run
	const address = `file["/conf"]`
	past := &journal.Ledger{Unknown: []states.Begun{{Site: "/site", Address: address, Type: "file", Key: "/conf", Run: "00000001-aaaaaa"}}}
	again := func() outcome {
		o := carry(t, runtime.Apply, run, runtime.Options{Host: h, Past: past, Origin: "/site"})
		past = o.Left
		return o
	}
	for range 2 {
		o := again()
		if f := o.parts[address].Error; o.parts[address].Outcome != states.Unknown || f == nil ||
			!strings.Contains(f.Message, "run 00000001-aaaaaa has put it in place") || !strings.Contains(f.Message, "what?") {
			t.Fatalf("it says %+v %+v", o.parts[address], f)
		}
		if len(past.Unknown) != 1 || !o.Failed || o.Report.Ready {
			t.Errorf("left %+v, %+v", past, o.Result)
		}
		past.Unknown[0].Run = "00000001-aaaaaa"
	}
	valid = true
	if o := again(); o.parts[address].Outcome != states.Unchanged || !past.Empty() {
		t.Errorf("it says %+v, and leaves %+v", o.parts[address], past)
	}
}
