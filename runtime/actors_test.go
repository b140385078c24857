package runtime_test

import (
	"context"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
)

// asAnother is a machine as another account acts on it: its own number, its own
// programs, and paths that it may not see or write.
type asAnother struct {
	*host.Memory
	uid    int
	denied string
	town   *town
}

func (a asAnother) Actor() (uid, gid int) { return a.uid, a.uid }

func (a asAnother) Sync() error {
	a.town.mu.Lock()
	defer a.town.mu.Unlock()
	a.town.synced++
	return nil
}

func (a asAnother) does(what string) {
	a.town.mu.Lock()
	defer a.town.mu.Unlock()
	a.town.did = append(a.town.did, what)
}

func (a asAnother) Access(path string) host.Access {
	return host.Access{Names: a.denied == "" || !strings.HasPrefix(path, a.denied)}
}

func (a asAnother) WriteFile(ctx context.Context, path string, c host.Content, m host.Meta) error {
	if !a.Access(path).Names {
		return &fs.PathError{Op: "write", Path: path, Err: fs.ErrPermission}
	}
	if m.UID == nil {
		m.UID = &a.uid
	}
	a.does("write " + path)
	return a.Memory.WriteFile(ctx, path, c, m)
}

func (a asAnother) Run(ctx context.Context, c host.Command) (host.Result, error) {
	a.does("run " + c.Argv[0])
	return a.Memory.Run(ctx, c)
}

func (a asAnother) Query(ctx context.Context, q host.Query) (host.Result, error) {
	a.does("query " + q.Argv[0])
	return a.Memory.Query(ctx, q)
}

// town is a machine with accounts, and who became whom there.
type town struct {
	*host.Memory
	denied string
	err    error

	mu     sync.Mutex // what is below comes from several goroutines
	asked  []string
	did    []string
	synced int
}

func newTown(t *testing.T) *town {
	m := machine()
	mkdir(t, m, "/etc")
	mkdir(t, m, "/srv")
	write(t, m, "/etc/passwd", "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\ndeploy:x:1001:1001::/home/deploy:/bin/sh\n")
	m.ActAs(1000, 1000)
	return &town{Memory: m}
}

func (w *town) options() runtime.Options {
	return runtime.Options{Host: w.Memory, Become: func(_ context.Context, user string) (host.Host, error) {
		w.mu.Lock()
		w.asked = append(w.asked, user)
		w.mu.Unlock()
		if w.err != nil {
			return nil, w.err
		}
		u, err := w.Memory.User(user)
		return asAnother{w.Memory, u.UID, w.denied, w}, err
	}}
}

func (w *town) apply(t *testing.T, site string) outcome {
	t.Helper()
	return carry(t, runtime.Apply, compile(t, modules.Standard(), site).Run, w.options())
}

func (w *town) plan(t *testing.T, site string) outcome {
	t.Helper()
	return carry(t, runtime.Plan, compile(t, modules.Standard(), site).Run, w.options())
}

// Parts act as the account of their own become, of their state's and of their block's.
func TestBecomeOthers(t *testing.T) {
	w := newTown(t)
	site := `
state "s" {
  become = "root"
  file "/srv/root" { content = "x" }
  file "/srv/deploy" {
    content = "x"
    become  = "deploy"
  }
  file "/srv/ann" {
    content = "x"
    become  = "ann"
  }
}
file "/srv/plain" { content = "x" }
block "b" {
  become = "deploy"
  command "c" {
    argv = ["good"]
    only_if { command = ["good"] }
  }
}
`
	w.plan(t, "command \"c\" {\n argv = [\"good\"]\n become = \"deploy\"\n only_if { command = [\"good\"] }\n}\n")
	if len(w.did) != 1 || w.did[0] != "query good" {
		t.Errorf("a plan does %q", w.did)
	}
	w.did, w.asked = nil, nil
	o := w.apply(t, site)
	for address, ev := range o.parts {
		if ev.Outcome != "changed" {
			t.Errorf("%s: %s %+v", address, ev.Outcome, ev.Error)
		}
	}
	for path, uid := range map[string]int{"/srv/root": 0, "/srv/deploy": 1001, "/srv/ann": 1000, "/srv/plain": 1000} {
		if info, err := w.Lstat(path); err != nil || info.UID != uid {
			t.Errorf("%s is of %d, %v", path, info.UID, err)
		}
	}
	if strings.Count(strings.Join(w.asked, " "), "deploy") != 1 || strings.Count(strings.Join(w.asked, " "), "root") != 1 || len(w.asked) != 2 {
		t.Errorf("it becomes %q", w.asked)
	}
	if got := strings.Join(w.did, ", "); !strings.Contains(got, "query good") || !strings.Contains(got, "run good") {
		t.Errorf("as others it does %s", got)
	}
}

// A plan sees what an earlier part has written, whoever that is as, and does not claim
// what the account may not do.
func TestBecomePlanned(t *testing.T) {
	w := newTown(t)
	o := w.plan(t, `
file "/srv/a" {
  content = "one\n"
  become  = "root"
}
line "/srv/a" {
  line     = "two"
  become   = "deploy"
  require  = [file["/srv/a"]]
}
`)
	for address, ev := range o.parts {
		if ev.Certain == nil || !*ev.Certain || ev.Error != nil || ev.Action == "" {
			t.Errorf("%s: %s %+v", address, o.row(address), ev.Error)
		}
	}
	if _, err := w.Lstat("/srv/a"); err == nil {
		t.Error("the plan has written")
	}
	w.denied = "/srv"
	o = w.plan(t, "file \"/srv/b\" {\n content = \"x\"\n become = \"deploy\"\n}\n")
	if got := o.row(`file["/srv/b"]`); !strings.Contains(got, "maybe") || !strings.Contains(got, "deploy may not write") {
		t.Errorf("what deploy may not do is %s", got)
	}
}

// Who may not become the account is told so, for each part that wants it.
func TestBecomeRefused(t *testing.T) {
	w := newTown(t)
	w.err = &diag.HintError{Message: "sudo says no", Hint: "it needs the rule"}
	o := w.apply(t, "file \"/srv/a\" {\n content = \"x\"\n become = \"deploy\"\n}\nfile \"/srv/b\" { content = \"x\" }\n")
	for address, ev := range o.parts {
		if strings.Contains(address, "/srv/b") {
			if ev.Outcome != "changed" {
				t.Errorf("%s: %s", address, ev.Outcome)
			}
			continue
		}
		if ev.Error == nil || ev.Error.Code != "become" || ev.Error.Message != "sudo says no" || ev.Error.Hint != "it needs the rule" {
			t.Errorf("%s: %+v", address, ev.Error)
		}
	}
	if len(w.asked) != 1 {
		t.Errorf("it is tried %d times", len(w.asked))
	}
}

// An account that the run makes can be acted as by then; a plan says maybe.
func TestBecomeNewAccount(t *testing.T) {
	w := newTown(t)
	w.ActAs(0, 0)
	site := `
line "/etc/passwd" { line = "new:x:1500:1500::/:/bin/sh" }
file "/srv/a" {
  content  = "x"
  become   = "new"
  require  = [line["/etc/passwd"]]
}
`
	o := w.plan(t, site)
	for address, ev := range o.parts {
		if strings.Contains(address, "/srv/a") && !strings.Contains(o.row(address), "create maybe (it acts as new, an account that this run makes)") {
			t.Errorf("%s: %s %+v", address, o.row(address), ev.Error)
		}
	}
	if len(w.asked) != 0 {
		t.Errorf("the plan becomes %q", w.asked)
	}
	if w.apply(t, site); len(w.asked) != 1 {
		t.Errorf("the apply becomes %q", w.asked)
	}
	if info, err := w.Lstat("/srv/a"); err != nil || info.UID != 1500 {
		t.Errorf("it is of %d, %v", info.UID, err)
	}
}
