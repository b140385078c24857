package ssh

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/wire"
)

func banner(t *testing.T, text string) string {
	file := filepath.Join(t.TempDir(), "banner")
	write(t, file, text)
	return "Banner=" + file
}

func TestBanner(t *testing.T) {
	w := newWorld(t, banner(t, strings.Repeat("Welcome <tenet x run>\n", 100)+"no end of line"))
	w.dial(t, wire.Opening{})
	w.dial(t, wire.Opening{})
}

func TestWhatIsNoRunner(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, option, code, message string }{
		{"too much", banner(t, strings.Repeat("all work and no play\n", 5000)), codeShell, "prints so much"},
		{"another command", "Sh=echo only git here #", codeShell, "forced command ended: only git here"},
		{"no shell", "Shell=/bin/false", codeShell, "forced command ended"},
		{"hostile", "Sh=printf %b 'a\\033[2Jb\\n'; exit 3 #", codeShell, "ended: a·[2Jb"},
	} {
		w := newWorld(t, test.option)
		if e := w.fails(t); e.Code != test.code || !strings.Contains(e.Message, test.message) || !e.Reached {
			t.Errorf("%s: %.300s", test.name, e)
		}
	}
}

// What comes behind an answer is checked as well.
func TestRunnerOfAnotherKind(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, script, code, message string }{
		{"protocol", "# old", codeVersion, "speaks tenet.wire/0, and this program tenet.wire/1"},
		{"garbage", "echo hello, world; exit", codeProtocol, "makes no sense"},
		{"huge", `printf '\177\177\177\177H'; exit`, codeProtocol, "too large"},
		{"cut", `printf '\000\000\000\177H{'; exit 139`, codeCrashed, "status 139"},
		{"no reason", "exit 1", codeCrashed, "status 1 before it said anything"},
	} {
		w := newWorld(t)
		for _, p := range platforms() {
			path := filepath.Join(w.Runners.Dirs[0], "tenet-runner-"+p.os+"-"+p.arch)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			write(t, path, strings.Replace(string(text), "\n", "\n"+test.script+"\n", 1))
		}
		e := w.fails(t)
		if e.Code != test.code || !strings.Contains(e.Message, test.message) || !e.Reached {
			t.Errorf("%s: %+v", test.name, e)
		}
	}
	w := newWorld(t)
	w.Runners.Version = "2.0"
	if e := w.fails(t); e.Code != codeVersion || e.Message != "the runner there is of version 1.0, and this program of 2.0" || e.Hint == "" {
		t.Errorf("%+v", e)
	}
}

// A program that cannot run there is told at once, with its cure, whether it is brought or was there.
func TestRunnerThatCannotRun(t *testing.T) {
	for name, text := range map[string]string{
		"interpreter": "#!/nonexistent/ld.so\n",
		"format":      "\x7fELF\x02\x01\x01\x00\x00\x01",
		"library":     "#!/bin/sh\necho runner: error while loading shared libraries: libc.so.6 >&2\nexit 127\n",
		"old library": "#!/bin/sh\necho \"runner: version \\`GLIBC_2.38' not found\" >&2\nexit 1\n",
	} {
		w := newWorld(t)
		for _, p := range platforms() {
			write(t, filepath.Join(w.Runners.Dirs[0], "tenet-runner-"+p.os+"-"+p.arch), text)
		}
		for range 2 {
			e := w.fails(t)
			if e.Code != codeArch || !e.Reached || e.Retryable || !strings.Contains(e.Message, "cannot run there") || !strings.Contains(e.Hint, "tenet runner build") {
				t.Errorf("%s: %+v (%s)", name, e, e.Hint)
			}
		}
	}
}

// What a host says again and again, as if the connection came on, does not keep anybody.
func TestEndlessAnswers(t *testing.T) {
	script := filepath.Join(t.TempDir(), "sh")
	write(t, script, "#!/bin/sh\nwhile echo \"<tenet $4 become somebody>\"; do :; done\n")
	w := newWorld(t, "Sh="+script)
	if e := w.fails(t); e.Code != codeProtocol || !e.Reached {
		t.Errorf("%+v", e)
	}
}

func TestNoClient(t *testing.T) {
	w := newWorld(t)
	w.Program = "no-such-ssh"
	if e := w.fails(t); e.Code != codeClient || !strings.Contains(e.Message, `no OpenSSH client "no-such-ssh"`) || e.Reached {
		t.Errorf("%+v", e)
	}
}

// A client that hangs is ended with all that it has started, at the end of the time
// or of the context.
func TestHanging(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"time", "context"} {
		file := filepath.Join(t.TempDir(), "child")
		w := newWorld(t, "Hangs="+file)
		w.Timeout = time.Minute
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() { // once it hangs
			for {
				if text, err := os.ReadFile(file); err == nil && len(text) > 0 {
					cancel()
					return
				}
				time.Sleep(time.Millisecond)
			}
		}()
		want, cause := codeInterrupted, context.Canceled
		if name == "time" {
			w.Timeout, ctx, want, cause = 100*time.Millisecond, context.Background(), codeTimeout, nil
		}
		_, _, err := w.Dial(ctx, w.host, wire.Opening{})
		var e *Error
		if !errors.As(err, &e) || e.Code != want || !errors.Is(e.Err, cause) || e.Reached {
			t.Errorf("%s: %+v", name, e)
		}
		text, err := os.ReadFile(file)
		pid, err2 := strconv.Atoi(string(text))
		if err != nil || err2 != nil {
			if name == "time" { // it was not even there yet
				continue
			}
			t.Fatal(err, err2)
		}
		if gone(pid) {
			continue
		}
		t.Errorf("%s: its child is left", name)
	}
}

// What a client has left behind when it ended by itself ends, too.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "child")
	w := newWorld(t, "Leaves="+file)
	w.dial(t, wire.Opening{})
	text, err := os.ReadFile(file)
	pid, err2 := strconv.Atoi(string(text))
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	if !gone(pid) {
		syscall.Kill(pid, syscall.SIGKILL)
		t.Error("its child is left")
	}
}

// gone reports whether a process has ended; who has ended may still wait for its
// parent to notice.
func gone(pid int) bool {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(state), ") Z ") {
			return true
		}
		time.Sleep(time.Millisecond)
	}
	return false
}

func TestShellThatHangs(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ tool, script, message string }{
		{"uname", "exec sleep 600", "its shell has started, and hangs"},
		{"gzip", "exec sleep 600", "while the runner is copied"},
	} {
		w := newWorld(t)
		w.Timeout = 400 * time.Millisecond
		w.tool(t, test.tool, test.script)
		if test.tool == "uname" { // what is printed before shows that somebody is there
			w.host.Options = append([]string{banner(t, "hello\n")}, w.host.Options...)
		}
		if e := w.fails(t); e.Code != codeTimeout {
			t.Errorf("%s: %+v", test.tool, e)
		}
	}
}

// Nothing is left of a connection: no process, no descriptor.
func TestNothingIsLeft(t *testing.T) {
	count := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	w := newWorld(t)
	w.dial(t, wire.Opening{})
	before := count()
	for range 3 {
		w.dial(t, wire.Opening{})
		w.host.Options = append([]string{"Says=ssh: connect to host web1 port 22: Connection refused"}, w.host.Options...)
		if e := w.fails(t); e.Code != codeRefused || e.Reached || e.Retryable {
			t.Errorf("%+v", e)
		}
		w.host.Options = w.host.Options[1:]
	}
	if after := count(); after > before {
		t.Errorf("%d descriptors, then %d", before, after)
	}
	var status syscall.WaitStatus
	if pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil); pid > 0 {
		t.Errorf("a zombie is left: %d %v", pid, err)
	}
}
