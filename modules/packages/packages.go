// Package packages is the module "package": software that the host's package
// manager installs.
package packages

import (
	"context"
	"regexp"
	"sync"
	"time"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Package is the state of one package, wanted or observed. A nil attribute is
// not managed.
type Package struct {
	Name        string         `state:"name,key,package" doc:"Name of the package, with :ARCH behind it where another architecture is meant."`
	Version     *string        `state:"version" doc:"Exact version, or \"latest\": the newest that the host's package lists offer. Without it, any version will do."`
	Hold        *bool          `state:"hold,kept" doc:"Whether upgrades pass the package over."`
	Purge       *bool          `state:"purge,in,widens" doc:"Lets absent remove the package's configuration, too."`
	LockTimeout *time.Duration `state:"lock_timeout,in" doc:"How long to wait for others who are at work with the packages; 5 minutes where it is not given."`

	// state is what the package is in where it is neither installed nor gone:
	// only its configuration is there, or an installation did not end.
	state string
	// isChosen: complete has named the version, and not the site.
	isChosen bool
}

// Latest is the version that stands for the newest one.
const Latest = "latest"

const typeName = "package"

const example = `package "nginx" {}

package "postgresql-15" {
  version = "15.6-0+deb12u1"
  hold    = true
}

package "telnetd" {
  ensure = "absent"
  purge  = true
}`

// Module is the module "package".
var Module = states.Define(states.Type[Package]{
	Name: typeName, Doc: doc, Example: example,
	Locks: []string{"packages"}, Root: true,
	Retry:    &states.Retry{Attempts: 2, Delay: time.Second},
	Validate: validate, Complete: complete,
	Read: read, Write: write, Remove: remove, Batch: batch, Extra: unfinishedChanges,
	Import: importPackage, List: list, Effects: effects,
})

var (
	namePattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+_-]*(:[a-z0-9-]+)?$`)
	})
	versionPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+:~_^-]*$`)
	})
	removalPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`-(:|$)`)
	})
)

// longest is how long names and versions may be, which become file names.
const longest = 240

func validate(want Package) error {
	switch {
	case len(want.Name) > longest || !namePattern().MatchString(want.Name) || removalPattern().MatchString(want.Name):
		return states.InvalidAttribute("name", short(want.Name)+" is no name of a package", "")
	case want.Version != nil && (len(*want.Version) > longest || !versionPattern().MatchString(*want.Version)):
		return states.InvalidAttribute("version", short(*want.Version)+" is no version",
			`write an exact version, or "latest"`)
	}
	return nil
}

// short keeps what is wrong from filling a screen.
func short(text string) string {
	if len(text) > 200 {
		return text[:200] + "…"
	}
	return text
}

func read(ctx context.Context, h host.Host, want Package) (*Package, error) {
	m, err := find(h)
	if err != nil {
		return nil, err
	}
	found, err := m.Installed(ctx, h, want.Name)
	if err != nil {
		return nil, err
	}
	have := &Package{Name: want.Name, Purge: want.Purge, LockTimeout: want.LockTimeout}
	if want.Hold != nil {
		have.Hold = &found.Hold
	}
	switch {
	case found.State != "":
		have.state = found.State
		if found.Version != "" {
			have.Version = &found.Version
		}
	case found.Version != "":
		have.Version = &found.Version
	case found.Leftover && check.True(want.Purge):
		have.state = "only its configuration"
	default:
		return nil, nil
	}
	if want.Version != nil && *want.Version == Latest && have.Version != nil {
		have.Version = want.Version // the lists offer none, so it is the newest known
	}
	return have, nil
}

// unfinishedChanges makes a package of which only configuration is there, or whose
// installation has not ended, differ from an installed one.
func unfinishedChanges(have, _ Package) []states.Change {
	if have.state == "" {
		return nil
	}
	return []states.Change{{Attribute: "name", From: have.state, To: have.Name}}
}

func write(ctx context.Context, h host.Host, have *Package, want Package) error {
	return batch(ctx, h, []states.ItemOf[Package]{{Have: have, Want: &want}})[0]
}

func remove(ctx context.Context, h host.Host, have Package) error {
	return batch(ctx, h, []states.ItemOf[Package]{{Have: &have}})[0]
}

// importPackage leaves the version open, unless the package is held at it: a site
// should not name what the next upgrade changes.
func importPackage(ctx context.Context, h host.Host, key Package) (*Package, error) {
	have, err := read(ctx, h, Package{Name: key.Name, Hold: new(false)})
	if err != nil || have == nil || have.state != "" {
		return nil, err
	}
	if !check.True(have.Hold) {
		have.Version, have.Hold = nil, nil
	}
	return have, nil
}

// list names the packages that somebody has asked for.
func list(ctx context.Context, h host.Host, _ []string) ([]Package, error) {
	m, err := find(h)
	if err != nil {
		return nil, err
	}
	l, ok := m.(lister)
	if !ok {
		return nil, errNoList
	}
	names, err := l.Asked(ctx, h)
	out := make([]Package, len(names))
	for i, name := range names {
		out[i].Name = name
	}
	return out, err
}
