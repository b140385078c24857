package host_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/runtime/host"
)

// The test program is also the program that it starts, so that nothing else
// need be there.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "program" {
		os.Exit(program(os.Args[2], os.Args[3:]))
	}
	rapidtest.Main(m, "")
}

func program(name string, args []string) int {
	switch name {
	case "exit":
		code, _ := strconv.Atoi(args[0])
		return code
	case "die":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "print":
		fmt.Print("out", len(args))
		fmt.Fprint(os.Stderr, strings.Join(args, ","))
	case "cat":
		_, _ = io.Copy(os.Stdout, os.Stdin)
	case "env":
		fmt.Print(strings.Join(os.Environ(), "\n"))
	case "where":
		dir, _ := os.Getwd()
		fmt.Print(dir)
	case "flood":
		_, _ = os.Stdout.WriteString(strings.Repeat("x", 3<<20))
	case "leave": // a child that holds the output open
		child := self("stay", args...)
		child.Stdout = os.Stdout
		_ = child.Start()
		fmt.Print("left")
	case "stubborn": // children of every kind, none of which ends by itself
		signal.Ignore(syscall.SIGTERM)
		child, session, bare, orphan := self("stay", args...), self("grandchild", args...), self("grandchild", args...), self("orphan", args...)
		session.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		bare.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		bare.Env, orphan.Env = []string{}, []string{}
		for _, c := range []*exec.Cmd{child, session, bare, orphan} {
			_ = c.Start()
		}
		return program("stay", args)
	case "grandchild": // whose parent ends at once
		child := self("stay", args...)
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		_ = child.Start()
		if len(os.Environ()) == 0 {
			return program("stay", args)
		}
	case "orphan": // in the session, in a group of its own, and its parent ends at once
		child := self("stay", args...)
		child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		_ = child.Start()
	case "limited":
		if err := limited(args[0]); err != nil {
			fmt.Print(err)
			return 1
		}
	case "stay":
		signal.Ignore(syscall.SIGTERM)
		_ = os.WriteFile(filepath.Join(args[0], strconv.Itoa(os.Getpid())), nil, 0o600)
		time.Sleep(time.Minute)
	}
	return 0
}

func self(name string, args ...string) *exec.Cmd {
	return exec.Command(os.Args[0], append([]string{"program", name}, args...)...)
}

func command(name string, args ...string) host.Command {
	exe, err := filepath.Abs(os.Args[0])
	if err != nil {
		panic(err)
	}
	return host.Command{Argv: append([]string{exe, "program", name}, args...)}
}

func run(t *testing.T, c host.Command) host.Result {
	t.Helper()
	r, err := local(t, "").Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRun(t *testing.T) {
	t.Run("status", func(t *testing.T) {
		for _, code := range []int{0, 1, 77} {
			if r := run(t, command("exit", strconv.Itoa(code))); r.ExitCode != code {
				t.Errorf("status %d, want %d", r.ExitCode, code)
			}
		}
		if r := run(t, command("die")); r.ExitCode != 128+9 {
			t.Errorf("status %d after SIGKILL", r.ExitCode)
		}
	})
	t.Run("output", func(t *testing.T) {
		r := run(t, command("print", "$HOME", "a b", ""))
		if string(r.Stdout) != "out3" || string(r.Stderr) != "$HOME,a b," || r.Truncated {
			t.Errorf("%q, %q, %v", r.Stdout, r.Stderr, r.Truncated)
		}
	})
	t.Run("input", func(t *testing.T) {
		c := command("cat")
		c.Stdin, c.MaxOutput = []byte(strings.Repeat("line\n", 50_000)), 1<<20
		if r := run(t, c); string(r.Stdout) != string(c.Stdin) {
			t.Errorf("%d bytes came back of %d", len(r.Stdout), len(c.Stdin))
		}
		if r := run(t, command("cat")); len(r.Stdout) > 0 {
			t.Errorf("read %q from nothing", r.Stdout)
		}
		c.Argv = command("exit", "0").Argv
		run(t, c) // which does not read
	})
	t.Run("bounded output", func(t *testing.T) {
		if r := run(t, command("flood")); len(r.Stdout) != 1<<20 || !r.Truncated || r.ExitCode != 0 {
			t.Errorf("%d bytes, truncated %v, status %d", len(r.Stdout), r.Truncated, r.ExitCode)
		}
		c := command("flood")
		c.MaxOutput = 3 << 20
		if r := run(t, c); len(r.Stdout) != 3<<20 || r.Truncated {
			t.Errorf("%d bytes, truncated %v", len(r.Stdout), r.Truncated)
		}
	})
	t.Run("environment", func(t *testing.T) {
		t.Setenv("SECRET_OF_THE_CALLER", "1")
		c := command("env")
		c.Env = []string{"LANG=de", "A=1", "A=2"}
		env := strings.Split(string(run(t, c).Stdout), "\n")
		for _, want := range []string{"LANG=de", "A=2", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"} {
			if !slices.Contains(env, want) {
				t.Errorf("no %s in %q", want, env)
			}
		}
		if i := slices.IndexFunc(env, func(v string) bool { return strings.HasPrefix(v, "SECRET") || v == "A=1" }); i >= 0 {
			t.Errorf("%s is there", env[i])
		}
	})
	t.Run("directory", func(t *testing.T) {
		if r := run(t, command("where")); string(r.Stdout) != "/" {
			t.Errorf("runs in %s", r.Stdout)
		}
		c := command("where")
		c.Dir = t.TempDir()
		if r := run(t, c); string(r.Stdout) != c.Dir {
			t.Errorf("runs in %s", r.Stdout)
		}
	})
	t.Run("own user", func(t *testing.T) {
		l := local(t, "")
		u, err := l.UserID(os.Geteuid())
		if err != nil { // this user has no account
			u.Name = ""
		}
		c := command("env")
		c.User = u.Name
		env := string(run(t, c).Stdout)
		if u.Name != "" && !strings.Contains(env, "\nUSER="+u.Name+"\n") {
			t.Errorf("USER=%s is not in %q", u.Name, env)
		}
	})
}

func TestRunFailures(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!/no/interpreter\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	for _, c := range []struct {
		name    string
		ctx     context.Context
		command host.Command
		is      error
		text    string
	}{
		{"missing", t.Context(), host.Command{Argv: []string{"no-such-program"}}, fs.ErrNotExist, `there is no program "no-such-program"`},
		{"missing path", t.Context(), host.Command{Argv: []string{dir + "/none"}}, fs.ErrNotExist, `there is no program "` + dir + `/none"`},
		{"interpreter", t.Context(), host.Command{Argv: []string{script}}, fs.ErrNotExist, "the interpreter of " + script},
		{"directory", t.Context(), host.Command{Argv: command("exit", "0").Argv, Dir: dir + "/none"}, fs.ErrNotExist, "the working directory " + dir + "/none"},
		{"no program", t.Context(), host.Command{Argv: []string{dir}}, fs.ErrPermission, dir},
		{"empty", t.Context(), host.Command{}, nil, "argv is empty"},
		{"user", t.Context(), host.Command{Argv: command("exit", "0").Argv, User: "no-such-user"}, fs.ErrNotExist, `there is no user "no-such-user"`},
		{"ended", ended, command("exit", "0"), context.Cause(ended), "enough"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := local(t, "").Run(c.ctx, c.command)
			if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// A process that was left behind and holds the output open is not waited for.
func TestRunLeavesChild(t *testing.T) {
	dir := t.TempDir()
	start := time.Now()
	r := run(t, command("leave", dir))
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
	if string(r.Stdout) != "left" {
		t.Errorf("output %q", r.Stdout)
	}
	for _, pid := range pids(t, dir, 1) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Errorf("process %d was not left alone: %v", pid, err)
		}
	}
}

// Nothing remains of a command that must end: no child, none in a session of
// its own, none whose parent is gone.
func TestRunEndsAll(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("too long")
	l, err := host.NewLocal(host.LocalOptions{Grace: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := l.Run(ctx, command("stubborn", dir))
		done <- err
	}()
	all := pids(t, dir, 6)
	cancel(cause)
	if err := <-done; !errors.Is(err, cause) {
		t.Errorf("error %v", err)
	}
	for _, pid := range all {
		if runs(pid) {
			t.Errorf("process %d is left", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// pids waits until as many processes have written their names.
func pids(t *testing.T, dir string, count int) []int {
	t.Helper()
	for range 2000 {
		names, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(names) >= count {
			var all []int
			for _, n := range names {
				pid, err := strconv.Atoi(n.Name())
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, pid)
			}
			return all
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("there are not %d processes", count)
	return nil
}

// runs reports whether a process is there, and not just unburied.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

// A program that somebody still writes is waited for, but not for ever.
func TestRunBusyProgram(t *testing.T) {
	exe, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	l, path := local(t, ""), filepath.Join(t.TempDir(), "program")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o700)
	if err == nil {
		_, err = file.Write(exe)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	run := func(ctx context.Context) error {
		_, err := l.Run(ctx, host.Command{Argv: []string{path, "program", "exit", "0"}})
		return err
	}
	if err := run(t.Context()); !errors.Is(err, syscall.ETXTBSY) {
		t.Errorf("while it is written: %v", err)
	}
	late := time.AfterFunc(600*time.Millisecond, func() { file.Close() })
	defer late.Stop()
	if err := run(t.Context()); err != nil {
		t.Errorf("once it is written: %v", err)
	}
}

// A program that was written a moment ago can be started while others are.
func TestRunFreshProgram(t *testing.T) {
	exe, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	l, dir := local(t, ""), t.TempDir()
	errs := make(chan error)
	for i := range 4 {
		go func() {
			path := filepath.Join(dir, strconv.Itoa(i))
			err := l.WriteFile(t.Context(), path, host.Text(string(exe)), host.Meta{Mode: new(fs.FileMode(0o700))})
			if err == nil {
				_, err = l.Run(t.Context(), host.Command{Argv: []string{path, "program", "exit", "0"}})
			}
			errs <- err
		}()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
