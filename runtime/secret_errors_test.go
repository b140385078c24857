package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/lang/diag"
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

// However much the error of a run quotes, it can be read.
func TestErrorOfTheRunIsBounded(t *testing.T) {
	h := &unsyncable{host.NewMemory(), errors.New(strings.Repeat("x", 1<<20))}
	run := compile(t, modules.Standard(), "file \"/a\" {}\n").Run
	said, err := applyRecorded(t, run, runtime.Options{Host: h, Registry: modules.Standard()})
	if err == nil || len(err.Error()) > diag.MaxText || strings.Contains(said, strings.Repeat("x", diag.MaxText)) {
		t.Errorf("it says %d bytes", len(said))
	}
}

// quotedSecret is the module of a part that quotes a secret where another attribute is wrong.
type quotedSecret struct {
	Name  string `state:"name,key" doc:"A name."`
	Text  string `state:"text,sensitive" doc:"A secret."`
	Other string `state:"other" doc:"What is wrong."`
}

// quoting is the standard modules and one that finds its values wrong once this is wanted.
func quoting(wrong *bool) *states.Registry {
	list := []*states.Module{states.Define(states.Type[quotedSecret]{
		Name: "quoted", Doc: "A test.",
		Validate: func(want quotedSecret) error {
			if !*wrong {
				return nil
			}
			return errors.Join(states.InvalidAttribute("text", "it is wrong", ""),
				states.InvalidAttribute("other", "it is not as in\n"+want.Text+"\nat all", ""))
		},
		Read:   func(context.Context, host.Host, quotedSecret) (*quotedSecret, error) { return nil, nil },
		Write:  func(context.Context, host.Host, *quotedSecret, quotedSecret) error { return nil },
		Remove: func(context.Context, host.Host, quotedSecret) error { return nil },
	})}
	for _, name := range modules.Standard().Names() {
		list = append(list, modules.Standard().Lookup(name))
	}
	return states.NewRegistry(list...)
}

// keptBad is a host that does not let /conf be put back, and says why in several lines.
type keptBad struct {
	host.Host
	why error
}

func (h *keptBad) ForRun(id string) host.Host { return &keptBad{h.Host.ForRun(id), h.why} }
func (h *keptBad) NoFollow() host.Host        { return &keptBad{h.Host.NoFollow(), h.why} }

func (h *keptBad) OpenDir(path string) (host.Dir, error) {
	if info, err := h.Lstat("/conf"); err == nil && info.Size == int64(len("bad")) { // what is to be put back
		return nil, h.why
	}
	return h.Host.OpenDir(path)
}

// The lines of a secret are too short to be looked for one by one, so it is hidden before errors
// become one line: in the report, the events, the records and the error of the run.
func TestSecretOfShortLinesStaysHidden(t *testing.T) {
	lines := []string{"q1w2", "e3r4", "t5z6"}
	secret := strings.Join(lines, "\n")
	why := errors.New("it is not as in\n" + secret + "\nat all")
	wrong := false
	for name, c := range map[string]struct {
		host func(*gate) host.Host
		site string
		want string
	}{
		"run":    {func(g *gate) host.Host { return &unsyncable{g, why} }, `file "/a" {}`, "the run was stopped: it is not as in; (sensitive); at all"},
		"values": {func(g *gate) host.Host { return g }, "quoted \"q\" {\n text = var.p\n other = \"x\"\n}\n", `it is not as in\n(sensitive)\nat all`},
		"undo":   {func(g *gate) host.Host { return &keptBad{g, why} }, strings.Replace(gated("bad", ""), "10s", "1ms", 1), "it is not as in; (sensitive); at all"},
	} {
		t.Run(name, func(t *testing.T) {
			site := "variable \"p\" {\n sensitive = true\n default = " + strconv.Quote(secret) + "\n}\nfile \"/secret\" {\n content = var.p\n}\n" + c.site
			wrong = false
			registry := quoting(&wrong)
			run := compile(t, registry, site).Run
			wrong = true
			said, _ := applyRecorded(t, run, runtime.Options{Host: c.host(newGate(t)), Registry: registry})
			for _, line := range lines {
				if at := strings.Index(said, line); at >= 0 {
					t.Errorf("it shows %s: %s", line, said[max(0, at-300):min(len(said), at+100)])
				}
			}
			if !strings.Contains(said, c.want) {
				t.Errorf("it does not say %q: %s", c.want, said)
			}
		})
	}
}
