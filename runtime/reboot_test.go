package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

const rebooting = `
file "/before" {}
command "beside" {
	argv = ["slow"]
}
reboot "kernel" {
	message = "why not"
	require = [file["/before"]]
}
file "/after" {
	require = [reboot.kernel]
}
`

// rebooter is a machine that is told to start anew, and what is prepared for that.
type rebooter struct {
	*host.Memory
	t              *testing.T
	folder         *journal.Folder
	slow           atomic.Int32 // programs that run
	told           int          // how often it was told to start anew
	fails          bool         // systemctl does
	prepared, back int
	refused        error // why nothing can be prepared
}

func newRebooter(t *testing.T) *rebooter {
	folder, err := journal.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &rebooter{Memory: machine(), t: t, folder: folder}
	if err := r.Add("/run/systemd/system/x", ""); err != nil {
		t.Fatal(err)
	}
	r.starts(journal.BootID())
	r.Handle("slow", func(context.Context, host.Command) (host.Result, error) {
		r.slow.Add(1)
		defer r.slow.Add(-1)
		return host.Result{}, nil
	})
	r.Handle("systemctl", func(_ context.Context, c host.Command) (host.Result, error) {
		if got := fmt.Sprint(c.Argv); got != "[systemctl reboot --message=why not]" || r.slow.Load() > 0 {
			t.Errorf("%s while %d programs run", got, r.slow.Load())
		}
		r.told++
		if r.prepared == r.back {
			t.Error("nothing is prepared")
		}
		if r.fails {
			return host.Result{ExitCode: 1}, nil
		}
		return host.Result{}, nil
	})
	return r
}

// starts lets the machine be in this boot from now on.
func (r *rebooter) starts(boot string) {
	if err := r.Add("/proc/sys/kernel/random/boot_id", boot+"\n"); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rebooter) carry(record *journal.Run, run *states.StateRun, prepares bool) outcome {
	r.t.Helper()
	o := runtime.Options{Host: r.Memory, Journal: record, Past: record.Ledger(), Origin: "/site"}
	if prepares {
		o.Continue = func(context.Context) (func() error, error) {
			r.prepared++
			return func() error { r.back++; return nil }, r.refused
		}
	}
	out := carry(r.t, runtime.Apply, run, o)
	if out.Rebooting {
		if err := errors.Join(record.Pause(journal.End{Counts: out.Counts}), record.Abandon()); err != nil {
			r.t.Fatal(err)
		}
		return out
	}
	state := journal.Done
	if out.Failed {
		state = journal.Failed
	}
	if err := record.Finish(journal.End{State: state, Counts: out.Counts, Report: &out.Report, Changed: true}); err != nil {
		r.t.Fatal(err)
	}
	return out
}

func (r *rebooter) apply(prepares bool) outcome {
	r.t.Helper()
	run := compile(r.t, modules.Standard(), rebooting).Run
	record, err := r.folder.Start(r.t.Context(), journal.Meta{Run: run, Origin: "/site"})
	if err != nil {
		r.t.Fatal(err)
	}
	return r.carry(record, run, prepares)
}

func (r *rebooter) resume() outcome {
	r.t.Helper()
	record, err := r.folder.Resume(r.t.Context(), "", journal.Meta{})
	if err != nil {
		r.t.Fatal(err)
	}
	return r.carry(record, record.Resumed().Run, true)
}

func TestRebootGoesOn(t *testing.T) {
	r := newRebooter(t)
	got := r.apply(true)
	if !got.Rebooting || !got.Interrupted || r.told != 1 || r.prepared != 1 || r.back != 0 {
		t.Fatalf("%+v, told %d times, %d prepared", got.Result, r.told, r.prepared)
	}
	if s, err := r.folder.Status(""); err != nil || s.State != journal.Rebooting {
		t.Errorf("%+v, %v", s, err)
	}
	if row := got.row("reboot.kernel"); row != "no end" {
		t.Errorf("the part is %q", row)
	}
	// Somebody is too early, and the machine is told again.
	if got = r.resume(); !got.Rebooting || r.told != 2 || r.prepared != 2 {
		t.Fatalf("%+v, told %d times", got.Result, r.told)
	}
	r.starts("another boot")
	got = r.resume()
	got.want(t, map[string]string{
		"reboot.kernel":   "changed execute (run " + got.Report.Run + " began it, and it is done)",
		`file["/after"]`:  "changed create",
		`file["/before"]`: "no end", // of this process
	})
	if got.Failed || got.Interrupted || r.told != 2 || got.Counts.Changed != 4 || !got.Report.Ready {
		t.Errorf("%+v, told %d times", got.Result, r.told)
	}
	if !got.Left.Empty() {
		t.Errorf("there is left %+v", got.Left)
	}
	if s, err := r.folder.Status(""); err != nil || s.State != journal.Done {
		t.Errorf("%+v, %v", s, err)
	}
}

// An apply that comes before the run goes on knows that the machine has started.
func TestRebootIsKnownToTheNextApply(t *testing.T) {
	r := newRebooter(t)
	if got := r.apply(true); !got.Rebooting {
		t.Fatal(got.Result)
	}
	r.starts("another boot")
	got := r.apply(true)
	if row := got.row("reboot.kernel"); !strings.HasPrefix(row, "changed execute (run ") || r.told != 1 || got.Failed {
		t.Errorf("%q, told %d times", row, r.told)
	}
	_, err := r.folder.Resume(t.Context(), "00000001", journal.Meta{})
	if not, ok := errors.AsType[*journal.NotResumableError](err); !ok || !strings.Contains(not.Message, "has applied the site since") {
		t.Errorf("error %v", err)
	}
}

// Where nothing would go on afterwards, the machine is not told.
func TestRebootIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		prepares, fails bool
		refused         error
		told, back      int
		says            string
	}{
		"nothing goes on":     {says: "nothing would go on"},
		"it cannot be put":    {prepares: true, refused: errors.New("read-only"), says: "read-only"},
		"the machine refuses": {prepares: true, fails: true, told: 1, back: 1, says: "exit status 1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRebooter(t)
			r.fails, r.refused = c.fails, c.refused
			got := r.apply(c.prepares)
			if got.Rebooting || !got.Failed || r.told != c.told || r.back != c.back {
				t.Errorf("%+v, told %d times, %d taken back", got.Result, r.told, r.back)
			}
			if ev := got.parts["reboot.kernel"]; ev.Error == nil || !strings.Contains(ev.Error.Message, c.says) {
				t.Errorf("it says %+v", ev.Error)
			}
			if row := got.row(`file["/after"]`); row != "blocked (by reboot.kernel)" {
				t.Errorf("what requires it is %q", row)
			}
		})
	}
}

func TestPlanOfReboot(t *testing.T) {
	r := newRebooter(t)
	got := plan(t, r.Memory, rebooting)
	got.want(t, map[string]string{"reboot.kernel": "execute maybe (command.beside, whose effects cannot be foreseen, may come before it)"})
	if row := got.row(`file["/after"]`); !strings.HasPrefix(row, "create") || !strings.Contains(row, "reboot.kernel") || r.told > 0 {
		t.Errorf("what follows is %q; told %d times", row, r.told)
	}
}
