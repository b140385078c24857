package packages

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// batch brings several packages into their wanted condition, in as few
// transactions as that takes.
func batch(ctx context.Context, h host.Host, items []states.ItemOf[Package]) []error {
	j := &job{h: h, items: items, errs: make([]error, len(items))}
	var err error
	if j.manager, err = find(h); err == nil {
		err = j.inspect(ctx)
	}
	if err != nil {
		for i := range j.errs {
			j.errs[i] = err
		}
		return j.errs
	}
	j.refuse(ctx)
	j.hold(ctx, false)
	j.transact(ctx, j.availableItems(ctx, j.dueItems()))
	j.hold(ctx, true)
	return j.errs
}

// refuse gives an error to what the manager cannot do, before anything is changed.
func (j *job) refuse(ctx context.Context) {
	m, ok := j.manager.(withoutHolds)
	for i, item := range j.items {
		if ok && item.Want != nil && check.True(item.Want.Hold) {
			j.errs[i] = states.InvalidAttribute("hold", "this host cannot do that", m.NoHold())
		}
	}
	for _, i := range j.dueItems() {
		if wish := wishOf(j.items[i]); wish.Hold == nil && j.isHeld(ctx, wish.Name) {
			j.errs[i] = &states.FinalError{Err: &diag.HintError{
				Err:  fmt.Errorf("%s is on hold: only a part that gives hold changes such a package", wish.Name),
				Hint: "hold = false in the part lifts the mark" + byHand(j.manager, wish.Name),
			}}
		}
	}
}

// byHand says how else the mark is lifted, as where a part is not declared any more.
func byHand(m manager, name string) string {
	switch m.(type) {
	case apt:
		return ", and so does apt-mark unhold " + name
	case dnf:
		return ", and so does dnf versionlock delete " + name
	case zypper:
		return ", and so does zypper removelock " + name
	}
	return ""
}

// wishOf is what a part says, also of one that is to be gone.
func wishOf(item states.ItemOf[Package]) *Package {
	if item.Want != nil {
		return item.Want
	}
	return item.Have
}

// isHeld reports whether a package is on hold now. Where that cannot be known yet the
// manager will tell.
func (j *job) isHeld(ctx context.Context, name string) bool {
	found, err := j.manager.Installed(ctx, j.h, name)
	return err == nil && found.Hold
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

// dueItems lists the items that a transaction is needed for.
func (j *job) dueItems() []int {
	return j.pick(func(item states.ItemOf[Package]) bool { return item.Want == nil || needsInstall(item) })
}

func needsInstall(item states.ItemOf[Package]) bool {
	have, want := item.Have, item.Want
	return have == nil || have.state != "" ||
		want.Version != nil && (have.Version == nil || *have.Version != *want.Version)
}

// add adds an item to a transaction. Only where a package is on hold now, and its part
// knows of that, others on hold may have to move with it.
func (j *job) add(ctx context.Context, t *transaction, item states.ItemOf[Package]) {
	if wish := wishOf(item); wish.Hold != nil && j.isHeld(ctx, wish.Name) {
		t.Held = true
	}
	switch want := item.Want; {
	case want != nil:
		wish := target{Name: want.Name, Open: want.isChosen}
		if want.Version != nil && *want.Version != Latest {
			wish.Version = *want.Version
		}
		t.Install = append(t.Install, wish)
	case check.True(item.Have.Purge):
		t.Purge = append(t.Purge, item.Have.Name)
	default:
		t.Remove = append(t.Remove, item.Have.Name)
	}
}

// transact carries out the chosen items at once. When that fails, each of those
// that are still not as wanted is tried alone, so that one mistake does not keep the
// others back.
func (j *job) transact(ctx context.Context, chosen []int) {
	if len(chosen) == 0 {
		return
	}
	var all transaction
	for _, i := range chosen {
		j.add(ctx, &all, j.items[i])
	}
	more, declared := j.alongside(ctx, all)
	if len(declared) > 0 {
		chosen = j.keep(chosen, declared)
		j.transact(ctx, chosen)
		return
	}
	if len(more) > 0 {
		states.Say(ctx, takesAlong+strings.Join(more, ", "))
	}
	err := j.whenFree(ctx, func() error { return j.manager.Transact(ctx, j.h, all) })
	if err == nil {
		return
	}
	if errors.Is(err, host.ErrUnforeseeable) { // a plan
		j.tell(chosen, more, err)
		j.rehearse(ctx, chosen, all)
		return
	}
	alone := len(chosen) > 1 && ctx.Err() == nil && !concernsAll(err)
	for _, i := range chosen {
		if !alone {
			j.errs[i] = err
			continue
		}
		if j.isDone(ctx, i) {
			continue
		}
		var t transaction
		j.add(ctx, &t, j.items[i])
		err := j.whenFree(ctx, func() error { return j.manager.Transact(ctx, j.h, t) })
		if err != nil && !j.isDone(ctx, i) {
			j.errs[i] = err
		}
	}
}

// isDone reports whether an item is as wanted after all: a transaction may have
// failed in another package.
func (j *job) isDone(ctx context.Context, i int) bool {
	item := j.items[i]
	if item.Want == nil {
		have, err := read(ctx, j.h, *item.Have)
		return err == nil && have == nil
	}
	have, err := read(ctx, j.h, *item.Want)
	return err == nil && have != nil && !needsInstall(states.ItemOf[Package]{Have: have, Want: item.Want})
}

// concernsAll reports whether an error has nothing to do with which packages were
// named.
func concernsAll(err error) bool {
	_, locked := errors.AsType[*lockedError](err)
	_, broken := errors.AsType[*interruption](err)
	return locked || broken || errors.Is(err, host.ErrUnforeseeable)
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
		return hold != (item.Have != nil && check.True(item.Have.Hold))
	})
	if len(chosen) == 0 {
		return
	}
	var names []string
	for _, i := range chosen {
		names = append(names, j.items[i].Want.Name)
	}
	if err := j.whenFree(ctx, func() error { return j.manager.Hold(ctx, j.h, names, hold) }); err != nil {
		for _, i := range chosen {
			j.errs[i] = err
		}
	}
}
