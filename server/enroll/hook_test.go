package enroll

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/agent/identity"
)

// hookWorld has a hook that is a script of the shell.
func hookWorld(t *testing.T, script string) *world {
	t.Helper()
	limit := time.Minute
	if strings.Contains(script, "sleep") {
		limit = 300 * time.Millisecond
	}
	return hookWithin(t, limit, script)
}

// hookWithin has a hook that may take so long.
func hookWithin(t *testing.T, limit time.Duration, script string) *world {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hook")
	must(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	return newWorld(t, func(o *Options) { o.Hook = []string{path, "argument"}; o.HookLimit = limit })
}

// A hook gets the host as JSON, without an environment, and decides under which name and labels it is taken in.
func TestHook(t *testing.T) {
	seen := filepath.Join(t.TempDir(), "seen")
	t.Setenv("TENET_SECRET", "hunter2")
	w := hookWorld(t, fmt.Sprintf(`cat > %[1]s; env >> %[1]s.env; echo '{"decision":"approve","reason":"in the inventory","name":"db1","labels":{"role":"db"}}'`, seen))
	i, err := w.join(private(t), w.token(NewToken{Uses: 2}), once("web1"))
	must(t, err)
	h := w.wantState(i.ID(), identity.Approved)
	if h.Name != "db1" || h.Labels["role"] != "db" || i.Name() != "db1" {
		t.Errorf("%+v", h)
	}
	var q Question
	data, err := os.ReadFile(seen)
	must(t, err)
	must(t, json.Unmarshal(data, &q))
	if q.Format != QuestionFormat || q.Host.ID != i.ID() || q.Host.Name != "web1" || q.Host.Source == "" {
		t.Errorf("the hook gets %s", data)
	}
	env, err := os.ReadFile(seen + ".env")
	must(t, err)
	if strings.Contains(string(env), "hunter2") {
		t.Errorf("the hook gets the server's environment: %s", env)
	}
	if got := w.audited(i.ID()); !slices.Equal(got, []string{"host.approve server/hook"}) {
		t.Errorf("audit: %q", got)
	}
	// A name that is taken is not taken from its host, whatever the hook says.
	squatter, err := w.join(private(t), w.token(NewToken{}), once("web2"))
	must(t, err)
	if h := w.wantState(squatter.ID(), identity.Pending); !strings.Contains(h.Reason, "belongs to the host") {
		t.Errorf("%s", h.Reason)
	}
}

// Whatever a hook does that is no decision leaves the host to a person, who learns why.
func TestHookFails(t *testing.T) {
	for script, want := range map[string]string{
		`cat >/dev/null; echo '{"decision":"wait","reason":"ask the owner"}'`: "^ask the owner$",
		`echo nonsense`:                               "cannot be read",
		`echo '{"decision":"yes"}'`:                   "not approve, reject or wait",
		`echo '{"decision":"approve"} {}'`:            "followed by something else",
		`echo '{"decision":"approve","x":1}'`:         "cannot be read",
		`echo 'no such host' >&2; exit 3`:             "exit status 3: no such host",
		`printf '\033[2J' >&2; exit 3`:                `exit status 3: \[2J`,
		`exec sleep 600`:                              "took longer than 300ms",
		`sleep 600 & wait`:                            "took longer than 300ms",
		`head -c 10000000 /dev/zero`:                  "more than 65536 bytes",
		`echo '{"decision":"approve","name":"../x"}'`: "cannot be the name",
	} {
		w := hookWorld(t, script)
		begun := time.Now()
		i, err := w.join(private(t), w.token(NewToken{}), once("web1"))
		must(t, err)
		h := w.wantState(i.ID(), identity.Pending)
		wantError(t, fmt.Errorf("%s", h.Reason), want)
		if strings.Contains(h.Reason, "\x1b") {
			t.Errorf("%q reaches a terminal", h.Reason)
		}
		if took := time.Since(begun); took > 5*time.Minute {
			t.Errorf("%s: it took %v", script, took)
		}
	}
}

// What a hook has begun ends with it.
func TestHookLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pid")
	w := hookWithin(t, 3*time.Second, fmt.Sprintf(`sleep 600 & echo $! > %s; wait`, path))
	i, err := w.join(private(t), w.token(NewToken{}), once("web1"))
	must(t, err)
	w.wantState(i.ID(), identity.Pending)
	data, err := os.ReadFile(path)
	must(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	must(t, err)
	// It was killed before. It ends once it gets a turn, and is a zombie until somebody has waited for it.
	for limit := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(status), ") Z ") {
			return
		}
		if time.Now().After(limit) {
			syscall.Kill(pid, syscall.SIGKILL)
			t.Fatalf("it still runs: %s", status)
		}
	}
}

// A hook is not asked again about the same host before a minute has passed, and may reject. It is asked at once where the clock was ahead, and is put right.
func TestHookAgain(t *testing.T) {
	for _, passed := range []time.Duration{2 * time.Minute, -24 * time.Hour} {
		hookAgainAfter(t, passed)
	}
}

func hookAgainAfter(t *testing.T, passed time.Duration) {
	t.Helper()
	count := filepath.Join(t.TempDir(), "count")
	w := hookWorld(t, fmt.Sprintf(`echo x >> %[1]s; if [ $(wc -l < %[1]s) -gt 1 ]; then echo '{"decision":"reject","reason":"unknown"}'; else echo '{"decision":"wait"}'; fi`, count))
	dir, token := private(t), w.token(NewToken{})
	ask := func() error {
		i, err := identity.Join(w.ctx, dir, token, once("web1"), identity.Options{Clock: w.now})
		if err == nil {
			must(t, i.Close())
		}
		return err
	}
	for range 3 {
		must(t, ask())
	}
	if data, _ := os.ReadFile(count); len(data) != 2 {
		t.Errorf("asked %d times", len(data)/2)
	}
	w.pass(passed)
	wantError(t, ask(), "unknown")
}
