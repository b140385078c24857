package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/journal"
)

func TestHold(t *testing.T) {
	f := open(t, t.TempDir())
	if h, err := f.Held(); h != nil || err != nil {
		t.Errorf("held: %+v, %v", h, err)
	}
	if err := f.Hold(journal.Hold{}); err == nil {
		t.Error("a hold without a reason")
	}
	running := start(t, f, meta())
	until := time.Now().Add(time.Hour).UTC()
	if err := f.Hold(journal.Hold{Reason: "the disk is replaced", Until: until, By: "alice"}); err != nil {
		t.Fatal(err)
	}
	finish(t, running, journal.End{State: journal.Done}) // a run in progress goes on
	_, err := f.Start(t.Context(), meta())
	var held *journal.HeldError
	if !errors.As(err, &held) || held.Reason != "the disk is replaced" || held.Since.IsZero() || !strings.Contains(err.Error(), "by alice: the disk is replaced") {
		t.Fatalf("started: %v", err)
	}
	if f.Holder() != nil {
		t.Error("the lock is kept")
	}
	if s, err := f.Status(""); err != nil || s.State != journal.Done {
		t.Errorf("status %+v, %v", s, err)
	}
	if was, err := f.Release(); err != nil || was == nil || was.By != "alice" {
		t.Errorf("released %+v, %v", was, err)
	}
	if was, err := f.Release(); err != nil || was != nil {
		t.Errorf("released twice: %+v, %v", was, err)
	}
	finish(t, start(t, f, meta()), journal.End{State: journal.Done})
}

// A hold that is over is none; one that cannot be read is in force until it is
// released.
func TestHoldThatIsOver(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	if err := f.Hold(journal.Hold{Reason: "x", Until: time.Now().Add(-time.Second)}); err != nil {
		t.Fatal(err)
	}
	if h, err := f.Held(); h != nil || err != nil {
		t.Errorf("held: %+v, %v", h, err)
	}
	finish(t, start(t, f, meta()), journal.End{State: journal.Done})
	if err := os.WriteFile(filepath.Join(dir, "hold"), []byte(`{"rea`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Start(t.Context(), meta()); err == nil || !strings.Contains(err.Error(), "on hold") {
		t.Errorf("started: %v", err)
	}
	if _, err := f.Release(); err != nil {
		t.Error(err)
	}
	finish(t, start(t, f, meta()), journal.End{State: journal.Done})
}

// An apply that starts meanwhile does not take what is just written for what a dead
// process has left.
func TestHoldBesideAStart(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	swept := false
	g, err := journal.OpenWith(dir, journal.Options{Intercept: func(op journal.Op) error {
		if op.Kind == journal.OpRename && !swept {
			swept = true
			finish(t, start(t, f, meta()), journal.End{State: journal.Done})
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Hold(journal.Hold{Reason: "x"}); err != nil {
		t.Fatal(err)
	}
	if h, err := f.Held(); err != nil || h == nil || !swept {
		t.Errorf("held: %+v, %v", h, err)
	}
}
