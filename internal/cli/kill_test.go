package cli_test

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	kills = flag.Int("kills", 0, "how often TestKilled kills an apply, of a site with 500 parts; 0: a few times, of a small one")
	seed  = flag.Uint64("seed", 0, "of TestKilled; 0: a new one")
)

// killSite has five parts for each of n: a file that a handler loads, one that
// nobody does, a link, a file that every other version removes, and a command.
// A handler loads four files, as a daemon does with its settings.
const killSite = `
variable "root" {}
variable "version" {
  type = number
}
variable "n" {
  type = number
}
locals {
  numbers = { for i in range(var.n) : format("%03d", i) => i }
  groups  = { for i in range(var.n / 4) : format("%03d", i) => i }
}

directory "d" {
  for_each = toset(["conf", "plain", "links", "odd", "made", "loaded"])
  path     = "${var.root}/${each.key}"
}
file "conf" {
  for_each = local.numbers
  path     = "${var.root}/conf/${each.key}"
  content  = "file ${each.key} of version ${var.version + each.value % 2 * (var.version % 2)}\n"
  notify   = [state.load[format("%03d", floor(each.value / 4))]]
}
file "plain" {
  for_each = local.numbers
  path     = "${var.root}/plain/${each.key}"
  content  = join("", [for i in range(100) : "line ${i} of version ${var.version}\n"])
}
symlink "link" {
  for_each = local.numbers
  path     = "${var.root}/links/${each.key}"
  target   = "../plain/${each.key}?${var.version}"
}
file "odd" {
  for_each = local.numbers
  path     = "${var.root}/odd/${each.key}"
  content  = "odd\n"
  ensure   = var.version % 2 == 1 ? "present" : "absent"
}
command "make" {
  for_each = local.groups
  shell    = "rm -f ${each.key}-*; echo begun > ${each.key}-begun; echo made > ${each.key}-${var.version}; rm ${each.key}-begun"
  dir      = "${var.root}/made"
  creates  = "${var.root}/made/${each.key}-${var.version}"
}
state "load" {
  for_each = local.groups
  lazy     = true
  command "load" {
    shell = "cat ${join(" ", [for i in range(4) : format("%03d", each.value * 4 + i)])} > ../loaded/${each.key}"
    dir   = "${var.root}/conf"
  }
}
`

// killed is a machine on which applies are killed.
type killed struct {
	t       *testing.T
	dir     string
	parts   int // of each kind
	version int
}

// tenet gives a command of the program.
func (k *killed) tenet(args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		k.t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Args = append([]string{"tenet"}, args...)
	cmd.Args = append(cmd.Args, "--state-dir", k.dir+"/state")
	cmd.Dir, cmd.Env = k.dir, []string{"HOME=" + k.dir, "PATH=" + os.Getenv("PATH"), "GORACE=" + race}
	return cmd
}

func (k *killed) apply() *exec.Cmd {
	return k.tenet("apply", "--yes", "site", "--var", "root="+k.dir+"/root",
		fmt.Sprintf("--var=version=%d", k.version), fmt.Sprintf("--var=n=%d", k.parts))
}

// must runs a command that has to go well, and gives what it prints.
func (k *killed) must(cmd *exec.Cmd) string {
	k.t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		k.t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return string(out)
}

// TestKilled kills the program at random times, again and again: what it left
// is taken up by the next apply, which may be killed as well.
func TestKilled(t *testing.T) {
	k := &killed{t: t, dir: t.TempDir(), parts: 100}
	rounds := *kills
	if rounds == 0 {
		k.parts, rounds = 20, 12
	}
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("-seed %d", *seed)
	random := rand.New(rand.NewPCG(*seed, 0))
	for name, text := range map[string]string{"site/site.hcl": killSite, "root/.keep": ""} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(k.dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(k.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now()
	k.must(k.apply())
	long := time.Since(start)
	dead := 0
	for done := 0; done < rounds || dead < rounds/4 && done < 20*rounds; done++ {
		if random.IntN(3) > 0 { // else the same is tried again
			k.version++
		}
		if after := time.Duration(random.Int64N(int64(long))); k.kill(after) {
			dead++
		} else { // the first one took long, as it may on a busy machine
			long = after + 1
		}
		if random.IntN(10) == 0 {
			k.must(k.tenet("status"))
		}
	}
	t.Logf("%d of %d were killed, within %s", dead, rounds, time.Since(start))
	if dead < rounds/4 {
		t.Error("hardly any was killed")
	}
	k.must(k.apply())
	k.check()
	if out := k.must(k.apply()); strings.Contains(out, " changed") {
		t.Errorf("the apply after it has something to do:\n%s", out)
	}
}

// kill starts an apply and kills it after a time. It tells whether it still ran.
func (k *killed) kill(after time.Duration) bool {
	cmd := k.apply()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	time.Sleep(after)
	_ = cmd.Process.Kill() // it may have ended
	err := cmd.Wait()
	if cmd.ProcessState.Exited() && err != nil {
		k.t.Fatalf("%v after %s: %v\n%s", cmd.Args, after, err, out.String())
	}
	return !cmd.ProcessState.Exited()
}

// check compares everything with what is declared.
func (k *killed) check() {
	k.t.Helper()
	want := map[string]string{".keep": ""}
	for i := range k.parts {
		name := fmt.Sprintf("%03d", i)
		conf := fmt.Sprintf("file %s of version %d\n", name, k.version+i%2*(k.version%2))
		want["conf/"+name] = conf
		want["loaded/"+fmt.Sprintf("%03d", i/4)] += conf
		for line := range 100 {
			want["plain/"+name] += fmt.Sprintf("line %d of version %d\n", line, k.version)
		}
		want["links/"+name] = fmt.Sprintf("-> ../plain/%s?%d", name, k.version)
		if k.version%2 == 1 {
			want["odd/"+name] = "odd\n"
		}
		if i < k.parts/4 {
			want[fmt.Sprintf("made/%s-%d", name, k.version)] = "made\n"
		}
	}
	root := filepath.Join(k.dir, "root")
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		got, err := os.ReadFile(path)
		if e.Type() == fs.ModeSymlink {
			var target string
			target, err = os.Readlink(path)
			got = []byte("-> " + target)
		}
		text, wanted := want[name]
		delete(want, name)
		if !wanted || text != string(got) {
			k.t.Errorf("%s is %.60q, and was to be %.60q", name, got, text)
		}
		return err
	})
	if err != nil {
		k.t.Error(err)
	}
	for name := range want {
		k.t.Errorf("%s is missing", name)
	}
	err = filepath.WalkDir(k.dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(filepath.Base(path), ".tenet-") {
			k.t.Errorf("%s was left behind", path)
		}
		return err
	})
	if err != nil {
		k.t.Error(err)
	}
}
