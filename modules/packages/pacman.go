package packages

import (
	"context"
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
)

// pacman is the package manager of Arch Linux and its relatives. Its lists have one
// version of each package.
type pacman struct{}

const pacmanLockFile = "/var/lib/pacman/db.lck"

func pacmanReads() []string { return []string{"/etc/pacman.conf", "/etc/pacman.d", "/var/lib/pacman"} }

// NoHold implements unholding.
func (pacman) NoHold() string {
	return "pacman has no such mark; IgnorePkg in /etc/pacman.conf is alike"
}

// Installed implements manager, by pacman's own directory of what is installed: one for
// each package, named NAME-VERSION-RELEASE.
func (pacman) Installed(_ context.Context, h host.Host, name string) (installed, error) {
	known, err := host.Cached(h, "pacman", []string{"/var/lib/pacman/local"}, func() (map[string]string, error) {
		entries, err := h.ReadDir("/var/lib/pacman/local")
		known := map[string]string{}
		for _, e := range entries {
			if name, version, ok := cutVersion(e.Name); ok {
				known[name] = version
			}
		}
		return known, err
	})
	return installed{Version: known[name]}, err
}

// cutVersion takes NAME-VERSION-RELEASE apart: neither of the last two has a dash.
func cutVersion(text string) (name, version string, ok bool) {
	last := strings.LastIndexByte(text, '-')
	if last <= 0 {
		return "", "", false
	}
	before := strings.LastIndexByte(text[:last], '-')
	if before <= 0 {
		return "", "", false
	}
	return text[:before], text[before+1:], true
}

// Offers implements manager, by the list of all packages.
func (pacman) Offers(ctx context.Context, h host.Host, _ []string) (offers, error) {
	text, err := ask(ctx, h, pacmanReads(), "pacman", "-Sl")
	return parseSync(text), err
}

// parseSync reads lines of repository, name and version. Of several repositories the
// first one counts.
func parseSync(text string) offers {
	known := offers{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		if _, ok := known[fields[1]]; !ok {
			known[fields[1]] = offer{Newest: fields[2], Versions: fields[2:3]}
		}
	}
	return known
}

// Refresh implements manager.
func (pacman) Refresh(ctx context.Context, h host.Host) error {
	return act(ctx, h, pacmanLock, "pacman", "-Sy", "--noconfirm", "--noprogressbar")
}

func pacmanLock(_ int, text string) *lockedError {
	if !strings.Contains(text, "unable to lock database") {
		return nil
	}
	return &lockedError{lock: pacmanLockFile, holder: "another process; if none is at work it is left of one that was killed, and may be removed"}
}

// Transact implements manager.
func (pacman) Transact(ctx context.Context, h host.Host, t transaction) error {
	for _, gone := range []struct {
		flags string
		names []string
	}{{"-R", t.Remove}, {"-Rn", t.Purge}} {
		if len(gone.names) == 0 {
			continue
		}
		if err := act(ctx, h, pacmanLock, append([]string{"pacman", gone.flags, "--noconfirm", "--noprogressbar", "--"}, gone.names...)...); err != nil {
			return err
		}
	}
	if len(t.Install) == 0 {
		return nil
	}
	argv := []string{"pacman", "-S", "--noconfirm", "--noprogressbar", "--needed", "--"}
	for _, p := range t.Install {
		argv = append(argv, p.Name) // in the one version that there is
	}
	return act(ctx, h, pacmanLock, argv...)
}

// Hold implements manager.
func (p pacman) Hold(context.Context, host.Host, []string, bool) error {
	return fmt.Errorf("hold: %s", p.NoHold())
}

// Asked implements lister.
func (pacman) Asked(ctx context.Context, h host.Host) ([]string, error) {
	text, err := ask(ctx, h, pacmanReads(), "pacman", "-Qqe")
	return namesIn(text), err
}
