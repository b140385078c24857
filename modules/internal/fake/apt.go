package fake

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

const (
	repository = "/var/lib/fake/repository/"
	lists      = "/var/lib/apt/lists/"
	status     = "/var/lib/dpkg/status"
	// AptLock is a file whose being there means that another process is at
	// work with the packages.
	AptLock = "/var/lib/dpkg/lock-held"
	// AptLog is a file with a line for each transaction.
	AptLog = "/var/lib/fake/log"
)

// Apt adds apt-get, apt-cache and apt-mark.
func Apt(t testing.TB, h *host.Memory) {
	t.Helper()
	Put(t, h, "/usr/bin/apt-get", "", 0o755)
	Put(t, h, status, "Package: base-files\nStatus: install ok installed\nArchitecture: amd64\nVersion: 12.4\n"+
		"Description: files\n Package: telnetd\n\n", 0o644)
	Put(t, h, AptLog, "", 0o644)
	Dir(t, h, strings.TrimSuffix(repository, "/"), 0o755)
	Dir(t, h, strings.TrimSuffix(lists, "/"), 0o755)
	handle(h, "apt-get", "-o= -y -q --allow-downgrades --allow-change-held-packages", aptGet)
	handle(h, "apt-cache", "", aptCache)
	handle(h, "apt-mark", "", aptMark)
}

// Offer puts versions of a package into the repository, the newest last, and
// into the package lists if listed.
func Offer(t testing.TB, h host.Host, listed bool, name string, versions ...string) {
	t.Helper()
	Put(t, h, repository+name, strings.Join(versions, "\n"), 0o644)
	if listed {
		Put(t, h, lists+name, strings.Join(versions, "\n"), 0o644)
	}
}

// Installed puts a package into dpkg's record; want is its selection state,
// "install" or "hold".
func Installed(t testing.TB, h host.Host, name, version, want string) {
	t.Helper()
	p := &program{ctx: t.Context(), h: h.(*host.Memory)}
	if err := p.record(name, want+" ok installed", version); err != nil {
		t.Fatal(err)
	}
}

func (p *program) record(name, state, version string) error {
	return p.write(status, p.recordWithout(name)+
		fmt.Sprintf("Package: %s\nStatus: %s\nArchitecture: amd64\nVersion: %s\n\n", name, state, version))
}

func (p *program) recordWithout(name string) string {
	var kept strings.Builder
	for stanza := range strings.SplitSeq(Text(p.h, status), "\n\n") {
		if stanza != "" && !strings.HasPrefix(stanza, "Package: "+name+"\n") {
			kept.WriteString(stanza + "\n\n")
		}
	}
	return kept.String()
}

func (p *program) field(name, key string) string {
	for stanza := range strings.SplitSeq(Text(p.h, status), "\n\n") {
		if !strings.HasPrefix(stanza, "Package: "+name+"\n") {
			continue
		}
		for line := range strings.Lines(stanza) {
			if value, ok := strings.CutPrefix(line, key+": "); ok {
				return strings.TrimSpace(value)
			}
		}
	}
	return ""
}

func aptGet(p *program) (host.Result, error) {
	verb, names := p.args[0], p.args[1:]
	if Exists(p.h, AptLock) {
		return p.fail(100, "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 4242 (unattended-upgr)\n"+
			"E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is another process using it?")
	}
	if err := p.write(AptLog, Text(p.h, AptLog)+strings.Join(p.args, " ")+"\n"); err != nil {
		return host.Result{}, err
	}
	switch verb {
	case "update":
		return p.update()
	case "install":
		return p.install(names)
	}
	if p.held(names) {
		return p.fail(100, heldMessage)
	}
	for _, name := range names {
		state := "deinstall ok config-files"
		if verb == "purge" {
			if err := p.write(status, p.recordWithout(name)); err != nil {
				return host.Result{}, err
			}
			continue
		}
		if err := p.record(name, state, p.field(name, "Version")); err != nil {
			return host.Result{}, err
		}
	}
	return p.done()
}

func (p *program) update() (host.Result, error) {
	entries, err := p.h.ReadDir(strings.TrimSuffix(repository, "/"))
	for _, e := range entries {
		if err == nil {
			err = p.write(lists+e.Name, Text(p.h, repository+e.Name))
		}
	}
	if err != nil {
		return host.Result{}, err
	}
	return p.done()
}

const heldMessage = "E: Held packages were changed and -y was used without --allow-change-held-packages."

// held reports whether one of the packages is on hold, and must stay.
func (p *program) held(names []string) bool {
	_, allowed := p.flags["--allow-change-held-packages"]
	return !allowed && slices.ContainsFunc(names, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return strings.HasPrefix(p.field(name, "Status"), "hold")
	})
}

// install installs all or, where one is broken, none.
func (p *program) install(names []string) (host.Result, error) {
	for _, arg := range names {
		if strings.HasPrefix(arg, "broken") {
			return p.fail(100, "E: Unable to correct problems, you have held broken packages.")
		}
	}
	if p.held(names) {
		return p.fail(100, heldMessage)
	}
	for _, arg := range names {
		name, version, _ := strings.Cut(arg, "=")
		if version == "" {
			versions := strings.Fields(Text(p.h, lists+name))
			version = versions[len(versions)-1]
		}
		if err := p.record(name, "install ok installed", version); err != nil {
			return host.Result{}, err
		}
	}
	return p.done()
}

func aptCache(p *program) (host.Result, error) {
	for _, name := range p.args[1:] {
		versions := strings.Fields(Text(p.h, lists+name))
		have := p.field(name, "Version")
		if len(versions) == 0 && have == "" {
			continue
		}
		if have != "" && !slices.Contains(versions, have) {
			versions = append([]string{have}, versions...)
		}
		fmt.Fprintf(&p.out, "%s:\n  Installed: %s\n  Candidate: %s\n  Version table:\n", name, have, versions[len(versions)-1])
		for _, v := range slices.Backward(versions) {
			mark := "    "
			if v == have {
				mark = " ***"
			}
			fmt.Fprintf(&p.out, "%s %s 500\n        500 file:/repository ./ Packages\n", mark, v)
		}
	}
	return p.done()
}

func aptMark(p *program) (host.Result, error) {
	want := map[string]string{"hold": "hold", "unhold": "install"}[p.args[0]]
	for _, name := range p.args[1:] {
		if err := p.record(name, want+" ok installed", p.field(name, "Version")); err != nil {
			return host.Result{}, err
		}
	}
	return p.done()
}
