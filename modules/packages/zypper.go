package packages

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/modules/internal/process"
	"github.com/tenetcm/tenet/runtime/host"
)

// zypper is the package manager of openSUSE and its relatives.
type zypper struct{}

// zypperNone is the exit status with which zypper says that it has found nothing.
const zypperNone = 104

// zypperLocks has, for each package that is held, a line "solvable_name: NAME".
const zypperLocks = "/etc/zypp/locks"

// Installed implements manager.
func (zypper) Installed(ctx context.Context, h host.Host, name string) (installed, error) {
	p, err := rpmInstalled(ctx, h, name)
	if err != nil {
		return p, err
	}
	text, err := textOf(h, zypperLocks)
	bare, _, _ := strings.Cut(name, ":")
	for line := range strings.Lines(text) {
		p.Hold = p.Hold || strings.TrimSpace(line) == "solvable_name: "+bare
	}
	return p, err
}

// Offers implements manager, from what zypper has in its cache: a plan fetches nothing.
func (zypper) Offers(ctx context.Context, h host.Host, names []string) (offers, error) {
	query := func(more ...string) (string, error) {
		argv := []string{"zypper", "--non-interactive", "--quiet", "--no-refresh", "--xmlout", "search", "-s", "-t", "package", "--match-exact"}
		text, err := ask(ctx, h, append(rpmDatabases(), "/etc/zypp", "/var/cache/zypp"), append(argv, more...)...)
		if exit, ok := errors.AsType[*process.ExitError](err); ok && exit.Result.ExitCode == zypperNone {
			return "", nil
		}
		return text, err
	}
	bare := make([]string, len(names))
	for i, name := range names {
		bare[i], _, _ = strings.Cut(name, ":")
	}
	text, err := query(append([]string{"--"}, bare...)...)
	if err != nil {
		return nil, err
	}
	known, err := parseSolvables(text)
	for i, name := range names {
		if err != nil || known.offer(name).isKnown() {
			continue
		}
		if text, err = query("--provides", "--", bare[i]); err != nil {
			return nil, err
		}
		var by offers
		if by, err = parseSolvables(text); len(by) > 0 {
			known[name] = offer{Providers: providersIn(by)}
		}
	}
	return known, err
}

func providersIn(by offers) []string {
	var names []string
	for name := range by {
		if !strings.Contains(name, ":") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// parseSolvables reads the XML of zypper search: a solvable for each version, of each
// name the newest one first.
func parseSolvables(text string) (offers, error) {
	var result struct {
		Solvables []struct {
			Name    string `xml:"name,attr"`
			Edition string `xml:"edition,attr"`
			Arch    string `xml:"arch,attr"`
		} `xml:"search-result>solvable-list>solvable"`
	}
	known := offers{}
	if strings.TrimSpace(text) == "" {
		return known, nil
	}
	if err := xml.Unmarshal([]byte(text), &result); err != nil {
		return nil, fmt.Errorf("what zypper search says cannot be read: %w", err)
	}
	for _, s := range result.Solvables {
		if s.Name == "" || s.Edition == "" {
			continue
		}
		for _, name := range []string{s.Name, s.Name + ":" + s.Arch} {
			o := known[name]
			if o.Newest == "" {
				o.Newest = s.Edition
			}
			if !slices.Contains(o.Versions, s.Edition) {
				o.Versions = append(o.Versions, s.Edition)
			}
			known[name] = o
		}
	}
	return known, nil
}

// Refresh implements manager.
func (zypper) Refresh(ctx context.Context, h host.Host) error {
	return act(ctx, h, zypperLock, "zypper", "--non-interactive", "--quiet", "refresh")
}

var zypperPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`pid (\d+) \(([^)]*)\)`)
})

// zypperLock finds a lock that is held: exit status 7, by zypper(8).
func zypperLock(exitCode int, text string) *lockedError {
	if exitCode != 7 {
		return rpmLock(text)
	}
	holder := "another process"
	if m := zypperPattern().FindStringSubmatch(text); m != nil {
		holder = "process " + m[1] + " (" + m[2] + ")"
	}
	return &lockedError{lock: "/run/zypp.pid", holder: holder}
}

// Transact implements manager in one go: what an exclamation mark stands before is
// removed. rpm keeps edited configuration, purge or not.
func (zypper) Transact(ctx context.Context, h host.Host, t transaction) error {
	gone := rpmNames(slices.Concat(t.Remove, t.Purge))
	argv := []string{"zypper", "--non-interactive", "--quiet", "--no-refresh"}
	if len(t.Install) == 0 {
		return act(ctx, h, zypperLock, slices.Concat(argv, []string{"remove", "--"}, gone)...)
	}
	argv = append(argv, "install", "--oldpackage", "--auto-agree-with-licenses", "--")
	for _, p := range t.Install {
		name := rpmName(p.Name)
		if p.Version != "" {
			name += "=" + p.Version
		}
		argv = append(argv, name)
	}
	for _, name := range gone {
		argv = append(argv, "!"+name)
	}
	return act(ctx, h, zypperLock, argv...)
}

// Hold implements manager.
func (zypper) Hold(ctx context.Context, h host.Host, names []string, hold bool) error {
	verb := "removelock"
	if hold {
		verb = "addlock"
	}
	bare := make([]string, len(names))
	for i, name := range names {
		bare[i], _, _ = strings.Cut(name, ":")
	}
	return act(ctx, h, zypperLock, append([]string{"zypper", "--non-interactive", "--quiet", verb, "--"}, bare...)...)
}
