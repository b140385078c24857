//go:build lab

package runtime_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/host"
)

// asPlainUser is set in the process that plans and applies as a plain user. It asks the
// first one, which is root's, for trees: a line on descriptor 3, answered on 4.
const asPlainUser = "TENET_TEST_PLAIN_USER"

// A plan of a plain user claims nothing that the kernel refuses to this user then: random
// sites in random trees of files that are anybody's, with flags, sticky directories and
// setgid bits.
func TestPlanOfPlainUserByRoot(t *testing.T) {
	if os.Getenv(asPlainUser) != "" {
		planAsPlainUser(t)
		return
	}
	dir, err := os.MkdirTemp("", "tenet-rights-") // t.TempDir lets nobody else in
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "root")
	t.Cleanup(func() {
		unflag(t, at)
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "test")
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", self, program).CombinedOutput(); err != nil {
		t.Fatalf("%s %v", out, err)
	}
	t.Run("root", func(t *testing.T) {
		planOverOwned(t, func(tree []owned) (host.Host, error) {
			unflag(t, at)
			if err := build(at, tree); err != nil {
				return nil, err
			}
			return host.NewLocal(host.LocalOptions{Root: at})
		})
	})
	requests, ask := pipe(t)
	answer, answers := pipe(t)
	c := exec.Command(program, append([]string{"-test.run=^" + t.Name() + "$", "-test.v", "-rapid.nofailfile"}, passedOn()...)...)
	c.Env, c.Dir, c.ExtraFiles = []string{asPlainUser + "=" + at, "TMPDIR=/tmp"}, "/", []*os.File{ask, answer}
	me := plainUser()
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(me.UID), Gid: uint32(me.GID), Groups: []uint32{uint32(me.Groups[0])}}}
	var out strings.Builder
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ask.Close()
	answer.Close()
	lines := bufio.NewScanner(requests)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var tree []owned
		text := "done"
		err := json.Unmarshal(lines.Bytes(), &tree)
		unflag(t, at)
		if err == nil {
			err = build(at, tree)
		}
		if err != nil {
			text = err.Error()
		}
		fmt.Fprintln(answers, text)
	}
	err = c.Wait()
	t.Logf("%s", out.String())
	if err != nil || !strings.Contains(out.String(), "rows held") {
		t.Errorf("as a plain user: %v", err)
	}
}

// passedOn are the flags that say how many cases there are, and which.
func passedOn() (flags []string) {
	for _, a := range os.Args[1:] {
		if strings.HasPrefix(a, "-rapid.checks=") || strings.HasPrefix(a, "-rapid.seed=") {
			flags = append(flags, a)
		}
	}
	return flags
}

func pipe(t *testing.T) (r, w *os.File) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// unflag lets everything below a directory be changed again.
func unflag(t *testing.T, at string) {
	if _, err := os.Lstat(at); err != nil {
		return
	}
	if out, err := exec.Command("chattr", "-R", "-i", "-a", "-f", at).CombinedOutput(); err != nil && len(out) > 0 {
		t.Logf("chattr: %s %v", out, err)
	}
}

// build makes the tree, and no other, below a directory.
func build(at string, tree []owned) error {
	if err := os.RemoveAll(at); err != nil {
		return err
	}
	if err := os.Mkdir(at, 0o755); err != nil {
		return err
	}
	flags := map[string][]string{}
	for _, o := range tree {
		path := filepath.Join(at, o.Path)
		var err error
		switch o.Kind {
		case host.Directory:
			err = os.Mkdir(path, 0o700)
		case host.Symlink:
			err = os.Symlink(o.Target, path)
		default:
			err = os.WriteFile(path, []byte(o.Text), 0o600)
		}
		if err == nil {
			err = os.Lchown(path, o.UID, o.GID)
		}
		if err == nil && o.Kind != host.Symlink {
			err = os.Chmod(path, o.Mode&(fs.ModePerm|fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky))
		}
		if err != nil {
			return err
		}
		if o.Flag != "" {
			flags[o.Flag] = append(flags[o.Flag], path)
		}
	}
	for flag, paths := range flags {
		if out, err := exec.Command("chattr", append([]string{"+" + flag}, paths...)...).CombinedOutput(); err != nil {
			return fmt.Errorf("chattr: %s %w", out, err)
		}
	}
	return nil
}

func planAsPlainUser(t *testing.T) {
	ask, answers := os.NewFile(3, "requests"), bufio.NewReader(os.NewFile(4, "answers"))
	planOverOwned(t, func(tree []owned) (host.Host, error) {
		request, err := json.Marshal(tree)
		if err != nil {
			return nil, err
		}
		if _, err := ask.Write(append(request, '\n')); err != nil {
			return nil, err
		}
		if answer, err := answers.ReadString('\n'); err != nil || answer != "done\n" {
			return nil, fmt.Errorf("the tree: %s %w", answer, err)
		}
		return host.NewLocal(host.LocalOptions{Root: os.Getenv(asPlainUser)})
	})
}

// planOverOwned plans and applies random sites as who runs it.
func planOverOwned(t *testing.T, make func([]owned) (host.Host, error)) {
	registry := modules.Standard()
	var rows tally
	rapidtest.For(t, "1000")
	rapid.Check(t, func(t *rapid.T) {
		site, tree := drawOwnedSite(t, registry, os.Getuid() != 0), drawOwned(t, true)
		compiled, _ := graph.Compile(site, graph.Options{Registry: registry})
		if compiled == nil {
			return // parts that contradict each other
		}
		h, err := make(tree)
		if err != nil {
			t.Fatal(err)
		}
		lies, err := rows.falseRows(t.Context(), h, compiled.Run)
		if err != nil {
			t.Fatal(err)
		}
		if len(lies) > 0 {
			t.Fatalf("%s\n%s\n%+v", strings.Join(lies, "\n"), pretty(compiled.Run.Invocations), tree)
		}
	})
	t.Logf("%d certain rows held, %d were maybes", rows.certain, rows.maybes)
	if rows.certain < 200 || rows.maybes < 200 {
		t.Error("too few rows: the test shows little")
	}
}

// What is immutable is no certain update, also for root, and neither is a handler of it.
func TestPlanOfImmutableByRoot(t *testing.T) {
	dir := t.TempDir()
	for name, flag := range map[string]string{"a": "+i", "b": "+a", "full/d/e": "+i", "link": ""} {
		path := filepath.Join(dir, name)
		if flag == "" { // what it leads to does not matter
			if err := os.Symlink("a", path); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("old\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("chattr", flag, path).CombinedOutput(); err != nil {
			t.Fatalf("chattr: %s %v", out, err)
		}
		t.Cleanup(func() { unflag(t, path) })
	}
	h, err := host.NewLocal(host.LocalOptions{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	site := `
	absent "/link" {}
	state "told" {
	  lazy = true
	  file "/told" {}
	}
	file "/a" {
	  content = "new\n"
	  notify  = [state.told]
	}
	file "/b" { ensure = "absent" }
	file "/c" {}
	absent "/full" { force = true }
	`
	plan(t, h, site).want(t, map[string]string{
		`file["/a"]`:               "update maybe (/a is immutable (chattr -i /a makes it changeable))",
		`state.told.file["/told"]`: `create maybe (if file["/a"] changes)`,
		`file["/b"]`:               "remove maybe (/b is append-only (chattr -a /b makes it changeable))",
		`file["/c"]`:               "create",
		`absent["/full"]`:          "execute maybe (/full/d/e is immutable (chattr -i /full/d/e makes it changeable))",
		`absent["/link"]`:          "execute",
	})
	applied := apply(t, h, site)
	applied.want(t, map[string]string{`file["/a"]`: "failed update", `file["/b"]`: "failed remove", `file["/c"]`: "changed create",
		`absent["/full"]`: "failed execute", `absent["/link"]`: "changed execute"})
	for address, want := range map[string]string{`file["/a"]`: "chattr -i /a makes it changeable", `file["/b"]`: "chattr -a /b makes it changeable"} {
		if f := applied.parts[address].Error; f == nil || f.Hint != want {
			t.Errorf("%s: %+v, want the hint %q", address, f, want)
		}
	}
	if text, err := os.ReadFile(dir + "/full/d/e"); err != nil || string(text) != "old\n" {
		t.Errorf("what is immutable holds %q (%v)", text, err)
	}
}
