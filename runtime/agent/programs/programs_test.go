package programs

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
)

// errCut is what a step ends with where the power is cut.
var errCut = errors.New("the power is cut")

// bench is a folder of programs beside an installed one.
type bench struct {
	*testing.T
	dir   string
	now   time.Time
	steps int
	cutAt int
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, dir: t.TempDir(), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	if err := os.Chmod(b.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.installed().Executable, []byte("installed"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := b.folder().Make(); err != nil {
		t.Fatal(err)
	}
	return b
}

// folder is the folder as a process has it that is cut at a step.
func (b *bench) folder() *Folder {
	f := In(b.dir)
	f.Clock = func() time.Time { return b.now }
	f.Step = func(string) {
		if b.steps++; b.steps == b.cutAt {
			panic(errCut)
		}
	}
	return f
}

func (b *bench) installed() Own {
	return Own{Version: "v1.0.0", Executable: filepath.Join(b.dir, "tenet")}
}

// own is a program of the folder, as the process that it is.
func (b *bench) own(p Program) Own {
	return Own{Version: p.Version, Executable: filepath.Join(b.folder().Dir, p.name())}
}

func program(version string) Program {
	text := "program " + version
	return Program{Version: version, Content: trust.Content{SHA256: trust.DigestOf([]byte(text)), Size: int64(len(text))}}
}

func releaseOf(p Program) Release {
	return Release{Number: 1, Digest: trust.DigestOf([]byte("release " + p.Version)), Version: p.Version}
}

// fetch puts what was fetched into the folder.
func (b *bench) fetch(text string) string {
	b.Helper()
	path := filepath.Join(b.folder().Dir, "fetched")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	return path
}

// update does all that has a program follow another one.
func (b *bench) update(own Own, p Program) error {
	f := b.folder()
	if _, err := f.Find(&p); err != nil {
		if err := f.Sweep("fetched"); err != nil {
			return err
		}
		if _, err := f.Keep(b.fetch("program "+p.Version), p); err != nil {
			return err
		}
	}
	return f.Switch(own, p, releaseOf(p))
}

func (b *bench) mustUpdate(own Own, p Program) {
	b.Helper()
	if err := b.update(own, p); err != nil {
		b.Fatal(err)
	}
}

// starts says which program the installed one becomes; empty: it stays itself.
func (b *bench) starts() (version string, told error) {
	b.Helper()
	path, version, told := b.folder().choose(b.installed())
	if path != "" {
		data, err := os.ReadFile(path)
		if err != nil || string(data) != "program "+version {
			b.Errorf("%s would be started, which has %q (%v)", version, data, err)
		}
		if info, err := os.Lstat(path); err != nil || info.Mode() != 0o755 {
			b.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
	return version, told
}

// cut does something during which the power is cut at a step; false: it has fewer steps.
func (b *bench) cut(step int, do func() error) (isCut bool) {
	b.Helper()
	b.steps, b.cutAt = 0, step
	defer func() {
		b.cutAt = 0
		if r := recover(); r != nil {
			if r != errCut {
				panic(r)
			}
			isCut = true
		}
	}()
	if err := do(); err != nil {
		b.Fatal(err)
	}
	return false
}

// Whenever the power is cut, the old or the new program starts, whole; and the host ends on the new one, once that is tried again.
func TestPowerCuts(t *testing.T) {
	for step := 1; ; step++ {
		b, p, next := newBench(t), program("v1.1.0"), program("v1.2.0")
		isCut := b.cut(step, func() error {
			if err := b.update(b.installed(), p); err != nil {
				return err
			}
			b.starts()
			if err := b.folder().Prove(b.own(p)); err != nil {
				return err
			}
			if err := b.update(b.own(p), next); err != nil {
				return err
			}
			b.starts()
			return b.folder().Prove(b.own(next))
		})
		if !isCut {
			if step < 10 {
				t.Fatalf("there are only %d steps", step)
			}
			return
		}
		version, told := b.starts()
		if told != nil {
			t.Errorf("step %d: %v", step, told)
		}
		own := b.installed()
		switch version {
		case "":
		case "v1.1.0":
			own = b.own(p)
		case "v1.2.0":
			own = b.own(next)
		default:
			t.Fatalf("step %d: %s is started", step, version)
		}
		if err := b.folder().Prove(own); err != nil {
			t.Fatal(err)
		}
		if version != "v1.2.0" {
			b.mustUpdate(own, next)
			if version, told = b.starts(); version != "v1.2.0" || told != nil {
				t.Errorf("step %d: after another try %q is started: %v", step, version, told)
			}
			if err := b.folder().Prove(b.own(next)); err != nil {
				t.Fatal(err)
			}
		}
		entries, err := os.ReadDir(b.folder().Dir)
		if err != nil || len(entries) > 3 { // the record, the program, the former one
			t.Errorf("step %d: %v %v", step, entries, err)
		}
	}
}

// A program that ends each time before the server has answered it is put back, and why is there to be told.
func TestCrashesArePutBack(t *testing.T) {
	b, good, bad := newBench(t), program("v1.1.0"), program("v1.2.0")
	b.mustUpdate(b.installed(), good)
	b.starts()
	if err := b.folder().Prove(b.own(good)); err != nil {
		t.Fatal(err)
	}
	b.mustUpdate(b.own(good), bad)
	for i := range maxStarts {
		if version, told := b.starts(); version != "v1.2.0" || told != nil {
			t.Fatalf("start %d: %q %v", i, version, told)
		}
	}
	version, told := b.starts()
	if version != "v1.1.0" || told == nil || !strings.Contains(told.Error(), "update to v1.2.0: it was started 3 times") {
		t.Errorf("%q %v", version, told)
	}
	r, err := b.folder().Read()
	if err != nil || r.Failure == nil || r.Failure.Version != "v1.2.0" || r.Failure.Release != releaseOf(bad) {
		t.Fatalf("%+v %v", r, err)
	}
	for range 2 * maxStarts { // the one that was put back is of use: its ends count for nothing
		if version, told := b.starts(); version != "v1.1.0" || told != nil {
			t.Fatalf("%q %v", version, told)
		}
	}
	by := releaseOf(bad)
	if at := r.Retry(by); !at.Equal(b.now.Add(firstRetry)) {
		t.Errorf("it is tried again at %s", at)
	}
	if by.Number++; !r.Retry(by).IsZero() {
		t.Error("what somebody wants anew is not tried")
	}
}

// Whoever is told to end does not count as a crash.
func TestEndsDoNotCount(t *testing.T) {
	b, p := newBench(t), program("v1.1.0")
	b.mustUpdate(b.installed(), p)
	for range 3 * maxStarts {
		if version, told := b.starts(); version != "v1.1.0" || told != nil {
			t.Fatalf("%q %v", version, told)
		}
		if err := b.folder().End(b.own(p)); err != nil {
			t.Fatal(err)
		}
	}
}

// What is not the program of the release is never kept.
func TestKeepRefuses(t *testing.T) {
	for name, text := range map[string]string{"truncated": "program v1.1", "longer": "program v1.1.0 and more", "another": "PROGRAM v1.1.0", "empty": ""} {
		b, p := newBench(t), program("v1.1.0")
		fetched := b.fetch(text)
		if path, err := b.folder().Keep(fetched, p); err == nil {
			t.Errorf("%s: it is kept as %s", name, path)
		}
		if entries, err := os.ReadDir(b.folder().Dir); err != nil || len(entries) > 0 { // it is fetched anew
			t.Errorf("%s: %v %v", name, entries, err)
		}
	}
	b, p := newBench(t), program("v1.1.0")
	if err := os.Symlink(b.installed().Executable, filepath.Join(b.folder().Dir, "fetched")); err != nil {
		t.Fatal(err)
	}
	if path, err := b.folder().Keep(filepath.Join(b.folder().Dir, "fetched"), p); err == nil {
		t.Errorf("a link is kept as %s", path)
	}
}

// A program that is not as it was written is not started: the former one is, and why is told.
func TestDamageIsPutBack(t *testing.T) {
	for name, damage := range map[string]func(b *bench, path string) error{
		"truncated": func(_ *bench, path string) error { return os.Truncate(path, 3) },
		"gone":      func(_ *bench, path string) error { return os.Remove(path) },
		"zeros":     func(_ *bench, path string) error { return os.WriteFile(path, make([]byte, 14), 0o755) },
		"a link": func(b *bench, path string) error {
			return errors.Join(os.Rename(path, b.dir+"/elsewhere"), os.Symlink(b.dir+"/elsewhere", path))
		},
		"a directory":       func(_ *bench, path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o755)) },
		"others may write":  func(_ *bench, path string) error { return os.Chmod(path, 0o757) },
		"others' directory": func(_ *bench, path string) error { return os.Chmod(filepath.Dir(path), 0o777) },
	} {
		b, p := newBench(t), program("v1.1.0")
		b.mustUpdate(b.installed(), p)
		if err := damage(b, filepath.Join(b.folder().Dir, p.name())); err != nil {
			t.Fatal(err)
		}
		if version, told := b.starts(); version != "" || told == nil {
			t.Errorf("%s: %q is started: %v", name, version, told)
		}
		if r, err := b.folder().Read(); err != nil || r.Current != nil || r.Failure == nil {
			t.Errorf("%s: %+v %v", name, r, err)
		}
	}
}

// A damaged record leaves the installed program running, which can be updated.
func TestDamagedRecord(t *testing.T) {
	for _, text := range []string{"", "{", `{"format":"tenet.programs/9"}`, `{"format":"tenet.programs/1","current":{"version":"../x"}}`} {
		b, p := newBench(t), program("v1.1.0")
		if err := os.WriteFile(filepath.Join(b.folder().Dir, recordName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if version, told := b.starts(); version != "" || told == nil {
			t.Errorf("%q: %q is started: %v", text, version, told)
		}
		b.mustUpdate(b.installed(), p)
		if version, told := b.starts(); version != "v1.1.0" || told != nil {
			t.Errorf("%q: %q is started: %v", text, version, told)
		}
	}
}

// Who installs a later program by hand gets that one.
func TestInstalledByHand(t *testing.T) {
	for version, isOwn := range map[string]bool{"v1.0.5": false, "v1.1.0": false, "v1.2.0": true, "devel": true} {
		b, p := newBench(t), program("v1.1.0")
		b.mustUpdate(b.installed(), p)
		path, _, told := b.folder().choose(Own{Version: version, Executable: b.installed().Executable})
		if told != nil || (path == "") != isOwn {
			t.Errorf("%s: %q is started: %v", version, path, told)
		}
	}
}

// What cannot be executed is put back in the same start.
func TestLaunchFails(t *testing.T) {
	b, p := newBench(t), program("v1.1.0") // it is no program
	b.mustUpdate(b.installed(), p)
	var logs bytes.Buffer
	b.folder().Launch(b.installed(), []string{"tenet"}, nil, func(text string) { logs.WriteString(text + "\n") })
	r, err := b.folder().Read()
	if err != nil || r.Current != nil || r.Failure == nil || !strings.Contains(r.Failure.Reason, "it cannot be started") {
		t.Errorf("%+v %v: %s", r, err, logs.String())
	}
}
