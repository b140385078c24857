package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// Forgetting is what to let go of.
type Forgetting struct {
	Addresses []string // of declarations, or TYPE["KEY"] of what a site has created
	// Site lets go, as journal.Identity names it; it may be empty where one site alone
	// has what is named.
	Site        string
	LockTimeout time.Duration
}

// SeveralError says that several sites have what is named.
type SeveralError struct{ Sites []string }

// Error names the sites.
func (e *SeveralError) Error() string {
	return "that is of several sites: " + strings.Join(e.Sites, ", ")
}

// Forget lets go of what a site has created on this machine, and of what handlers are
// owed. The machine stays as it is. Events are told what is let go of.
func (r *Runner) Forget(ctx context.Context, f Forgetting, events func(states.Event) error) error {
	folder, err := r.found()
	if err != nil {
		return err
	}
	managed, err := folder.Managed()
	if err != nil {
		return err
	}
	past, err := folder.Ledger()
	if err != nil {
		return &Error{Err: err, Hint: elsewhere}
	}
	j := &Job{Run: &states.StateRun{Format: states.Format, Host: "localhost"}, LockTimeout: f.LockTimeout}
	if j.Origin, err = f.whose(managed, past); err != nil {
		return err
	}
	if slices.Contains(managed.Sites(), j.Origin) {
		j.Run.Site, j.Origin = j.Origin, ""
	}
	record, b, err := r.record(ctx, j, folder)
	if err != nil {
		return err
	}
	end := journal.End{State: journal.Done, Changed: true}
	if end.Err = f.forget(j, b, record, events); end.Err != nil {
		end.State = journal.Failed
	}
	return journal.Join(end.Err, record.Finish(end))
}

// whose gives the Identity of the site that has all that is named.
func (f *Forgetting) whose(managed *journal.Managed, past *journal.Ledger) (string, error) {
	var all []string
	for _, address := range f.Addresses {
		sites := map[string]bool{}
		for _, site := range managed.Sites() {
			h := managed.Holding(site)
			if h == nil {
				return "", managed.Err()
			}
			sites[site] = slices.ContainsFunc(h.Entries(), func(c *journal.Created) bool { return means(address, c) })
		}
		for _, d := range past.Debts {
			sites[d.Site] = sites[d.Site] || states.Within(d.Handler, address)
		}
		maps.DeleteFunc(sites, func(site string, has bool) bool { return !has || f.Site != "" && site != f.Site })
		if len(sites) == 0 {
			return "", &Error{Code: wire.CodeNotFound, Err: fmt.Errorf("nothing that a site has created, and no handler that is owed something, is %s", address),
				Hint: "tenet status --managed lists what sites have created here"}
		}
		all = append(all, slices.Collect(maps.Keys(sites))...)
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == 0 {
		return "", &Error{Err: errors.New("nothing is named that is to be let go of")}
	}
	if len(all) > 1 {
		return "", &Error{Err: &SeveralError{all}, Hint: "name one by --site"}
	}
	return all[0], nil
}

// means reports whether an address is that of what a site has created: of its
// declaration or of something around that, or by its own name.
func means(address string, c *journal.Created) bool {
	name := states.LabelAddress(c.Type, c.Key)
	return !c.Claim && (states.Within(c.Address, address) || address == name || address == "orphan."+name)
}

// forget records what is let go of, and tells it.
func (f *Forgetting) forget(j *Job, b before, record *journal.Run, events func(states.Event) error) error {
	seq := int64(0)
	put := func(ev *states.Event) error {
		seq++
		ev.Seq, ev.Time = seq, time.Now().UTC()
		return record.Append(*ev)
	}
	err := put(&states.Event{Type: states.EventRun, Format: states.EventFormat, Run: record.ID(), Mode: "forget",
		Site: j.Run.Site, Host: j.Run.Host, Boot: journal.BootID()})
	for _, ev := range f.events(j, b) {
		err = journal.Join(err, put(&ev), events(ev))
	}
	return journal.Join(err, put(&states.Event{Type: states.EventSummary, Counts: &states.Counts{}}))
}

// events tell what is let go of. The lock is held: what was found before may be
// gone.
func (f *Forgetting) events(j *Job, b before) (list []states.Event) {
	named := func(means func(address string) bool) bool { return slices.ContainsFunc(f.Addresses, means) }
	if j.Run.Site != "" {
		for _, e := range b.managed.Holding(j.Run.Site).Entries() {
			if named(func(address string) bool { return means(address, e) }) {
				list = append(list, states.Event{Type: states.EventForgotten, Address: e.Address, ID: e.ID, Part: e.Type, Key: e.Key, Run: e.Run,
					Reason: fmt.Sprintf("forgotten: %s %s, was %s, created by run %s", e.Type, e.Key, e.Address, e.Run)})
			}
		}
	}
	for _, d := range b.past.Of(cmp.Or(j.Run.Site, j.Origin)).Debts {
		if named(func(address string) bool { return states.Within(d.Handler, address) }) {
			list = append(list, states.Event{Type: states.EventDropped, Address: d.Handler, Run: d.Run, Owed: []states.Debt{d},
				Reason: fmt.Sprintf("no longer owed: %s, since run %s: %s", d.Handler, d.Run, d.Cause())})
		}
	}
	return list
}
