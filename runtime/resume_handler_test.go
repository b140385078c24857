package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// notifiers are sites with a handler that has run well, and a notifier of it that
// had failed and changes something when the run goes on.
var notifiers = map[string]string{
	"parts": `
		file "/a" {
			content = "a"
			notify  = [state.h]
		}
		command "late" {
			argv   = ["late"]
			notify = [state.h]
		}
	`,
	"block": `
		block "b" {
			notify = [state.h]
			file "/a" {
				content = "a"
			}
			command "late" {
				argv = ["late"]
			}
		}
	`,
	"failure": `
		file "/a" {
			content = "a"
			notify  = [state.h]
		}
		command "late" {
			argv           = ["late"]
		}
		command "after" {
			argv           = ["fails"]
			require        = [command.late]
			notify_failure = [state.h]
		}
	`,
}

const chain = `
	state "h" {
		lazy   = true
		notify = [state.g]
		command "h" {
			argv = ["h"]
		}
	}
	state "g" {
		lazy = true
		command "g" {
			argv = ["g"]
		}
	}
`

// goingOn is a run that goes on again and again, of programs of which late fails as
// long as it is broken.
type goingOn struct {
	*testing.T
	host   *host.Memory
	folder *journal.Folder
	run    *states.StateRun
	ran    []string
	broken bool
}

func newGoingOn(t *testing.T, site string) *goingOn {
	folder, err := journal.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := &goingOn{T: t, host: machine(), folder: folder, run: compile(t, modules.Standard(), site).Run, broken: true}
	for _, name := range []string{"late", "h", "g", "fails"} {
		g.host.Handle(name, func(context.Context, host.Command) (host.Result, error) {
			g.ran = append(g.ran, name)
			if name == "late" && g.broken || name == "fails" {
				return host.Result{ExitCode: 1}, nil
			}
			return host.Result{}, nil
		})
	}
	return g
}

// carry carries the run on; one that dies does so at this event of the handler.
func (g *goingOn) carry(record *journal.Run, dies string) *runtime.Result {
	g.Helper()
	dead := false
	result, err := runtime.Apply(g.Context(), g.run, runtime.Options{
		Host: g.host, Registry: modules.Standard(), Parallel: 1, Journal: record, Past: record.Ledger(), Origin: "/site",
		Events: func(ev states.Event) {
			if !dead && ev.Type == dies && strings.HasPrefix(ev.Address, "state.h") {
				dead = true
				if err := errors.Join(record.Flush(), record.Abandon()); err != nil {
					g.Error(err)
				}
			}
		},
	})
	if dead {
		return result
	}
	if err = errors.Join(err, record.Finish(journal.End{State: journal.Failed, Changed: true})); err != nil {
		g.Fatal(err)
	}
	return result
}

func (g *goingOn) resume() *journal.Run {
	g.Helper()
	record, err := g.folder.Resume(g.Context(), "", journal.Meta{})
	if err != nil {
		g.Fatal(err)
	}
	return record
}

// A handler that has run well runs once more where a run goes on in which another of
// its notifiers, which had failed, changes something; also where the process dies as
// the handler starts, or as its part has ended.
func TestResumedNotifierCallsItsHandlerAgain(t *testing.T) {
	for name, site := range notifiers {
		for _, dies := range []string{"", states.EventStart, states.EventPart} {
			t.Run(fmt.Sprint(name, " ", dies), func(t *testing.T) {
				g := newGoingOn(t, site+chain)
				record, err := g.folder.Start(t.Context(), journal.Meta{Run: g.run, Origin: "/site"})
				if err != nil {
					t.Fatal(err)
				}
				g.carry(record, "")
				if !slices.Equal(g.ran, []string{"late", "h", "g"}) {
					t.Fatalf("at first there ran %q", g.ran)
				}
				g.ran, g.broken = nil, false
				result := g.carry(g.resume(), dies)
				if dies != "" {
					result = g.carry(g.resume(), "")
				}
				want := "late h g"
				if name == "failure" { // which is tried again, and fails again
					want = map[string]string{"": "late fails h g", states.EventStart: "late fails fails h g", states.EventPart: "late fails h fails h g"}[dies]
				}
				if strings.Join(g.ran, " ") != want || !result.Left.Empty() {
					t.Errorf("there ran %q, and %+v is left", g.ran, result.Left)
				}
			})
		}
	}
}
