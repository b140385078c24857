package runtime_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// unsyncable is a host that cannot make durable what was done.
type unsyncable struct {
	host.Host
	err error
}

func (h *unsyncable) Sync() error                { return h.err }
func (h *unsyncable) ForRun(id string) host.Host { return &unsyncable{h.Host.ForRun(id), h.err} }

// applyRecorded applies a run with a journal, and gives everything that it says to anybody: its
// error, its events, its report, and all that is in the state folder after its end.
func applyRecorded(t *testing.T, run *states.StateRun, o runtime.Options) (said string, err error) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	dir := t.TempDir()
	folder, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if o.Journal, err = folder.Start(t.Context(), journal.Meta{Run: run}); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	tell := o.Events
	o.Events = func(ev states.Event) {
		text, err := json.Marshal(ev)
		if err != nil {
			t.Error(err)
		}
		all.Write(text)
		if tell != nil {
			tell(ev)
		}
	}
	result, err := runtime.Apply(t.Context(), run, o)
	end := journal.End{State: journal.Failed, Err: err, Changed: true}
	if result != nil {
		end.Report = &result.Report
	}
	for _, err := range []error{err, o.Journal.Finish(end)} {
		if err != nil {
			all.WriteString(err.Error())
		}
	}
	wrong := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all.Write(data)
		return err
	})
	if wrong != nil {
		t.Fatal(wrong)
	}
	return all.String(), err
}

// What ends the run itself quotes no secret, neither to who asked for it nor in its status.
func TestErrorOfTheRunShowsNoSecret(t *testing.T) {
	const site = `
	variable "p" {
	  sensitive = true
	  default   = "hunter2"
	}
	file "/secret" {
	  content = var.p
	}
	`
	for name, o := range map[string]runtime.Options{
		"fault": {Host: host.NewMemory(), Events: func(ev states.Event) {
			if ev.Type == states.EventPart {
				panic("no renderer of hunter2")
			}
		}},
		"host": {Host: &unsyncable{host.NewMemory(), errors.New("cannot sync hunter2")}},
	} {
		t.Run(name, func(t *testing.T) {
			o.Registry = modules.Standard()
			said, err := applyRecorded(t, compile(t, o.Registry, site).Run, o)
			if err == nil || !strings.Contains(said, "the run was stopped: ") {
				t.Fatalf("it ends with %v", err)
			}
			if strings.Contains(said, "hunter2") {
				t.Errorf("it shows the secret: %s", said)
			}
			if name == "host" && !strings.Contains(err.Error(), "cannot sync "+journal.Masked) {
				t.Error(err)
			}
		})
	}
}
