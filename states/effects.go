package states

import (
	"slices"
	"strings"
)

// Effects is what acts of a module may touch beside what a plan sees of them on a Shadow:
// what a program does that is started, or a service. It is plain data, and a promise: a
// plan is certain of whatever is not in it.
//
// Names are patterns as path.Match has them; those of paths are matched name by name, and
// stand for all that is below, too. A * alone stands for directories that are there, if it is not
// the last name.
type Effects struct {
	// Anything: nobody can tell; nothing else counts then.
	Anything bool `json:"anything,omitempty"`
	// Paths may be made, changed and removed.
	Paths []string `json:"paths,omitempty"`
	// Adds are paths at which something may be made where nothing is. What is there stays.
	Adds []string `json:"adds,omitempty"`
	// Accounts are names of users and groups.
	Accounts []string `json:"accounts,omitempty"`
	// Services may be started, stopped, enabled and disabled, by the names of their units.
	Services []string `json:"services,omitempty"`
	// Packages may be installed, changed and removed.
	Packages []string `json:"packages,omitempty"`
	// Settings are parameters of the running kernel, such as net.ipv4.ip_forward.
	Settings []string `json:"settings,omitempty"`
	// Provides: it may bring whatever else something needs that is missing now.
	Provides bool `json:"provides,omitempty"`
}

// Literal gives the pattern of a path or a name that stands for nothing but itself.
func Literal(name string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(name)
}

// None reports whether nothing is touched.
func (e *Effects) None() bool {
	return !e.Anything && !e.Provides && len(e.Paths)+len(e.Adds)+len(e.Accounts)+len(e.Services)+len(e.Packages)+len(e.Settings) == 0
}

// Add adds what other acts may touch.
func (e *Effects) Add(o Effects) {
	e.Anything, e.Provides = e.Anything || o.Anything, e.Provides || o.Provides
	for _, list := range []struct {
		to   *[]string
		from []string
	}{
		{&e.Paths, o.Paths}, {&e.Adds, o.Adds}, {&e.Accounts, o.Accounts},
		{&e.Services, o.Services}, {&e.Packages, o.Packages}, {&e.Settings, o.Settings},
	} {
		*list.to = sortedUnion(*list.to, list.from)
	}
}

func sortedUnion(a, b []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}
