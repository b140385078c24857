package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/runtime/orchestrate"
)

// rounds are those of a watch whose site keeps one file, x.
type rounds struct {
	*testing.T
	dir string
	out bytes.Buffer
	w   *watcher
	n   int
}

func startRounds(t *testing.T, files map[string]string) *rounds {
	r := &rounds{T: t, dir: t.TempDir()}
	for name, text := range files {
		r.write(name, text)
	}
	s := &client{shownDiagnostics: &shownDiagnostics{},
		console: console{Environment{Out: &r.out, Err: &r.out}, &Globals{StateDir: filepath.Join(r.dir, "state")}},
		// All files are old enough for their times to tell the next change.
		evaluation: &lastEvaluation{now: func() time.Time { return time.Now().Add(time.Hour) }}}
	r.w = &watcher{client: s, cmd: &watchCmd{Yes: true}}
	r.w.cmd.Site = filepath.Join(r.dir, "site")
	return r
}

func (r *rounds) write(name, text string) {
	r.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "DIR", r.dir)), 0o600); err != nil {
		r.Fatal(err)
	}
}

// rename puts a file or a directory in another one's place.
func (r *rounds) rename(from, to string) {
	r.Helper()
	if err := os.Rename(filepath.Join(r.dir, from), filepath.Join(r.dir, to)); err != nil {
		r.Fatal(err)
	}
}

func (r *rounds) symlink(target, name string) {
	r.Helper()
	path := filepath.Join(r.dir, name)
	_ = os.Remove(path)
	if err := os.Symlink(target, path); err != nil {
		r.Fatal(err)
	}
}

// round carries out one, and gives what x holds then, and how often the site was evaluated.
func (r *rounds) round() (x string, evaluations int) {
	r.Helper()
	r.n++
	r.out.Reset()
	if r.n == 1 {
		if err := r.w.open(); err != nil {
			r.Fatal(err)
		}
		r.Cleanup(func() { _ = r.w.loop.Close() })
	}
	if err := r.w.begin(); err != nil {
		r.Fatal(err)
	}
	if err := r.w.round(r.Context(), r.n); err != nil {
		r.Fatal(err, r.out.String())
	}
	data, err := os.ReadFile(filepath.Join(r.dir, "x"))
	if err != nil {
		r.Fatal(err, r.out.String())
	}
	return string(data), r.w.evaluation.count
}

const contentSite = "file \"DIR/x\" {\n  content = CONTENT\n}\n"

func siteWith(content string) string { return strings.ReplaceAll(contentSite, "CONTENT", content) }

// Nothing is evaluated again while nothing that was read has changed, and each change is
// noticed, whatever was read.
func TestWatchEvaluatesWhatHasChanged(t *testing.T) {
	for name, c := range map[string]struct {
		files  map[string]string
		begin  func(r *rounds)
		change func(r *rounds)
		want   string // that x holds after the change
	}{
		"a state file": {map[string]string{"site/site.hcl": siteWith(`"a"`)}, nil,
			func(r *rounds) { r.write("site/site.hcl", siteWith(`"b"`)) }, "b"},
		"a state file of the same size and time": {map[string]string{"site/site.hcl": siteWith(`"a"`)}, nil, func(r *rounds) {
			path := filepath.Join(r.dir, "site/site.hcl")
			info, err := os.Stat(path)
			if err != nil {
				r.Fatal(err)
			}
			r.write("site/site.hcl", siteWith(`"b"`))
			if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
				r.Fatal(err)
			}
		}, "b"},
		"a new state file": {map[string]string{"site/site.hcl": siteWith("var.v") + "variable \"v\" {\n  default = \"a\"\n}\n"}, nil, func(r *rounds) {
			r.write("site/site.hcl", siteWith("var.v"))
			r.write("site/more.hcl", "variable \"v\" {\n  default = \"b\"\n}\n")
		}, "b"},
		"a state file that goes": {map[string]string{"site/site.hcl": "file \"DIR/x\" {\n  content = \"a\"\n}\n", "site/y.hcl": "file \"DIR/y\" {}\n"}, nil,
			func(r *rounds) { r.rename("site/y.hcl", "y.hcl") }, "a"},
		"a template": {map[string]string{"site/site.hcl": siteWith(`template("t", { v = "a" })`), "site/t": "${v}"}, nil,
			func(r *rounds) { r.write("site/t", "${v}b") }, "ab"},
		"a template in another": {map[string]string{"site/site.hcl": siteWith(`template("t", {})`), "site/t": "${template(\"u\", {})}", "site/u": "a"}, nil,
			func(r *rounds) { r.write("site/u", "b") }, "b"},
		"a source": {map[string]string{"site/site.hcl": "file \"DIR/x\" {\n  source = \"s\"\n}\n", "site/s": "a"}, nil,
			func(r *rounds) { r.write("site/s", "b") }, "b"},
		"a source that is replaced": {map[string]string{"site/site.hcl": "file \"DIR/x\" {\n  source = \"s\"\n}\n", "site/s": "a", "s": "b"}, nil,
			func(r *rounds) { r.rename("s", "site/s") }, "b"},
		"where a link leads": {map[string]string{"site/site.hcl": siteWith(`read("l")`), "site/1": "a", "site/2": "b"},
			func(r *rounds) { r.symlink("1", "site/l") }, func(r *rounds) { r.symlink("2", "site/l") }, "b"},
		"what a link leads to": {map[string]string{"site/site.hcl": siteWith(`read("l")`), "site/1": "a"},
			func(r *rounds) { r.symlink("1", "site/l") }, func(r *rounds) { r.write("site/1", "b") }, "b"},
		"where a link to a directory leads": {map[string]string{"site/site.hcl": siteWith(`read("l/f")`), "site/1/f": "a", "site/2/f": "b"},
			func(r *rounds) { r.symlink("1", "site/l") }, func(r *rounds) { r.symlink("2", "site/l") }, "b"},
		"a file that there was not": {map[string]string{"site/site.hcl": siteWith(`exists("f") ? "b" : "a"`)}, nil,
			func(r *rounds) { r.write("site/f", "") }, "b"},
		"a component": {map[string]string{"site/site.hcl": "component \"c\" {\n  source = \"./c\"\n}\n", "site/c/main.hcl": siteWith(`"a"`)}, nil,
			func(r *rounds) { r.write("site/c/main.hcl", siteWith(`"b"`)) }, "b"},
		"a component outside": {map[string]string{"site/site.hcl": "component \"c\" {\n  source = \"../c\"\n}\n", "c/main.hcl": siteWith(`"a"`)}, nil,
			func(r *rounds) { r.write("c/main.hcl", siteWith(`"b"`)) }, "b"},
		"another component in its place": {map[string]string{"site/site.hcl": "component \"c\" {\n  source = \"../c\"\n}\n", "c/main.hcl": siteWith(`"a"`), "d/main.hcl": siteWith(`"b"`)}, nil,
			func(r *rounds) { r.rename("c", "e"); r.rename("d", "c") }, "b"},
		"a script that is loaded": {map[string]string{"site/site.star": "load(\"./lib.star\", \"v\")\nfile(\"DIR/x\", content = v)\n", "site/lib.star": "v = \"a\"\n"}, nil,
			func(r *rounds) { r.write("site/lib.star", "v = \"b\"\n") }, "b"},
		"where the site is": {map[string]string{"1/site.hcl": siteWith(`"a"`), "2/site.hcl": siteWith(`"b"`)},
			func(r *rounds) { r.symlink("1", "site") }, func(r *rounds) { r.symlink("2", "site") }, "b"},
		"another site in its place": {map[string]string{"site/site.hcl": siteWith(`"a"`), "new/site.hcl": siteWith(`"b"`)}, nil,
			func(r *rounds) { r.rename("site", "old"); r.rename("new", "site") }, "b"},
		"another directory above the site": {map[string]string{"up/site/site.hcl": siteWith(`"a"`), "other/site/site.hcl": siteWith(`"b"`)},
			func(r *rounds) { r.w.cmd.Site = filepath.Join(r.dir, "up/site") },
			func(r *rounds) { r.rename("up", "old"); r.rename("other", "up") }, "b"},
		"a file of variables": {map[string]string{"site/site.hcl": "variable \"v\" {}\n" + siteWith("var.v"), "vars": "v = \"a\"\n"},
			func(r *rounds) { r.w.globals.VarFile = []string{filepath.Join(r.dir, "vars")} },
			func(r *rounds) { r.write("vars", "v = \"b\"\n") }, "b"},
		"a fact": {map[string]string{"site/site.hcl": siteWith("fact.shape"), "facts": `{"shape": "a"}`},
			func(r *rounds) { r.w.globals.Facts = filepath.Join(r.dir, "facts") },
			func(r *rounds) { r.write("facts", `{"shape": "b"}`) }, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			r := startRounds(t, c.files)
			if c.begin != nil {
				c.begin(r)
			}
			first, _ := r.round()
			run := r.run()
			for range 2 {
				if x, n := r.round(); n != 1 || x != first {
					t.Errorf("the site was evaluated %d times, and x holds %q, where nothing has changed\n%s", n, x, r.out.String())
				}
			}
			r.write("x", "other") // what is kept in its state is no input
			if x, n := r.round(); n != 1 || x != first {
				t.Errorf("the site was evaluated %d times, and x holds %q, where only the machine has changed", n, x)
			}
			if now := r.run(); now != run {
				t.Errorf("rounds have changed what is to be run from\n%s\nto\n%s", run, now)
			}
			c.change(r)
			if x, n := r.round(); n != 2 || x != c.want {
				t.Errorf("the site was evaluated %d times, and x holds %q after the change, not %q\n%s", n, x, c.want, r.out.String())
			}
			if _, n := r.round(); n != 2 {
				t.Errorf("the site was evaluated %d times after one change", n)
			}
		})
	}
}

// run is what is kept for the next round, as text.
func (r *rounds) run() string {
	r.Helper()
	job := r.w.evaluation.job
	if job == nil {
		r.Fatal("nothing is kept")
	}
	data, err := json.Marshal(job.Run)
	if err != nil {
		r.Fatal(err)
	}
	return string(data)
}

// What cannot be compared is evaluated in each round: trees, programs that tell of hosts, and
// files that have just been changed.
func TestWatchEvaluatesWhatCannotBeCompared(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		begin func(r *rounds)
	}{
		"a tree": {map[string]string{"site/site.hcl": siteWith(`"a"`) + "tree \"DIR/t\" {\n  source = \"s\"\n}\n", "site/s/f": "a"}, nil},
		"a file of this moment": {map[string]string{"site/site.hcl": siteWith(`"a"`)},
			func(r *rounds) { r.w.evaluation.now = time.Now }},
		"a group, which may be a part of an execution": {map[string]string{"site/site.hcl": siteWith(`"a"`) + "host \"h\" {\n  executor = \"local\"\n}\nhost_group \"g\" {\n  hosts = [\"h\"]\n}\n"},
			func(r *rounds) { r.w.globals.Limit = "@g" }},
		"a program that tells of hosts": {map[string]string{"site/site.hcl": siteWith(`"a"`) + "host \"h\" {\n  executor = \"local\"\n}\ninventory {\n  command = [\"./hosts\"]\n}\n",
			"site/hosts": "#!/bin/sh\necho '{\"_meta\": {\"hostvars\": {}}}'\n"},
			func(r *rounds) {
				if err := os.Chmod(filepath.Join(r.dir, "site/hosts"), 0o700); err != nil {
					r.Fatal(err)
				}
			}},
	} {
		t.Run(name, func(t *testing.T) {
			r := startRounds(t, c.files)
			if c.begin != nil {
				c.begin(r)
			}
			for i := range 3 { // once more after the apply of the first, which may have changed what the site depends on
				if _, n := r.round(); n != i+2 {
					t.Errorf("after %d rounds the site was evaluated %d times", i+1, n)
				}
			}
		})
	}
}

// Who asks for a secret, or for a program's hosts, depends on what cannot be compared.
func TestSecretsAndProgramsAreNoInputs(t *testing.T) {
	for name, ask := range map[string]func(lang.Target) error{
		"a secret":  func(t lang.Target) error { _, err := t.Secrets("name"); return err },
		"a program": func(t lang.Target) error { _, err := t.Inventory(context.Background(), nil); return err },
	} {
		in := newInputs(time.Now)
		c := &site{Site: &orchestrate.Site{}}
		c.Target.Secrets = func(string) (string, error) { return "value", nil }
		c.Target.Inventory = func(context.Context, []string) ([]byte, error) { return nil, nil }
		in.recordTarget(c)
		if err := ask(c.Target); err != nil {
			t.Fatal(err)
		}
		if in.seal() {
			t.Errorf("%s counts as something that can be compared", name)
		}
	}
}
