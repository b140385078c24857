package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// doomed is a host on which nothing has an effect once its process is dead.
type doomed struct {
	*gate
	dead   bool
	onLoad func() // before the server loads its configuration
}

var errDoomed = errors.New("the process is dead")

// ForRun is the same: it must not lead to the host within.
func (m *doomed) ForRun(string) host.Host { return m }

func (m *doomed) NoFollow() host.Host                   { return host.NoFollowByPath(m) }
func (m *doomed) OpenDir(path string) (host.Dir, error) { return host.DirByPath(m, path) }

func (m *doomed) WriteFile(ctx context.Context, path string, c host.Content, meta host.Meta) error {
	if m.dead {
		return errDoomed
	}
	return m.gate.WriteFile(ctx, path, c, meta)
}

func (m *doomed) Run(ctx context.Context, c host.Command) (host.Result, error) {
	if m.onLoad != nil && c.Argv[0] == "load" {
		m.onLoad()
	}
	if m.dead {
		return host.Result{}, errDoomed
	}
	return m.gate.Run(ctx, c)
}

// killed applies a site in a process that is killed when the check is tried the
// first time or, early, before the server loads what was changed.
func (g *gate) killed(t *testing.T, folder *journal.Folder, site string, early bool) {
	t.Helper()
	run := compile(t, modules.Standard(), site).Run
	record, err := folder.Start(t.Context(), journal.Meta{Run: run, Origin: "/site"})
	if err != nil {
		t.Fatal(err)
	}
	m := &doomed{gate: g}
	dies := func() {
		if !m.dead {
			m.dead = true
			if err := errors.Join(record.Flush(), record.Abandon()); err != nil {
				t.Error(err)
			}
		}
	}
	if g.onCheck = dies; early {
		m.onLoad = dies
	}
	defer func() { g.onCheck = nil }()
	o := runtime.Options{Host: m, Registry: modules.Standard(), Journal: record, Past: record.Ledger(), Origin: "/site", Parallel: 1}
	_, _ = runtime.Apply(t.Context(), run, o)
	if !m.dead || content(t, g, "/conf") != "bad" || early != (g.loaded == "good") {
		t.Fatalf("it was not killed: %+v", g)
	}
}

// recorded applies a site with a journal, after all that was before.
func (g *gate) recorded(t *testing.T, folder *journal.Folder, site, origin string) outcome {
	t.Helper()
	run := compile(t, modules.Standard(), site).Run
	record, err := folder.Start(t.Context(), journal.Meta{Run: run, Origin: origin})
	if err != nil {
		t.Fatal(err)
	}
	o := carry(t, runtime.Apply, run, runtime.Options{Host: g, Journal: record, Past: record.Ledger(), Origin: origin})
	if err := record.Finish(journal.End{State: journal.Done, Changed: true}); err != nil {
		t.Error(err)
	}
	return o
}

// A run that was killed before a check had ended is checked by the next one, be
// it of the same site, of one that has no such block any more, or of another.
func TestConfirmAfterAKill(t *testing.T) {
	const gone = `file "/after" { content = "later" }
	`
	for name, next := range map[string]struct{ site, origin string }{
		"same site":  {gated("good", ""), "/site"},
		"block gone": {gone, "/site"},
		"other site": {gone, "/other"},
	} {
		for _, passes := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t)
				folder, err := journal.Open(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				g.killed(t, folder, gated("bad", ""), false)
				ledger, err := folder.Ledger()
				if err != nil || len(ledger.Unconfirmed) != 1 || ledger.Unconfirmed[0].Block != "block.gate" {
					t.Fatalf("%s: left %+v, %v", name, ledger, err)
				}
				if passes {
					g.loaded = "good"
				}
				o := g.recorded(t, folder, next.site, next.origin)
				end := o.confirmed()[1]
				if passes != (end.Outcome == states.Changed) || o.Failed {
					t.Errorf("%s: %+v %+v", name, end, end.Error)
				}
				if want := map[bool]string{true: "bad", false: "good"}[passes && next.site == gone]; content(t, g, "/conf") != want || g.loaded != "good" {
					t.Errorf("%s, passes %t: conf %q, loads %q", name, passes, content(t, g, "/conf"), g.loads)
				}
				ledger, err = folder.Ledger()
				if err != nil || len(ledger.Unconfirmed) > 0 {
					t.Errorf("%s: left %+v, %v", name, ledger, err)
				}
			})
		}
	}
}

// A check that passes before the server has loaded what was changed says nothing of
// it: that is put back, and does not come into force when the handler runs at last.
func TestConfirmAfterAKillBeforeTheHandler(t *testing.T) {
	for name, next := range map[string]struct{ site, origin string }{
		"same site":  {gated("bad", ""), "/site"},
		"block gone": {`file "/after" { content = "later" }` + "\n", "/site"},
		"check gone": {`file "/conf" {
			notify = [state.load]
		}
		state "load" {
			lazy = true
			command "load" { argv = ["load"] }
		}
		`, "/site"},
		"other site": {`file "/after" { content = "later" }` + "\n", "/other"},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t)
			folder, err := journal.Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			g.killed(t, folder, gated("bad", ""), true)
			o := g.recorded(t, folder, next.site, next.origin)
			if end := o.confirmed()[1]; end.Outcome != states.Failed || !strings.Contains(end.Error.Message, "state.load has not run") {
				t.Errorf("%s: %+v %+v", name, end, end.Error)
			}
			if content(t, g, "/conf") != "good" || g.loaded != "good" {
				t.Errorf("%s: conf %q, loads %q", name, content(t, g, "/conf"), g.loads)
			}
		})
	}
}

// What cannot be put back waits on, with its backups, until it can.
func TestConfirmThatCannotBePutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		folder, err := journal.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		run := compile(t, modules.Standard(), gated("bad", "")).Run
		record, err := folder.Start(t.Context(), journal.Meta{Run: run, Origin: "/site"})
		if err != nil {
			t.Fatal(err)
		}
		m := &doomed{gate: g}
		g.onCheck = func() { m.dead = true } // the file system is read-only from now on, say
		o := carry(t, runtime.Apply, run, runtime.Options{Host: m, Journal: record, Past: record.Ledger(), Origin: "/site"})
		list := o.confirmed()
		end := list[len(list)-1]
		if !o.Failed || end.Outcome != "" || end.Error == nil || !strings.Contains(end.Error.Message, "/conf: "+errDoomed.Error()) ||
			!strings.Contains(end.Error.Hint, record.Backup().Dir()) {
			t.Errorf("%+v %+v", end, end.Error)
		}
		if err := record.Finish(journal.End{State: journal.Failed, Changed: true}); err != nil {
			t.Error(err)
		}
		g.onCheck = nil
		o = g.recorded(t, folder, "file \"/other\" {}\n", "/site")
		if content(t, g, "/conf") != "good" || g.loaded != "good" {
			t.Errorf("%+v: conf %q, loads %q", o.confirmed(), content(t, g, "/conf"), g.loads)
		}
		if ledger, err := folder.Ledger(); err != nil || len(ledger.Unconfirmed) > 0 {
			t.Errorf("left %+v, %v", ledger, err)
		}
		if _, err := os.Stat(record.Backup().Dir()); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the backups: %v", err)
		}
	})
}

// A handler that runs again has the secrets that it had; where they are lost, it
// does not run.
func TestConfirmKnowsSecrets(t *testing.T) {
	const more = `variable "token" {
		sensitive = true
		default   = "s3cr3t-token"
	}
	state "load" {
		lazy = true
		command "load" { argv = ["load"] }
		file "/token" { content = var.token }
	}
	`
	const load = `state "load" {
		lazy = true
		command "load" { argv = ["load"] }
	}
	`
	site := strings.Replace(gated("bad", ""), load, "", 1) + more
	for _, lost := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t)
			dir := t.TempDir()
			folder, err := journal.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			g.killed(t, folder, site, false)
			if err := g.Remove("/token"); err != nil {
				t.Fatal(err)
			}
			if lost {
				found, err := filepath.Glob(filepath.Join(dir, "runs/*/secrets.json"))
				if err != nil || len(found) != 1 {
					t.Fatal(found, err)
				}
				if err := os.Remove(found[0]); err != nil {
					t.Fatal(err)
				}
			}
			o := g.recorded(t, folder, "file \"/other\" {}\n", "/site")
			end := o.confirmed()[1]
			if _, err := g.Lstat("/token"); lost != (err != nil) || content(t, g, "/conf") != "good" {
				t.Errorf("lost %t: %v, %+v %+v", lost, err, end, end.Error)
			}
			if !lost && content(t, g, "/token") != "s3cr3t-token" {
				t.Errorf("token %q", content(t, g, "/token"))
			}
			if lost != strings.Contains(end.Error.Message, "their secrets are not on record: state.load") {
				t.Errorf("%+v", end.Error)
			}
			for _, ev := range o.events {
				if strings.Contains(fmt.Sprintf("%+v", ev), "s3cr3t") {
					t.Errorf("shown: %+v", ev)
				}
			}
		})
	}
}
