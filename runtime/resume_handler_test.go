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
	host     *host.Memory
	registry *states.Registry
	folder   *journal.Folder
	run      *states.StateRun
	ran      []string
	broken   bool
}

func newGoingOn(t *testing.T, registry *states.Registry, site string) *goingOn {
	folder, err := journal.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := &goingOn{T: t, host: machine(), registry: registry, folder: folder, run: compile(t, registry, site).Run, broken: true}
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

// carry carries the run on; one that dies does so at this event of the handler, or of the lever.
func (g *goingOn) carry(record *journal.Run, dies string) *runtime.Result {
	g.Helper()
	dead := false
	result, err := runtime.Apply(g.Context(), g.run, runtime.Options{
		Host: g.host, Registry: g.registry, Parallel: 1, Journal: record, Past: record.Ledger(), Origin: "/site",
		Events: func(ev states.Event) {
			if !dead && ev.Type == dies && (strings.HasPrefix(ev.Address, "state.h") || ev.Part == "lever") {
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
				g := newGoingOn(t, modules.Standard(), site+chain)
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

// lever is an act that cannot look whether it is needed in the first attempt of a second process.
type lever struct {
	Name string `state:"name,key" doc:"Name."`
}

// An act that an earlier process has begun, and that proves to be done, counts as changed in
// whichever attempt that proves: its handler runs.
func TestResumedActThatIsDoneNotifies(t *testing.T) {
	calls := 0
	registry := registryWith(states.Define(states.Type[lever]{
		Name: "lever", Doc: "A test.", NoAbsent: "It acts.",
		Act: func(ctx context.Context, h host.Host, want lever) (bool, lever, error) {
			switch calls++; calls {
			case 1: // on the shadow; then the process dies
				_, err := h.Run(ctx, host.Command{Argv: []string{"good"}})
				return true, want, err
			case 2:
				return false, want, errors.New("it cannot look")
			}
			return false, want, nil
		},
	}))
	g := newGoingOn(t, registry, `
		lever "l" {
			retry  = { attempts = 2 }
			notify = [state.h]
		}
		state "h" {
			lazy = true
			command "h" { argv = ["h"] }
		}
	`)
	record, err := g.folder.Start(t.Context(), journal.Meta{Run: g.run, Origin: "/site"})
	if err != nil {
		t.Fatal(err)
	}
	g.carry(record, states.EventBegin)
	if calls != 1 || len(g.ran) > 0 {
		t.Fatalf("%d calls, and ran %q", calls, g.ran)
	}
	g.carry(g.resume(), "")
	if calls != 3 || !slices.Equal(g.ran, []string{"h"}) {
		t.Errorf("%d calls, and ran %q", calls, g.ran)
	}
}
