package packages

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
)

// manager is a package manager. Its methods get names that validate let pass.
type manager interface {
	// Installed says what is known of a package.
	Installed(ctx context.Context, h host.Host, name string) (installed, error)
	// Offers asks the package lists for several packages. One that they do not
	// know is missing from the answer. The error wraps errStale if the lists must
	// be fetched before.
	Offers(ctx context.Context, h host.Host, names []string) (offers, error)
	// Refresh fetches the package lists anew.
	Refresh(ctx context.Context, h host.Host) error
	// Transact installs, changes and removes several packages: in one go, if the
	// manager can.
	Transact(ctx context.Context, h host.Host, t transaction) error
	// Hold sets or lifts the mark that upgrades pass over.
	Hold(ctx context.Context, h host.Host, names []string, hold bool) error
}

// inspector is a manager that can tell what it has left unfinished.
type inspector interface {
	// Unfinished says what keeps it from working, and what repairs that. The
	// packages named there may be dealt with all the same. Nil: nothing.
	Unfinished(h host.Host) (*interruption, error)
}

// lister is a manager that knows what somebody has asked for.
type lister interface {
	// Asked names the packages that are installed since somebody wanted them, and
	// not since they belong to every system or others need them.
	Asked(ctx context.Context, h host.Host) ([]string, error)
}

// withoutHolds is a manager without a mark that upgrades pass over.
type withoutHolds interface {
	NoHold() string // says so
}

var (
	errStale  = errors.New("the package lists are older than their sources")
	errNoList = errors.New("this host's package manager does not tell which packages somebody has asked for")
)

type installed struct {
	Version  string // empty: not installed
	Hold     bool
	Leftover bool   // removed, but its configuration is there
	State    string // of a package that is neither there nor gone; empty: it is one of these
}

// offers holds what the lists have of each package that they know.
type offers map[string]offer

// offer finds a package, which a list may name without its architecture.
func (o offers) offer(name string) offer {
	if found, ok := o[name]; ok {
		return found
	}
	bare, _, _ := strings.Cut(name, ":")
	return o[bare]
}

type offer struct {
	Newest    string // empty: none
	Versions  []string
	Providers []string // of a name that no package has
}

// isKnown reports whether the lists know the name at all.
func (o offer) isKnown() bool { return o.Newest != "" || len(o.Versions)+len(o.Providers) > 0 }

// transaction is what is to be done in one go.
type transaction struct {
	Install []target
	Remove  []string
	Purge   []string // removed with their configuration
	Held    bool     // packages on hold may be changed, too
}

type target struct {
	Name, Version string // Version is empty for any
	Open          bool   // the version is the newest one, and the site does not name it
}

// find chooses the manager that the host has.
func find(h host.Reader) (manager, error) {
	for _, known := range []struct {
		path string
		m    manager
	}{
		{"/usr/bin/apt-get", apt{}},
		{"/usr/bin/dnf", dnf{}},
		{"/usr/bin/zypper", zypper{}},
		{"/usr/bin/pacman", pacman{}},
		{"/sbin/apk", apk{}},
		{"/usr/bin/apk", apk{}},
	} {
		switch _, err := h.Lstat(known.path); {
		case err == nil:
			return known.m, nil
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	return nil, errors.New("this host has no package manager that tenet can use: it has none of apt-get, dnf, zypper, pacman and apk")
}
