package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// What an agent that was killed has recorded of its run, and not told, the next one tells: each event once, and the end of a run that has ended,
// or that is not gone on with.
func TestKilledAgentHasNotToldAll(t *testing.T) {
	type want struct {
		state journal.State
		held  bool
		ends  string // "ended FAILED" for each item that says so
	}
	for name, c := range map[string]want{
		"it goes on":               {journal.Interrupted, true, "false"},
		"it had ended":             {journal.Done, true, "false"},
		"it had failed":            {journal.Failed, true, "true"},
		"something else is wanted": {journal.Interrupted, false, "true"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				all := []states.Event{{Type: states.EventRun, Seq: 1}, {Type: states.EventBegin, Seq: 2}, {Type: states.EventPart, Seq: 3}, {Type: states.EventBegin, Seq: 4}}
				w.machine.hang, w.machine.events = true, all[:2]
				w.assign("shop", "1")
				w.mustStart()
				w.wait(time.Minute)
				execution := w.machine.execution
				w.disk = w.disk.kill()
				w.end()
				if !c.held {
					execution = executionPrefix + strings.Repeat("0", 16) + "-abcdefgh"
				}
				w.machine.hang, w.machine.events, w.machine.log = false, nil, all
				w.machine.pending = &machine.Status{Status: &journal.Status{Run: "00000001", Execution: execution, Site: "shop", State: c.state, Ended: time.Now(), Counts: &states.Counts{Failed: map[journal.State]int{journal.Failed: 1}[c.state]}}}
				w.mustStart()
				w.wait(time.Minute)
				w.end()
				seqs, ends := "", ""
				for _, i := range w.told() {
					var ev states.Event
					switch {
					case i.Event != nil && i.Event.Run == "00000001":
						if err := json.Unmarshal(i.Event.Event, &ev); err != nil {
							t.Fatal(err)
						}
						seqs += fmt.Sprint(ev.Seq)
					case i.Run != nil && i.Run.Run == "00000001" && !i.Run.Ended.IsZero():
						ends += fmt.Sprint(i.Run.Failed)
					}
				}
				if seqs != "1234" || ends != c.ends {
					t.Errorf("the server has the events %s, and ends that have failed: %s", seqs, ends)
				}
			})
		})
	}
}
