package packages

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
)

// apk is the package manager of Alpine Linux. A version that a part gives is kept in
// /etc/apk/world, so that upgrades keep to it as well.
type apk struct{}

const (
	apkDatabase = "/lib/apk/db/installed"
	apkWorld    = "/etc/apk/world"
)

// NoHold implements unholding.
func (apk) NoHold() string { return "apk has no such mark; an exact version keeps upgrades away" }

// Installed implements manager, by apk's own record: stanzas with a line P:NAME and a
// line V:VERSION.
func (apk) Installed(_ context.Context, h host.Host, name string) (installed, error) {
	known, err := host.Cached(h, "apk", []string{apkDatabase}, func() (map[string]string, error) {
		text, err := textOf(h, apkDatabase)
		return parseAPK(text), err
	})
	return installed{Version: known[name]}, err
}

func parseAPK(text string) map[string]string {
	known, name := map[string]string{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if value, ok := strings.CutPrefix(line, "P:"); ok {
			name = value
		} else if value, ok := strings.CutPrefix(line, "V:"); ok && name != "" {
			known[name] = value
		} else if line == "" {
			name = ""
		}
	}
	return known
}

// Offers implements manager: all versions by apk policy, and the newest ones by apk
// search.
func (apk) Offers(ctx context.Context, h host.Host, names []string) (offers, error) {
	reads := []string{"/etc/apk", "/lib/apk/db", "/var/cache/apk"}
	policy, err := ask(ctx, h, reads, append([]string{"apk", "--no-network", "policy", "--"}, names...)...)
	if err != nil {
		return nil, err
	}
	newest, err := ask(ctx, h, reads, append([]string{"apk", "--no-network", "search", "--exact", "--"}, names...)...)
	return parseAPKPolicy(policy, newest), err
}

// parseAPKPolicy reads, from apk policy, a line "NAME policy:", for each version a line
// "  VERSION:" and below it where it is from; from apk search lines NAME-VERSION-rN.
func parseAPKPolicy(policy, newest string) offers {
	known, name := offers{}, ""
	for line := range strings.Lines(policy) {
		line = strings.TrimRight(line, "\n")
		switch indent := len(line) - len(strings.TrimLeft(line, " ")); {
		case indent == 0:
			name, _, _ = strings.Cut(line, " ")
		case indent == 2 && name != "":
			o := known[name]
			o.Versions = append(o.Versions, strings.TrimSuffix(strings.TrimSpace(line), ":"))
			known[name] = o
		}
	}
	for line := range strings.Lines(newest) {
		if name, version, ok := cutVersion(strings.TrimSpace(line)); ok {
			if o, there := known[name]; there {
				o.Newest = version
				known[name] = o
			}
		}
	}
	return known
}

// Refresh implements manager.
func (apk) Refresh(ctx context.Context, h host.Host) error {
	return act(ctx, h, apkLock, "apk", "--quiet", "--no-interactive", "update")
}

func apkLock(_ int, text string) *lockedError {
	if !strings.Contains(text, "Unable to lock database") {
		return nil
	}
	return &lockedError{lock: "/lib/apk/db/lock", holder: "another process"}
}

// Transact implements manager. A version that the site does not name is left open,
// since apk would keep to it from then on.
func (apk) Transact(ctx context.Context, h host.Host, t transaction) error {
	for _, gone := range []struct {
		flags []string
		names []string
	}{{nil, t.Remove}, {[]string{"--purge"}, t.Purge}} {
		if len(gone.names) == 0 {
			continue
		}
		argv := slices.Concat([]string{"apk", "--quiet", "--no-interactive", "del"}, gone.flags, []string{"--"}, gone.names)
		if err := act(ctx, h, apkLock, argv...); err != nil {
			return err
		}
	}
	if len(t.Install) == 0 {
		return nil
	}
	argv := []string{"apk", "--quiet", "--no-interactive", "add", "--upgrade", "--"}
	for _, p := range t.Install {
		if p.Version != "" && !p.Open {
			p.Name += "=" + p.Version
		}
		argv = append(argv, p.Name)
	}
	return act(ctx, h, apkLock, argv...)
}

// Hold implements manager.
func (a apk) Hold(context.Context, host.Host, []string, bool) error {
	return fmt.Errorf("hold: %s", a.NoHold())
}

// Asked implements lister, by the list of what the system is to have.
func (apk) Asked(_ context.Context, h host.Host) ([]string, error) {
	text, err := textOf(h, apkWorld)
	var names []string
	for _, word := range strings.Fields(text) {
		if i := strings.IndexAny(word, "=<>~@"); i >= 0 {
			word = word[:i]
		}
		if word != "" && word[0] != '!' {
			names = append(names, word)
		}
	}
	slices.Sort(names)
	return names, err
}
