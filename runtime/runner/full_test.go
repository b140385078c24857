package runner

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/remote"
	"github.com/tenetcm/tenet/states"
)

// A disk that becomes full, whenever it does, makes an error of one line, which tells that
// once: more lines would be shown as "\n" within the line that they are part of.
func TestFullDiskIsOneLine(t *testing.T) {
	for name, act := range map[string]func(context.Context, *Runner) error{
		"apply": func(ctx context.Context, r *Runner) error { return applyNothing(ctx, r, nil) },
		"stale": func(ctx context.Context, r *Runner) error {
			err := applyNothing(ctx, r, []states.Event{{Address: "file.gone", Outcome: states.Changed}})
			if stale, ok := errors.AsType[*machine.Error](err); ok && stale.Code == machine.CodeStale && !errors.Is(err, syscall.ENOSPC) {
				return nil
			}
			return err
		},
		"clean": func(ctx context.Context, r *Runner) error {
			_, err := r.Clean(ctx, machine.CleanRequest{})
			return err
		},
		"hold": func(ctx context.Context, r *Runner) error {
			if _, err := r.Hold(ctx, machine.HoldRequest{Reason: "x"}); err != nil {
				return err
			}
			_, err := r.Unhold(ctx)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			changes := int64(0)
			for fillsDisk(t, changes, act) {
				changes++
			}
			if changes == 0 {
				t.Error("it changes nothing")
			}
		})
	}
}

// A machine whose records cannot all be removed says which are gone, here and over a connection.
func TestCleanThatFailsOnItsWay(t *testing.T) {
	for _, remotely := range []bool{false, true} {
		h, err := host.NewLocal(host.LocalOptions{Root: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		r := &Runner{Host: h, StateDir: t.TempDir(), Registry: states.NewRegistry()}
		for range 4 {
			if err := applyNothing(t.Context(), r, nil); err != nil {
				t.Fatal(err)
			}
		}
		history, err := r.History(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		first, second := history[0].Run, history[1].Run
		r.intercept = func(op journal.Op) error {
			if strings.HasSuffix(op.Path, second) {
				return &fs.PathError{Op: "rename", Path: op.Path, Err: syscall.EIO}
			}
			return nil
		}
		var m machine.Machine = r
		if remotely {
			m = &remote.Machine{Name: "m", Dial: Local(r)}
		}
		done, err := m.Clean(t.Context(), machine.CleanRequest{Keep: 1})
		if err == nil || !strings.Contains(err.Error(), "input/output error") || done == nil || !slices.Equal(done.Removed, []string{first}) {
			t.Errorf("over a connection %t: %+v, %v", remotely, done, err)
		}
	}
}

// fillsDisk acts on a state folder that has two runs, and takes so many changes more. It
// reports whether there were more.
func fillsDisk(t *testing.T, changes int64, act func(context.Context, *Runner) error) bool {
	h, err := host.NewLocal(host.LocalOptions{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	r := &Runner{Host: h, StateDir: t.TempDir(), Registry: states.NewRegistry()}
	for range 2 {
		if err := applyNothing(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
	}
	var left atomic.Int64
	left.Store(changes)
	r.intercept = func(op journal.Op) error {
		if left.Add(-1) < 0 {
			return &fs.PathError{Op: "write", Path: op.Path, Err: syscall.ENOSPC}
		}
		return nil
	}
	if err = act(t.Context(), r); err == nil {
		return left.Load() < 0 // what is a cache may be missing
	}
	text := err.Error()
	if !errors.Is(err, syscall.ENOSPC) || strings.Contains(text, "\n") || strings.Count(text, "no space left") != 1 {
		t.Errorf("after %d changes it ends with %q", changes, text)
	}
	return left.Load() < 0
}

// applyNothing applies a site without parts, as rows have shown it if there are any.
func applyNothing(ctx context.Context, r *Runner, rows []states.Event) error {
	run := &states.StateRun{Format: states.Format, Host: "x"}
	_, err := r.Apply(ctx, &machine.Job{Run: run, Rows: rows}, machine.Observer{})
	return err
}

// What an error quotes may be long; what is sent of it is not.
func TestFailureIsBounded(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	f := failureOf(&diag.HintError{Err: errors.New(long), Hint: long})
	if len(f.Message) > diag.MaxText || len(f.Hint) > diag.MaxText || !strings.HasPrefix(f.Message, "xxx") {
		t.Errorf("%d and %d bytes", len(f.Message), len(f.Hint))
	}
}
