package runtime_test

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

const deadRun = "00000007-abc123"

// cleaned lists what a run says it has cleaned.
func (o outcome) cleaned() (keys []string) {
	for _, ev := range o.events {
		if ev.Type == states.EventCleaned {
			keys = append(keys, ev.Key)
		}
	}
	slices.Sort(keys)
	return keys
}

// What a dead run has left beside the files that it had begun is removed, and
// nothing else: no other directory is looked into, unless the power was lost.
func TestLeftoversAreRemoved(t *testing.T) {
	const site = `file "/etc/begun" {
	  content = "1"
	}
	file "/etc/ended" {
	  content = "1"
	}
	file "/srv/www/other" {
	  content = "1"
	}
	line "/opt/listed" {
	  line = "x"
	}
	`
	run := compile(t, modules.Standard(), site).Run
	for name, c := range map[string]struct {
		begun states.Begun
		runs  func(string) (*states.StateRun, error)
		gone  []string
	}{
		"killed": {states.Begun{Boot: journal.BootID()}, nil, []string{"/etc/"}},
		"killed, its record is there": {states.Begun{Boot: journal.BootID()},
			func(string) (*states.StateRun, error) { return run, nil }, []string{"/etc/"}},
		"power lost":            {states.Begun{Boot: "before"}, func(string) (*states.StateRun, error) { return run, nil }, []string{"/etc/", "/opt/", "/srv/www/"}},
		"its record is damaged": {states.Begun{Boot: "before"}, func(string) (*states.StateRun, error) { return nil, errors.New("torn") }, []string{"/etc/"}},
		"no longer declared":    {states.Begun{Address: `file["/opt/gone"]`, Key: "/opt/gone"}, nil, []string{"/opt/"}},
		"a tree": {states.Begun{Boot: journal.BootID(), Address: "tree.t", Type: "tree", Key: "/srv"}, nil,
			[]string{"/srv/", "/srv/www/"}},
		"of another site": {states.Begun{Site: "/other"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := host.NewMemory()
			var temps, kept []string
			for _, dir := range []string{"/etc/", "/etc/below/", "/opt/", "/srv/", "/srv/www/"} {
				temp := dir + host.TempName(m.ForRun(deadRun))
				temps = append(temps, temp)
				kept = append(kept, dir+host.TempName(m.ForRun("00000008-abc123")), dir+host.TempName(m), dir+".tenet-"+deadRun+"-mine")
			}
			for _, name := range slices.Concat(temps, kept) {
				if err := m.Add(name, ""); err != nil {
					t.Fatal(err)
				}
			}
			b := c.begun
			if b.Site == "" {
				b.Site = "/site"
			}
			if b.Address == "" {
				b.Address, b.Key = `file["/etc/begun"]`, "/etc/begun"
			}
			b.Type, b.Run = cmp.Or(b.Type, "file"), deadRun
			o := runtime.Options{Host: m, Past: &journal.Ledger{Unknown: []states.Begun{b}}, Origin: "/site", Runs: c.runs}
			var want []string
			for _, temp := range temps {
				if slices.Contains(c.gone, path.Dir(temp)+"/") {
					want = append(want, temp)
				}
			}
			if said := carry(t, runtime.Plan, run, o).cleaned(); !slices.Equal(said, want) {
				t.Errorf("the plan says %q, want %q", said, want)
			}
			for _, temp := range temps {
				if _, err := m.Lstat(temp); err != nil {
					t.Errorf("after the plan: %v", err)
				}
			}
			if said := carry(t, runtime.Apply, run, o).cleaned(); !slices.Equal(said, want) {
				t.Errorf("the apply says %q, want %q", said, want)
			}
			for _, temp := range temps {
				if _, err := m.Lstat(temp); (err == nil) == slices.Contains(want, temp) {
					t.Errorf("%s: %v", temp, err)
				}
			}
			for _, name := range kept {
				if _, err := m.Lstat(name); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// haunted is a machine on which a dead run's program still runs.
type haunted struct {
	*host.Memory
	part  string
	until time.Time // zero: until it is ended
	ended []time.Time
	err   error
}

func (h *haunted) StrayProcesses(run, part string) []int {
	if run != deadRun || part != h.part || len(h.ended) > 0 || !h.until.IsZero() && time.Now().After(h.until) {
		return nil
	}
	return []int{4711}
}

func (h *haunted) EndStrayProcesses(run, part string) error {
	h.ended = append(h.ended, time.Now())
	return h.err
}

func TestAbandonedProgramsEnd(t *testing.T) {
	run := compile(t, modules.Standard(), `command "c" {
	  argv = ["good"]
	}
	`).Run
	run.Secrets = []string{"hunter2"}
	id := run.Invocations[0].Parts[0].ID
	for name, c := range map[string]struct {
		boot  string
		lasts time.Duration
		err   error
		after time.Duration // when the run goes on
		said  bool
	}{
		"stays":           {journal.BootID(), 0, nil, 10 * time.Second, true},
		"cannot be ended": {journal.BootID(), 0, errors.New("immortal by hunter2"), 10 * time.Second, true},
		"ends by itself":  {journal.BootID(), 3 * time.Second, nil, 3 * time.Second, false},
		"another boot":    {"before", 0, nil, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &haunted{Memory: machine(), part: id, err: c.err}
				started := time.Now()
				if c.lasts > 0 {
					h.until = started.Add(c.lasts)
				}
				past := &journal.Ledger{Unknown: []states.Begun{{Site: "/site", Address: "command.c", ID: id, Type: "command", Run: deadRun, Boot: c.boot}}}
				o := runtime.Options{Host: h, Past: past, Origin: "/site"}
				if carry(t, runtime.Plan, run, o); len(h.ended) > 0 || time.Since(started) > time.Second {
					t.Errorf("a plan ends it at %v, after %v", h.ended, time.Since(started))
				}
				got := carry(t, runtime.Apply, run, o)
				if took := time.Since(started); took < c.after || took > c.after+time.Second {
					t.Errorf("it took %v, want %v", took, c.after)
				}
				if said := got.cleaned(); (len(said) > 0) != c.said || c.said && said[0] != "process 4711" {
					t.Errorf("it says %q", said)
				}
				for _, ev := range got.events {
					if ev.Type == states.EventCleaned && (ev.Error != nil) != (c.err != nil) {
						t.Errorf("it says %+v", ev)
					}
					if ev.Error != nil && ev.Error.Message != "immortal by "+journal.Masked {
						t.Errorf("it shows %q", ev.Error.Message)
					}
				}
				if got.row("command.c") != "changed execute" {
					t.Errorf("the part is %q", got.row("command.c"))
				}
			})
		})
	}
}

// The engine hands the run and the part on to what is started, and to what is
// named for a moment.
func TestProgramsCarryTheRun(t *testing.T) {
	folder, err := journal.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	run := compile(t, modules.Standard(), `file "/checked" {
	  content  = "x"
	  validate = ["check", "%s"]
	}
	`).Run
	record, err := folder.Start(t.Context(), journal.Meta{Run: run})
	if err != nil {
		t.Fatal(err)
	}
	m, checked := machine(), ""
	m.Handle("check", func(_ context.Context, c host.Command) (host.Result, error) {
		checked = c.Argv[1]
		left, err := host.Leftovers(m, "/", record.ID())
		if err != nil || !slices.Equal(left, []string{checked}) {
			t.Errorf("while it is checked there are %q, %v", left, err)
		}
		return host.Result{}, nil
	})
	carry(t, runtime.Apply, run, runtime.Options{Host: m, Journal: record})
	if err := record.Finish(journal.End{State: journal.Done}); err != nil {
		t.Error(err)
	}
	if !strings.Contains(checked, record.ID()) {
		t.Errorf("checked %q", checked)
	}
}
