// Package packages is the module "package": software that the host's package
// manager installs.
package packages

import (
	"context"
	"regexp"
	"time"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Package is the state of one package, wanted or observed. A nil attribute is
// not managed.
type Package struct {
	Name    string  `state:"name,key" doc:"Name of the package, with :ARCH behind it where another architecture is meant."`
	Version *string `state:"version" doc:"Exact version, or \"latest\": the newest that the host's package lists offer. Without it, any version will do."`
	Hold    *bool   `state:"hold" doc:"Whether upgrades pass the package over."`
	Purge   *bool   `state:"purge,in,widens" doc:"Lets absent remove the package's configuration, too."`

	// leftover: the package is removed, and its configuration is still there.
	leftover bool
}

// Latest is the version that stands for the newest one.
const Latest = "latest"

const doc = `A package is installed, in the given version.

What is installed is read from the package manager's own records, without starting it. All packages that are due at the same time are installed, and removed, in one transaction each; if a transaction fails, its packages are tried one by one, so that only what is wrong fails. A package or version that the package lists do not offer lets them be fetched anew, once.

A given version may also be a downgrade. Configuration files that were edited on the host are kept. Whether recommended packages come along is left to the host's own configuration. A package that an administrator holds is neither changed nor removed, unless the part gives hold.

The package manager is apt (Debian, Ubuntu). While somebody else holds its lock, the part fails and names the holder; it is tried three times. A plan does not foresee what a package brings: what depends on it is marked as uncertain.`

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
	Name: "package", Doc: doc, Example: example,
	Locks: []string{"packages"}, Root: true,
	Retry:    &states.Retry{Attempts: 3, Delay: 5 * time.Second, Backoff: 3},
	Validate: validate, Complete: complete,
	Read: read, Write: write, Remove: remove, Batch: batch, Extra: leftovers,
})

var (
	namePattern    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+_-]*(:[a-z0-9-]+)?$`)
	versionPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+:~_^-]*$`)
	removalPattern = regexp.MustCompile(`-(:|$)`)
)

func validate(want Package) error {
	switch {
	case !namePattern.MatchString(want.Name) || removalPattern.MatchString(want.Name):
		return &states.AttributeError{Attribute: "name", Message: want.Name + " is no name of a package"}
	case want.Version != nil && !versionPattern.MatchString(*want.Version):
		return &states.AttributeError{Attribute: "version", Message: *want.Version + " is no version",
			Hint: `write an exact version, or "latest"`}
	}
	return nil
}

// complete turns "latest" into the version that it means now. Where the lists
// do not know the package it stays, and the lists are fetched when it is
// installed.
func complete(ctx context.Context, h host.Host, want *Package) error {
	if want.Version == nil || *want.Version != Latest {
		return nil
	}
	m, err := find(h)
	if err != nil {
		return err
	}
	offers, err := m.Offers(ctx, h, []string{want.Name})
	if err != nil {
		return err
	}
	if newest := offers.of(want.Name).Newest; newest != "" {
		want.Version = &newest
	}
	return nil
}

func read(_ context.Context, h host.Host, want Package) (*Package, error) {
	m, err := find(h)
	if err != nil {
		return nil, err
	}
	found, err := m.Installed(h, want.Name)
	if err != nil {
		return nil, err
	}
	have := &Package{Name: want.Name, Purge: want.Purge}
	if want.Hold != nil {
		have.Hold = &found.Hold
	}
	switch {
	case found.Version != "":
		have.Version = &found.Version
	case found.Leftover && isTrue(want.Purge):
		have.leftover = true
	default:
		return nil, nil
	}
	if want.Version != nil && *want.Version == Latest {
		have.Version = want.Version // the lists offer none, so it is the newest known
	}
	return have, nil
}

// leftovers makes a package of which only configuration is there differ from
// an installed one.
func leftovers(have, _ Package) []states.Change {
	if !have.leftover {
		return nil
	}
	return []states.Change{{Attribute: "name", From: "only its configuration", To: have.Name}}
}

func isTrue(b *bool) bool { return b != nil && *b }

func write(ctx context.Context, h host.Host, have *Package, want Package) error {
	return batch(ctx, h, []states.ItemOf[Package]{{Have: have, Want: &want}})[0]
}

func remove(ctx context.Context, h host.Host, have Package) error {
	return batch(ctx, h, []states.ItemOf[Package]{{Have: &have}})[0]
}
