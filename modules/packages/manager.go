package packages

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// manager is a package manager. Its methods get names that validate let pass.
type manager interface {
	// Installed says what is known of a package, without starting a program.
	Installed(h host.Reader, name string) (installed, error)
	// Offers asks the package lists for several packages. One that they do
	// not know is missing from the answer.
	Offers(ctx context.Context, h host.Processes, names []string) (offers, error)
	// Refresh fetches the package lists anew.
	Refresh(ctx context.Context, h host.Processes) error
	// Transact installs, changes and removes several packages, all or none.
	Transact(ctx context.Context, h host.Processes, t transaction) error
	// Hold sets or lifts the mark that upgrades pass over.
	Hold(ctx context.Context, h host.Processes, names []string, hold bool) error
}

type installed struct {
	Version  string // empty: not installed
	Hold     bool
	Leftover bool // removed, but its configuration is there
}

// offers holds what the lists have of each package that they know.
type offers map[string]offer

// of finds a package, which a list may name without its architecture.
func (o offers) of(name string) offer {
	if found, ok := o[name]; ok {
		return found
	}
	bare, _, _ := strings.Cut(name, ":")
	return o[bare]
}

type offer struct {
	Newest   string // empty: none
	Versions []string
}

// transaction is one call of the package manager: either installs or removes.
type transaction struct {
	Install []target
	Remove  []string
	Purge   bool
	Held    bool // packages on hold may be changed, too
}

type target struct{ Name, Version string } // Version is empty for any

// find chooses the manager that the host has.
func find(h host.Reader) (manager, error) {
	_, err := h.Lstat("/usr/bin/apt-get")
	switch {
	case err == nil:
		return apt{}, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("this host has no package manager that tenet can use: there is no /usr/bin/apt-get")
	}
	return nil, err
}

// batch brings several packages into their wanted condition, in as few
// transactions as that takes.
func batch(ctx context.Context, h host.Host, items []states.ItemOf[Package]) []error {
	b := &job{h: h, items: items, errs: make([]error, len(items))}
	var err error
	if b.manager, err = find(h); err != nil {
		for i := range b.errs {
			b.errs[i] = err
		}
		return b.errs
	}
	b.remove(ctx, false)
	b.remove(ctx, true)
	b.hold(ctx, false)
	b.install(ctx)
	b.hold(ctx, true)
	return b.errs
}

// job is one call of batch. Items whose error is set are left alone.
type job struct {
	manager manager
	h       host.Host
	items   []states.ItemOf[Package]
	errs    []error
}

// pick lists the items without an error that ok chooses.
func (j *job) pick(ok func(states.ItemOf[Package]) bool) []int {
	var out []int
	for i, item := range j.items {
		if j.errs[i] == nil && ok(item) {
			out = append(out, i)
		}
	}
	return out
}

func (j *job) remove(ctx context.Context, purge bool) {
	chosen := j.pick(func(item states.ItemOf[Package]) bool {
		return item.Want == nil && isTrue(item.Have.Purge) == purge
	})
	j.transact(ctx, chosen, func(i int, t *transaction) {
		t.Remove = append(t.Remove, j.items[i].Have.Name)
		t.Purge = purge
		t.Held = t.Held || j.items[i].Have.Hold != nil
	})
}

func (j *job) install(ctx context.Context) {
	chosen := j.pick(func(item states.ItemOf[Package]) bool {
		return item.Want != nil && needsInstall(item)
	})
	chosen = j.offered(ctx, chosen)
	j.transact(ctx, chosen, func(i int, t *transaction) {
		want := target{Name: j.items[i].Want.Name}
		if v := j.items[i].Want.Version; v != nil && *v != Latest {
			want.Version = *v
		}
		t.Install = append(t.Install, want)
		t.Held = t.Held || j.items[i].Want.Hold != nil
	})
}

func needsInstall(item states.ItemOf[Package]) bool {
	have, want := item.Have, item.Want
	return have == nil || have.leftover ||
		want.Version != nil && (have.Version == nil || *have.Version != *want.Version)
}

// transact carries out the chosen items at once. When that fails, each is
// tried alone, so that one mistake does not keep the others back.
func (j *job) transact(ctx context.Context, chosen []int, add func(int, *transaction)) {
	if len(chosen) == 0 {
		return
	}
	var all transaction
	for _, i := range chosen {
		add(i, &all)
	}
	err := j.manager.Transact(ctx, j.h, all)
	if err == nil {
		return
	}
	_, locked := errors.AsType[*lockedError](err)
	alone := len(chosen) > 1 && !locked && ctx.Err() == nil && !errors.Is(err, host.ErrUnforeseeable)
	for _, i := range chosen {
		j.errs[i] = err
		if alone {
			var t transaction
			add(i, &t)
			j.errs[i] = j.manager.Transact(ctx, j.h, t)
		}
	}
}

// hold sets the marks that are wanted, or lifts those that are not.
func (j *job) hold(ctx context.Context, hold bool) {
	chosen := j.pick(func(item states.ItemOf[Package]) bool {
		if item.Want == nil || item.Want.Hold == nil || *item.Want.Hold != hold {
			return false
		}
		if hold && needsInstall(item) {
			return true // whatever the installation has done to the mark
		}
		return hold != (item.Have != nil && isTrue(item.Have.Hold))
	})
	if len(chosen) == 0 {
		return
	}
	var names []string
	for _, i := range chosen {
		names = append(names, j.items[i].Want.Name)
	}
	if err := j.manager.Hold(ctx, j.h, names, hold); err != nil {
		for _, i := range chosen {
			j.errs[i] = err
		}
	}
}
