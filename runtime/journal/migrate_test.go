package journal_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/runtime/journal"
)

// oldFolder unpacks a folder of format 1.
func oldFolder(t *testing.T) (dir string) {
	t.Helper()
	dir = inMemory(t)
	archive, err := txtar.ParseFile("testdata/state1.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range archive.Files {
		path := filepath.Join(dir, file.Name)
		data := file.Data
		if strings.HasPrefix(file.Name, "runs/00000003") && strings.HasSuffix(file.Name, "events.jsonl") {
			data = bytes.TrimSuffix(data, []byte("\n")) // its last line is torn
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// leftByOld is what the folder of format 1 says, as the first nameless site finds it.
func leftByOld() []string {
	return []string{
		"/srv/site owes state.two to state.conf.file.a, changed",
		"/srv/site owes state.two to state.conf.file.a2, changed",
		"/srv/site owes command.h to file.q, unknown",
		"/srv/site began file.q",
	}
}

func format(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "format"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A folder of format 1 can be read; an apply makes it one of today's, and what the
// old runs have left is known.
func TestMigration(t *testing.T) {
	dir := oldFolder(t)
	f, err := journal.OpenWith(dir, journal.Options{Program: "v9"})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "before", ledger(t, f).Of("/srv/site"), leftByOld()...)
	if list, err := f.List(); err != nil || len(list) != 3 || list[0].State != journal.Done || list[1].State != journal.Failed || list[2].State != journal.Interrupted {
		t.Errorf("list %+v, %v", list, err)
	}
	if format(t, dir) != "tenet.state/1\n" {
		t.Error("looking has changed the format")
	}
	r, err := f.Start(t.Context(), meta())
	if err != nil {
		t.Fatal(err)
	}
	if got := format(t, dir); got != "tenet.state/3\nwritten by tenet v9\n" {
		t.Errorf("format %q", got)
	}
	same(t, "at the start", r.Ledger().Of("/srv/site"), leftByOld()...)
	finish(t, r, journal.End{State: journal.Done})
	same(t, "afterwards", ledger(t, f), leftByOld()...)
	if r.ID()[:8] != "00000004" {
		t.Errorf("ID %s", r.ID())
	}
}

// A migration that was cut short is made good by the next apply, wherever it was.
func TestMigrationThatDies(t *testing.T) {
	for k := int64(1); ; k++ {
		dir := oldFolder(t)
		var n atomic.Int64
		f, err := journal.OpenWith(dir, journal.Options{Intercept: func(journal.Op) error {
			if n.Add(1) >= k {
				return syscall.EIO
			}
			return nil
		}})
		if err == nil {
			_, err = f.Start(t.Context(), meta())
		}
		if err == nil {
			if k < 8 {
				t.Errorf("only %d operations", k)
			}
			return // the run itself is begun from here on
		}
		r := start(t, open(t, dir), meta())
		same(t, "left", r.Ledger().Of("/srv/site"), leftByOld()...)
		if !strings.HasPrefix(format(t, dir), journal.Format+"\n") {
			t.Errorf("format %q", format(t, dir))
		}
		finish(t, r, journal.End{State: journal.Done})
	}
}

// A program of format 1 that applies just now is not run over.
func TestMigrationBesideAnOldProgram(t *testing.T) {
	dir := oldFolder(t)
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, dir).Start(t.Context(), meta()); err == nil || !strings.Contains(err.Error(), "older version of tenet applies") {
		t.Errorf("started: %v", err)
	}
	if format(t, dir) != "tenet.state/1\n" {
		t.Error("the format has changed")
	}
}

// A newer folder is refused, and who wrote it is named.
func TestNewerFormatIsRefused(t *testing.T) {
	for _, c := range []struct{ text, by string }{
		{"tenet.state/4\nwritten by tenet 4.5.6\n", `tenet "4.5.6"`},
		{"tenet.state/4\n", "an unknown version of tenet"},
		{"something\nelse\n", "an unknown version of tenet"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "format"), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := journal.Open(dir); err == nil || !strings.Contains(err.Error(), c.by+" has written") {
			t.Errorf("%q: %v", c.text, err)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "format"), []byte("\x00\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, dir) // a power lost as it was made
	if !strings.HasPrefix(format(t, dir), journal.Format) {
		t.Errorf("format %q", format(t, dir))
	}
}
