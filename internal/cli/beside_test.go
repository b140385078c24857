package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/internal/cli"
	"github.com/tenetcm/tenet/runtime/journal"
)

// beside is a directory with a site and a state folder, on which several programs
// work at once.
type beside struct {
	*testing.T
	dir string
}

func newBeside(t *testing.T, site string) beside {
	b := beside{t, t.TempDir()}
	b.write("site/site.hcl", strings.ReplaceAll(site, "DIR", b.dir))
	return b
}

func (b beside) path(name string) string { return filepath.Join(b.dir, name) }

func (b beside) write(name, text string) {
	b.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(b.path(name)), 0o700), os.WriteFile(b.path(name), []byte(text), 0o600)); err != nil {
		b.Fatal(err)
	}
}

// program is a tenet that runs by itself.
type program struct {
	*exec.Cmd
	out, err bytes.Buffer
	ended    chan struct{}
}

// start starts tenet, which is this very program under another name.
func (b beside) start(args ...string) *program {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	p := &program{Cmd: exec.CommandContext(ctx, self), ended: make(chan struct{})}
	p.Args = append([]string{"tenet"}, args...)
	p.Stdout, p.Stderr = &p.out, &p.err
	p.Env = []string{"HOME=" + b.dir, "PATH=" + os.Getenv("PATH"), "GORACE=" + race}
	if err := p.Start(); err != nil {
		b.Fatal(err)
	}
	go func() {
		defer cancel()
		_ = p.Wait() // the status tells
		close(p.ended)
	}()
	b.Cleanup(func() {
		cancel()
		<-p.ended
	})
	return p
}

func (p *program) status() int {
	<-p.ended
	return p.ProcessState.ExitCode()
}

// Two applies are started at once, again and again: exactly one works, and the
// other says who does.
func TestOneOfTwo(t *testing.T) {
	b := newBeside(t, `
		command "slow" {
		  shell = "until test -e 'DIR/go'; do sleep 0.01; done"
		}
	`)
	apply := func() *program { return b.start("apply", "--yes", "--state-dir", b.path("state"), b.path("site")) }
	started := time.Now()
	who := regexp.MustCompile(`^tenet: process (\d+) \(tenet apply.*\) (applies run (\d+-[0-9a-f]+)|is starting on this state folder) since `)
	for n := range pairs {
		first, second := apply(), apply()
		var works, refused *program
		select {
		case <-first.ended:
			works, refused = second, first
		case <-second.ended:
			works, refused = first, second
		}
		if refused.status() != 1 || refused.out.Len() > 0 {
			t.Fatalf("pair %d: the one that is refused ends with %d\n%s%s", n, refused.status(), &refused.out, &refused.err)
		}
		said := who.FindStringSubmatch(refused.err.String())
		if said == nil || said[1] != strconv.Itoa(works.Process.Pid) {
			t.Fatalf("pair %d: process %d applies, and it says\n%s", n, works.Process.Pid, &refused.err)
		}
		b.write("go", "")
		if works.status() != 0 {
			t.Fatalf("pair %d: the one that works ends with %d\n%s%s", n, works.status(), &works.out, &works.err)
		}
		if err := os.Remove(b.path("go")); err != nil {
			t.Fatal(err)
		}
	}
	folder, err := journal.Open(b.path("state"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := folder.List()
	if err != nil || len(list) != min(pairs, 30) || !strings.HasPrefix(list[len(list)-1].Run, fmt.Sprintf("%08d-", pairs)) {
		t.Errorf("%d runs are recorded, %v", len(list), err)
	}
	for _, run := range list {
		if run.State != journal.Done {
			t.Errorf("run %s is %s", run.Run, run.State)
		}
	}
	t.Logf("%d pairs in %s", pairs, time.Since(started).Round(time.Millisecond))
}

// Asking how a run stands neither waits for it nor hinders it, and shows nothing
// that is half written.
func TestStatusBesideAnApply(t *testing.T) {
	b := newBeside(t, `
		file "many" {
		  for_each = toset([for i in range(150) : tostring(i)])
		  path     = "DIR/tree/${each.key}"
		  content  = "x"
		  require  = [directory.tree]
		}
		directory "tree" {
		  path = "DIR/tree"
		}
		command "end" {
		  shell   = "until test -e 'DIR/go'; do sleep 0.01; done"
		  require = [file.many]
		}
	`)
	p := b.start("apply", "--yes", "--json", "--state-dir", b.path("state"), b.path("site"))
	asked, seen, last := 0, 0, 0
	for running := true; running; {
		select {
		case <-p.ended:
			running = false // once more
		default:
		}
		var out, errs bytes.Buffer
		begun := time.Now()
		status := cli.Main([]string{"status", "--json", "--state-dir", b.path("state")}, cli.Environment{Out: &out, Err: &errs})
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("status takes %s", took)
		}
		if status != 0 {
			if strings.Contains(errs.String(), "nothing has been applied yet") && seen == 0 {
				continue // not begun
			}
			t.Fatalf("status %d: %s", status, &errs)
		}
		asked++
		var now struct {
			State    string
			Parts    int
			Damaged  []string
			Progress *struct{ Ended, Parts int }
		}
		if err := json.Unmarshal(out.Bytes(), &now); err != nil || len(now.Damaged) > 0 {
			t.Fatalf("%v\n%s", err, &out)
		}
		switch {
		case now.State == "" && seen == 0: // it is starting
		case now.State == "running" && seen == 0 && now.Parts == 0: // its status is not written yet
		case now.State == "running" && running:
			if now.Progress == nil || now.Progress.Parts != 152 || now.Progress.Ended < last || now.Progress.Ended > 152 {
				t.Fatalf("after %d: %s", last, &out)
			}
			if now.Progress.Ended > last {
				seen++
			}
			if last = now.Progress.Ended; last == 151 { // all but the last one
				b.write("go", "")
			}
		case now.State != "done":
			t.Fatalf("state %s, and it runs: %t\n%s", now.State, running, &out)
		}
	}
	if p.status() != 0 || !bytes.Contains(p.out.Bytes(), []byte(`"changed":152,`)) {
		t.Errorf("the apply ends with %d\n%s", p.status(), &p.err)
	}
	if seen == 0 {
		t.Errorf("it was not seen to go on, of %d times", asked)
	}
	t.Logf("asked %d times, seen to go on %d times", asked, seen)
}
