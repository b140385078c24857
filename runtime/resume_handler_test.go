package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// A handler that has run well runs once more where a run goes on in which another of
// its notifiers, which had failed, changes something; also where the process dies as
// the handler starts.
func TestResumedNotifierCallsItsHandlerAgain(t *testing.T) {
	for _, c := range []struct{ name, site string }{
		{"parts", `
			file "/a" {
				content = "a"
				notify  = [state.h]
			}
			command "late" {
				argv   = ["late"]
				notify = [state.h]
			}
		`},
		{"block", `
			block "b" {
				notify = [state.h]
				file "/a" {
					content = "a"
				}
				command "late" {
					argv = ["late"]
				}
			}
		`},
		{"failure", `
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
		`},
	} {
		for _, dies := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, " ", dies), func(t *testing.T) {
				run := compile(t, modules.Standard(), c.site+`
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
				`).Run
				folder, err := journal.Open(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				m := machine()
				var ran []string
				broken := true
				for _, name := range []string{"late", "h", "g", "fails"} {
					m.Handle(name, func(context.Context, host.Command) (host.Result, error) {
						ran = append(ran, name)
						if name == "late" && broken || name == "fails" {
							return host.Result{ExitCode: 1}, nil
						}
						return host.Result{}, nil
					})
				}
				carry := func(record *journal.Run, dies bool) *runtime.Result {
					t.Helper()
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					result, err := runtime.Apply(ctx, run, runtime.Options{
						Host: m, Registry: modules.Standard(), Parallel: 1, Journal: record, Past: record.Ledger(), Origin: "/site",
						Events: func(ev states.Event) {
							if dies && ev.Type == states.EventStart && states.WithoutWave(ev.Address) == "state.h" {
								cancel()
							}
						},
					})
					if err != nil {
						t.Fatal(err)
					}
					if dies {
						err = errors.Join(record.Flush(), record.Abandon())
					} else {
						err = record.Finish(journal.End{State: journal.Failed, Changed: true})
					}
					if err != nil {
						t.Fatal(err)
					}
					return result
				}
				resume := func() *journal.Run {
					t.Helper()
					record, err := folder.Resume(t.Context(), "", journal.Meta{})
					if err != nil {
						t.Fatal(err)
					}
					return record
				}
				record, err := folder.Start(t.Context(), journal.Meta{Run: run, Origin: "/site"})
				if err != nil {
					t.Fatal(err)
				}
				carry(record, false)
				if !slices.Equal(ran, []string{"late", "h", "g"}) {
					t.Fatalf("at first there ran %q", ran)
				}
				ran, broken = nil, false
				result := carry(resume(), dies)
				if dies {
					result = carry(resume(), false)
				}
				want := []string{"late", "h", "g"}
				if c.name == "failure" {
					want = slices.Insert(want, 1, "fails")
					if dies { // which is tried again
						want = slices.Insert(want, 2, "fails")
					}
				}
				if !slices.Equal(ran, want) || !result.Left.Empty() {
					t.Errorf("there ran %q, and %+v is left", ran, result.Left)
				}
				carry(resume(), false)
			})
		}
	}
}
