package packages

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
)

// dnf is the package manager of Fedora and its relatives.
type dnf struct{}

// versionLocks is the list of dnf's versionlock plugin: a line NAME-EPOCH:VERSION-RELEASE.*
// for each package.
const versionLocks = "/etc/dnf/plugins/versionlock.list"

// Installed implements manager.
func (dnf) Installed(ctx context.Context, h host.Host, name string) (installed, error) {
	p, err := rpmInstalled(ctx, h, name)
	if err != nil {
		return p, err
	}
	text, err := textOf(h, versionLocks)
	p.Hold = isLocked(text, name)
	return p, err
}

// textOf reads a small file; one that is not there is empty.
func textOf(h host.Reader, name string) (string, error) {
	data, err := host.ReadFile(h, name, 16<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(data), err
}

// isLocked reports whether a line of the list is about the package: its name, and then
// an epoch.
func isLocked(locks, name string) bool {
	name, _, _ = strings.Cut(name, ":")
	for line := range strings.Lines(locks) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), name+"-")
		epoch, _, hasEpoch := strings.Cut(rest, ":")
		if ok && (strings.Trim(epoch, "0123456789") == "" && hasEpoch || rest == "*") {
			return true
		}
	}
	return false
}

// Offers implements manager, from what dnf has in its cache: a plan fetches nothing.
func (dnf) Offers(ctx context.Context, h host.Host, names []string) (offers, error) {
	query := func(more ...string) (string, error) {
		argv := []string{"dnf", "-y", "-q", "-C", "--disableplugin=versionlock", "repoquery", "--queryformat", `%{name}\t%{evr}\t%{arch}\n`}
		return ask(ctx, h, append(rpmDatabases(), "/etc/dnf", "/etc/yum.repos.d", "/var/cache/dnf", "/var/cache/libdnf5"), append(argv, more...)...)
	}
	all, err := query(append([]string{"--"}, rpmNames(names)...)...)
	if err != nil {
		return nil, err
	}
	newest, err := query(append([]string{"--latest-limit=1", "--"}, rpmNames(names)...)...)
	if err != nil {
		return nil, err
	}
	known := parseOffers(all, newest)
	for _, name := range names {
		if known.offer(name).isKnown() {
			continue
		}
		text, err := query("--whatprovides", rpmName(name))
		if err != nil {
			return nil, err
		}
		if o := (offer{Providers: namesIn(text)}); o.isKnown() {
			known[name] = o
		}
	}
	return known, nil
}

// parseOffers reads lines of name, version and architecture: all versions, and the
// newest ones.
func parseOffers(all, newest string) offers {
	known := offers{}
	each := func(text string, add func(o *offer, version string)) {
		for line := range strings.Lines(text) {
			fields := strings.Split(strings.TrimSpace(line), "\t")
			if len(fields) != 3 {
				continue
			}
			for _, name := range []string{fields[0], fields[0] + ":" + fields[2]} {
				o := known[name]
				add(&o, strings.TrimPrefix(fields[1], "0:"))
				known[name] = o
			}
		}
	}
	each(all, func(o *offer, version string) {
		if !slices.Contains(o.Versions, version) {
			o.Versions = append(o.Versions, version)
		}
	})
	each(newest, func(o *offer, version string) { o.Newest = version })
	return known
}

// namesIn gives the first field of each line, once and sorted.
func namesIn(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 0 {
			names = append(names, fields[0])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Refresh implements manager.
func (dnf) Refresh(ctx context.Context, h host.Host) error {
	return act(ctx, h, dnfLock, "dnf", "-y", "-q", "makecache", "--refresh")
}

// dnfLock finds a lock that is held. For its own locks dnf waits by itself.
func dnfLock(_ int, text string) *lockedError { return rpmLock(text) }

// Transact implements manager. rpm keeps edited configuration, purge or not.
func (dnf) Transact(ctx context.Context, h host.Host, t transaction) error {
	argv := []string{"dnf", "-y", "-q"}
	if t.Held {
		argv = append(argv, "--disableplugin=versionlock")
	}
	if gone := slices.Concat(t.Remove, t.Purge); len(gone) > 0 {
		if err := act(ctx, h, dnfLock, slices.Concat(argv, []string{"remove", "--"}, rpmNames(gone))...); err != nil {
			return err
		}
	}
	if len(t.Install) == 0 {
		return nil
	}
	argv = append(argv, "install", "--")
	for _, p := range t.Install {
		name, arch, qualified := strings.Cut(p.Name, ":")
		if p.Version != "" {
			name += "-" + p.Version
		}
		if qualified {
			name += "." + arch
		}
		argv = append(argv, name)
	}
	return act(ctx, h, dnfLock, argv...)
}

// Hold implements manager by dnf's versionlock plugin.
func (dnf) Hold(ctx context.Context, h host.Host, names []string, hold bool) error {
	verb := "delete"
	if hold {
		verb = "add"
	}
	return act(ctx, h, dnfLock, append([]string{"dnf", "-y", "-q", "versionlock", verb}, rpmNames(names)...)...)
}

// Asked implements lister.
func (dnf) Asked(ctx context.Context, h host.Host) ([]string, error) {
	text, err := ask(ctx, h, append(rpmDatabases(), "/var/lib/dnf"), "dnf", "-q", "-C", "repoquery", "--userinstalled", "--queryformat", `%{name}\n`)
	return namesIn(text), err
}
