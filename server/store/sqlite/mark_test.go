package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tenetcm/tenet/server/store"
	own "github.com/tenetcm/tenet/server/store/sqlite"
	"github.com/tenetcm/tenet/server/store/storetest"
)

// The whole database is read after an unclean end alone: not by each process that opens it, and not while another one is at work.
func TestCheckAfterCrash(t *testing.T) {
	ctx := context.Background()
	p := placeAt(filepath.Join(t.TempDir(), "store"))
	mark := filepath.Join(p.Name, "running")
	isMarked := func() bool { _, err := os.Lstat(mark); return err == nil }
	isDamageFound := func() bool {
		t.Helper()
		e, err := own.Open(ctx, p.Name)
		if err == nil {
			must(t, e.Close())
		}
		return err != nil
	}
	s := storetest.Active(t, p, store.Options{})
	must(t, s.Write(ctx, func(tx store.Tx) error {
		for i := range 2000 {
			if _, err := tx.Exec("INSERT INTO numbers VALUES ($1, 1)", fmt.Sprintf("some name %d", i)); err != nil {
				return err
			}
		}
		return nil
	}))
	if !isMarked() {
		t.Error("a store that is at work has no mark")
	}
	must(t, s.Close())
	if isMarked() {
		t.Error("a store that was closed has a mark")
	}
	data, err := os.ReadFile(filepath.Join(p.Name, "tenet.db"))
	must(t, err)
	for i := len(data) / 2; i < len(data); i++ {
		data[i] = 0xff
	}
	must(t, os.WriteFile(filepath.Join(p.Name, "tenet.db"), data, 0o600))
	if isDamageFound() {
		t.Error("all of it was read after a clean end")
	}
	must(t, os.WriteFile(mark, nil, 0o600))
	if !isDamageFound() {
		t.Error("the damage is not found after a crash")
	}
	// One that is opened beside the active one looks once that has crashed, and it is its turn.
	must(t, os.Remove(mark))
	active, err := own.Open(ctx, p.Name)
	must(t, err)
	defer active.Close()
	won, err := active.Elect(ctx)
	must(t, err)
	if isDamageFound() {
		t.Error("all of it was read while another process is at work")
	}
	next, err := own.Open(ctx, p.Name)
	must(t, err)
	defer next.Close()
	must(t, won.Release())
	must(t, os.WriteFile(mark, nil, 0o600))
	if _, err := next.Elect(ctx); err == nil {
		t.Error("the damage is not found by who takes over after a crash")
	}
}
