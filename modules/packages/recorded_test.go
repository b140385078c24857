package packages

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// recording is what a package manager has really printed, by its arguments: one answer
// after the other, the last one again and again.
type recording struct {
	t       *testing.T
	answers map[string][]host.Result
	asked   []string
}

// replay gives a host whose programs answer as they were recorded. What was never
// recorded fails the test: no call is made that was not tried.
func replay(t *testing.T, name string, programs ...string) (*host.Memory, *recording) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	r := &recording{t: t, answers: map[string][]host.Result{}}
	for _, block := range strings.Split("\n"+string(text), "\n$ ")[1:] {
		argv, rest, _ := strings.Cut(block, "\n--stdout\n")
		stdout, rest, _ := strings.Cut("\n"+rest, "\n--stderr\n")
		stderr, rest, ok := strings.Cut("\n"+rest, "\n--exit ")
		if !ok {
			t.Fatalf("the recording of %q is not whole", argv)
		}
		result := host.Result{Stdout: []byte(stdout), Stderr: []byte(stderr)}
		for _, digit := range strings.TrimRight(strings.SplitN(rest, "\n", 2)[0], " ") {
			result.ExitCode = 10*result.ExitCode + int(digit-'0')
		}
		r.answers[argv] = append(r.answers[argv], result)
	}
	h := host.NewMemory()
	for _, program := range programs {
		h.Handle(program, r.answer)
	}
	for _, dir := range []string{"/usr", "/usr/bin", "/etc", "/etc/dnf", "/etc/dnf/plugins", "/etc/zypp", "/var", "/var/lib", "/var/lib/pacman", "/var/lib/pacman/local"} {
		if err := h.Mkdir(dir, host.Meta{}); err != nil {
			t.Fatal(err)
		}
	}
	put(t, h, "/usr/bin/"+name, "")
	return h, r
}

func put(t *testing.T, h host.Host, name, text string) {
	t.Helper()
	if err := h.WriteFile(t.Context(), name, host.Text(text), host.Meta{}); err != nil {
		t.Fatal(err)
	}
}

func (r *recording) answer(_ context.Context, c host.Command) (host.Result, error) {
	argv := strings.Join(c.Argv, " ")
	r.asked = append(r.asked, argv)
	answers := r.answers[argv]
	if len(answers) == 0 {
		r.t.Errorf("never recorded: %s", argv)
		return host.Result{ExitCode: 127}, nil
	}
	if len(answers) > 1 {
		r.answers[argv] = answers[1:]
	}
	return answers[0], nil
}

// has checks what is installed.
func has(t *testing.T, m manager, h host.Host, name string, want installed) {
	t.Helper()
	if got, err := m.Installed(t.Context(), h, name); err != nil || got != want {
		t.Errorf("%s: %+v, want %+v (%v)", name, got, want, err)
	}
}

func offersAre(t *testing.T, m manager, h host.Host, want map[string]offer) {
	t.Helper()
	names := []string{"lab-one", "lab-thing", "lab-two", "nosuch"}
	got, err := m.Offers(t.Context(), h, names)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		slices.Sort(got[name].Versions)
		if o, w := got.offer(name), want[name]; o.Newest != w.Newest || !slices.Equal(o.Versions, w.Versions) || !slices.Equal(o.Providers, w.Providers) {
			t.Errorf("%s: %+v, want %+v", name, o, w)
		}
	}
}

// does wants an act to go well, or to fail with a text.
func does(t *testing.T, err error, fails string) {
	t.Helper()
	if fails == "" && err != nil || fails != "" && (err == nil || !strings.Contains(err.Error(), fails)) {
		t.Errorf("the error is %v, want %q", err, fails)
	}
}

func TestDNF(t *testing.T) {
	h, _ := replay(t, "dnf", "dnf", "rpm")
	m, ctx := dnf{}, t.Context()
	does(t, m.Refresh(ctx, h), "")
	has(t, m, h, "lab-one", installed{})
	offersAre(t, m, h, map[string]offer{
		"lab-one":   {Newest: "2.0-1", Versions: []string{"1.0-1", "2.0-1"}},
		"lab-two":   {Newest: "1:1.0-1", Versions: []string{"1:1.0-1"}},
		"lab-thing": {Providers: []string{"lab-second"}},
	})
	does(t, m.Transact(ctx, h, transaction{Install: []target{{Name: "lab-one", Version: "1.0-1"}, {Name: "lab-two", Version: "1:1.0-1"}}}), "")
	has(t, m, h, "lab-two", installed{Version: "1:1.0-1"})
	does(t, m.Transact(ctx, h, transaction{Install: []target{{Name: "lab-one", Version: "2.0-1"}}, Remove: []string{"lab-two"}}), "")
	has(t, m, h, "lab-one:noarch", installed{Version: "2.0-1"})
	has(t, m, h, "lab-one:x86_64", installed{})
	does(t, m.Hold(ctx, h, []string{"lab-one"}, true), "")
	put(t, h, versionLocks, "\n# Added lock on Sat Nov 21 20:11:03 2026\nlab-one-0:2.0-1.*\n")
	has(t, m, h, "lab-one", installed{Version: "2.0-1", Hold: true})
	has(t, m, h, "lab", installed{})
	older := transaction{Install: []target{{Name: "lab-one", Version: "1.0-1"}}}
	does(t, m.Transact(ctx, h, older), "Unable to find a match: lab-one-1.0-1")
	older.Held = true
	does(t, m.Transact(ctx, h, older), "")
	does(t, m.Hold(ctx, h, []string{"lab-one"}, false), "")
	does(t, m.Transact(ctx, h, transaction{Install: []target{{Name: "lab-needs"}}}), "nothing provides nothing-has-this")
	if names, err := m.Asked(ctx, h); err != nil || !slices.Equal(names, []string{"lab-one"}) {
		t.Errorf("asked for: %q, %v", names, err)
	}
}

func TestZypper(t *testing.T) {
	h, _ := replay(t, "zypper", "zypper", "rpm")
	m, ctx := zypper{}, t.Context()
	has(t, m, h, "lab-one", installed{})
	offersAre(t, m, h, map[string]offer{
		"lab-one":   {Newest: "2.0-1", Versions: []string{"1.0-1", "2.0-1"}},
		"lab-two":   {Newest: "1:1.0-1", Versions: []string{"1:1.0-1"}},
		"lab-thing": {Providers: []string{"lab-second"}},
	})
	does(t, m.Transact(ctx, h, transaction{Install: []target{{Name: "lab-one", Version: "1.0-1"}, {Name: "lab-two"}}}), "")
	has(t, m, h, "lab-two", installed{Version: "1:1.0-1"})
	does(t, m.Transact(ctx, h, transaction{Install: []target{{Name: "lab-one", Version: "2.0-1"}}, Purge: []string{"lab-two"}}), "")
	has(t, m, h, "lab-one", installed{Version: "2.0-1"})
	does(t, m.Hold(ctx, h, []string{"lab-one"}, true), "")
	put(t, h, zypperLocks, "\ntype: package\nmatch_type: glob\ncase_sensitive: on\nsolvable_name: lab-one\n\n")
	has(t, m, h, "lab-one:noarch", installed{Version: "2.0-1", Hold: true})
	has(t, m, h, "lab-two", installed{})
	does(t, m.Hold(ctx, h, []string{"lab-one"}, false), "")
	does(t, m.Transact(ctx, h, transaction{Install: []target{{Name: "lab-needs"}}}), "nothing provides nothing-has-this")
	does(t, m.Transact(ctx, h, transaction{Remove: []string{"lab-one"}}), "")
	does(t, m.Refresh(ctx, h), "")
	// By zypper(8); that somebody else is at work was not recorded.
	if l := zypperLock(7, "System management is locked by the application with pid 42 (zypper).\n"); l == nil || l.holder != "process 42 (zypper)" {
		t.Errorf("locked by %+v", l)
	}
}

func TestPacman(t *testing.T) {
	h, _ := replay(t, "pacman", "pacman")
	m, ctx := pacman{}, t.Context()
	offersAre(t, m, h, nil)
	does(t, m.Refresh(ctx, h), "")
	offersAre(t, m, h, map[string]offer{
		"lab-one": {Newest: "1.0-1", Versions: []string{"1.0-1"}},
		"lab-two": {Newest: "1:1.0-1", Versions: []string{"1:1.0-1"}},
	})
	has(t, m, h, "lab-two", installed{})
	does(t, m.Transact(ctx, h, transaction{Install: []target{{Name: "lab-one", Version: "1.0-1"}, {Name: "lab-two"}}}), "")
	for _, name := range []string{"lab-one-1.0-1", "lab-two-1:1.0-1"} {
		if err := h.Mkdir("/var/lib/pacman/local/"+name, host.Meta{}); err != nil {
			t.Fatal(err)
		}
	}
	put(t, h, "/var/lib/pacman/local/ALPM_DB_VERSION", "9\n")
	has(t, m, h, "lab-two", installed{Version: "1:1.0-1"})
	has(t, m, h, "lab", installed{})
	does(t, m.Refresh(ctx, h), "")
	offersAre(t, m, h, map[string]offer{
		"lab-one": {Newest: "2.0-1", Versions: []string{"2.0-1"}},
		"lab-two": {Newest: "1:1.0-1", Versions: []string{"1:1.0-1"}},
	})
	does(t, m.Transact(ctx, h, transaction{Install: []target{{Name: "lab-one", Version: "2.0-1"}}}), "")
	does(t, m.Transact(ctx, h, transaction{Install: []target{{Name: "lab-needs"}}}), `cannot resolve "nothing-has-this"`)
	if names, err := m.Asked(ctx, h); err != nil || !slices.Equal(names, []string{"lab-one", "lab-two"}) {
		t.Errorf("asked for: %q, %v", names, err)
	}
	does(t, m.Transact(ctx, h, transaction{Remove: []string{"lab-two"}, Purge: []string{"lab-one"}}), "")
	does(t, m.Transact(ctx, h, transaction{Install: []target{{Name: "lab-two"}}}), pacmanLockFile)
}

// What a manager cannot do is refused before anything is done.
func TestNoHold(t *testing.T) {
	h, r := replay(t, "pacman", "pacman")
	err := Module.Write(t.Context(), h, nil, &Package{Name: "lab-one", Hold: new(true)})
	does(t, err, "hold: this host cannot do that")
	if len(r.asked) > 0 {
		t.Errorf("asked: %q", r.asked)
	}
}

// A part goes its whole way with a manager other than apt, too.
func TestPartWithDNF(t *testing.T) {
	h, _ := replay(t, "dnf", "dnf", "rpm")
	want, err := Module.Complete(states.WithPeers(t.Context(), func(string) []any {
		return []any{&Package{Name: "lab-one"}, &Package{Name: "lab-two"}, &Package{Name: "lab-thing"}, &Package{Name: "nosuch"}}
	}), h, &Package{Name: "lab-one"})
	if err != nil || *want.(*Package).Version != "2.0-1" {
		t.Errorf("%+v, %v", want, err)
	}
}

// As apk's manual pages describe its files and what it prints.
func TestAPK(t *testing.T) {
	h := host.NewMemory()
	for _, dir := range []string{"/sbin", "/etc", "/etc/apk", "/lib", "/lib/apk", "/lib/apk/db"} {
		if err := h.Mkdir(dir, host.Meta{}); err != nil {
			t.Fatal(err)
		}
	}
	put(t, h, "/sbin/apk", "")
	put(t, h, apkDatabase, "C:Q1abc=\nP:musl\nV:1.2.4-r2\nA:x86_64\nF:lib\nR:x\n\nC:Q1def=\nP:lab-one\nV:1.0-r0\nA:x86_64\n\n")
	put(t, h, apkWorld, "alpine-base\nlab-one=1.0-r0\n!lab-two\nlab-three@edge\n")
	var did []string
	h.Handle("apk", func(_ context.Context, c host.Command) (host.Result, error) {
		line := strings.Join(c.Argv, " ")
		did = append(did, line)
		switch {
		case strings.Contains(line, " policy "):
			return host.Result{Stdout: []byte("lab-one policy:\n  2.0-r0:\n    https://mirror.example.test/main\n  1.0-r0:\n    lib/apk/db/installed\n    https://mirror.example.test/main\n")}, nil
		case strings.Contains(line, " search "):
			return host.Result{Stdout: []byte("lab-one-2.0-r0\nother-1-r0\n")}, nil
		case strings.Contains(line, "locked"):
			return host.Result{ExitCode: 99, Stderr: []byte("ERROR: Unable to lock database: temporary error (try again later)\n")}, nil
		}
		return host.Result{}, nil
	})
	found, err := find(h)
	if _, ok := found.(apk); !ok || err != nil {
		t.Fatalf("%T, %v", found, err)
	}
	m, ctx := apk{}, t.Context()
	has(t, m, h, "lab-one", installed{Version: "1.0-r0"})
	has(t, m, h, "lab", installed{})
	offersAre(t, m, h, map[string]offer{"lab-one": {Newest: "2.0-r0", Versions: []string{"1.0-r0", "2.0-r0"}}})
	did = nil
	does(t, m.Transact(ctx, h, transaction{
		Install: []target{{Name: "lab-one", Version: "1.0-r0"}, {Name: "lab-new", Version: "3-r0", Open: true}}, Remove: []string{"a"}, Purge: []string{"b"},
	}), "")
	want := []string{
		"apk --quiet --no-interactive del -- a", "apk --quiet --no-interactive del --purge -- b",
		"apk --quiet --no-interactive add --upgrade -- lab-one=1.0-r0 lab-new",
	}
	if !slices.Equal(did, want) {
		t.Errorf("it did %q, want %q", did, want)
	}
	does(t, m.Transact(ctx, h, transaction{Install: []target{{Name: "locked"}}}), "is held by another process")
	if names, err := m.Asked(ctx, h); err != nil || !slices.Equal(names, []string{"alpine-base", "lab-one", "lab-three"}) {
		t.Errorf("asked for: %q, %v", names, err)
	}
}
