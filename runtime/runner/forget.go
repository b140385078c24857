package runner

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// Forget lets go of what a site has created on this machine, and of what handlers are
// owed. The machine stays as it is. The events tell what is let go of.
func (r *Runner) Forget(ctx context.Context, f machine.ForgetRequest, o machine.Observer) ([]states.Event, error) {
	ctx, c, done := r.begin(ctx, o)
	defer done()
	events, err := c.forget(ctx, &forgetRequest{f})
	return events, asError(err)
}

// forgetRequest is what to let go of.
type forgetRequest struct{ machine.ForgetRequest }

func (c *call) forget(ctx context.Context, f *forgetRequest) ([]states.Event, error) {
	folder, err := c.recordedFolder()
	if err != nil {
		return nil, err
	}
	managed, err := folder.Managed()
	if err != nil {
		return nil, err
	}
	past, err := folder.Ledger()
	if err != nil {
		return nil, &diag.HintError{Err: err, Hint: elsewhere}
	}
	member, err := folder.Membership()
	if err != nil {
		return nil, &diag.HintError{Err: err, Hint: elsewhere}
	}
	j := &machine.Job{Run: &states.StateRun{Format: states.Format, Host: "localhost"}, LockTimeout: f.LockTimeout}
	if j.Origin, err = f.site(managed, past, member); err != nil {
		return nil, err
	}
	if slices.Contains(managed.Sites(), j.Origin) || member != nil && member.Site == j.Origin {
		j.Run.Site, j.Origin = j.Origin, ""
	}
	record, b, err := c.record(ctx, j, folder)
	if err != nil {
		return nil, err
	}
	end := journal.End{State: journal.Done, Changed: true}
	var events []states.Event
	if end.Err = c.removeObsoleteUnit(j, folder); end.Err == nil {
		events, end.Err = f.record(j, b, record)
	}
	if end.Err == nil && member != nil && member.Site == j.Run.Site && slices.Contains(f.Addresses, clusterAddress(member.Name)) {
		end.Err = folder.Leave(member.Site, member.Name)
	}
	if end.Err != nil {
		end.State = journal.Failed
	}
	return events, journal.Join(end.Err, record.Finish(end))
}

// site gives the Identity of the site that has all that is named.
func (f *forgetRequest) site(managed *journal.Managed, past *journal.Ledger, member *journal.Membership) (string, error) {
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
		if member != nil && address == clusterAddress(member.Name) {
			sites[member.Site] = true
		}
		for _, d := range past.Debts {
			sites[d.Site] = sites[d.Site] || states.Within(d.Handler, address)
		}
		maps.DeleteFunc(sites, func(site string, has bool) bool { return !has || f.Site != "" && site != f.Site })
		if len(sites) == 0 {
			return "", &diag.HintError{Code: machine.CodeNotFound, Err: fmt.Errorf("nothing that a site has created, and no handler that is owed something, is %s", address),
				Hint: "tenet status --managed lists what sites have created here"}
		}
		all = append(all, slices.Collect(maps.Keys(sites))...)
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == 0 {
		return "", &diag.HintError{Message: "nothing is named that is to be let go of"}
	}
	if len(all) > 1 {
		return "", &diag.HintError{Err: &machine.SeveralError{Sites: all}, Hint: "name one by --site"}
	}
	return all[0], nil
}

// clusterAddress names all that a cluster has made, and that the machine is a member of it.
func clusterAddress(cluster string) string { return states.LabelAddress("cluster", cluster) }

// means reports whether an address is that of what a site has created: of its
// declaration or of something around that, of its cluster, or by its own name.
func means(address string, c *journal.Created) bool {
	name := states.LabelAddress(c.Type, c.Key)
	return !c.Claim && (c.Cluster != "" && address == clusterAddress(c.Cluster) || states.Within(c.Address, address) || address == name || address == "orphan."+name)
}

// record records what is let go of, and gives the events that tell it.
func (f *forgetRequest) record(j *machine.Job, b pastRuns, record *journal.Run) ([]states.Event, error) {
	seq := int64(0)
	put := func(ev *states.Event) error {
		seq++
		ev.Seq, ev.Time = seq, time.Now().UTC()
		return record.Append(*ev)
	}
	nodes, err := f.nodes(j, b)
	if err != nil {
		return nil, err
	}
	err = put(&states.Event{Type: states.EventRun, Format: states.EventFormat, Run: record.ID(), Mode: "forget",
		Site: j.Run.Site, Host: j.Run.Host, Boot: journal.BootID()})
	list := f.events(j, b, nodes)
	for i := range list {
		err = journal.Join(err, put(&list[i]))
	}
	return list, journal.Join(err, put(&states.Event{Type: states.EventSummary, Counts: &states.Counts{}}))
}

// nodes gives what is remembered of the rules of clusters that are let go of.
func (f *forgetRequest) nodes(j *machine.Job, b pastRuns) (list []string, err error) {
	for _, address := range f.Addresses {
		of, err := runtime.Departure(b.past, cmp.Or(j.Run.Site, j.Origin), address)
		if err != nil {
			return nil, err
		}
		list = append(list, of...)
	}
	return list, nil
}

// events tell what is let go of. The lock is held: what was found before may be
// gone.
func (f *forgetRequest) events(j *machine.Job, b pastRuns, nodes []string) (list []states.Event) {
	list = []states.Event{}
	named := func(means func(address string) bool) bool { return slices.ContainsFunc(f.Addresses, means) }
	if j.Run.Site != "" {
		for _, e := range b.managed.Holding(j.Run.Site).Entries() {
			if named(func(address string) bool { return means(address, e) }) {
				list = append(list, states.Event{Type: states.EventForgotten, Address: e.Address, ID: e.ID, Part: e.Type, Key: e.Key, Run: e.Run,
					Reason: fmt.Sprintf("forgotten: %s %s, was %s, created by run %s", e.Type, e.Key, e.Address, e.Run)})
			}
		}
	}
	for _, address := range nodes {
		ev := states.Event{Type: states.EventNode, Address: address, Outcome: states.Changed, Reason: "forgotten: " + address + ", made by a rule"}
		if slices.Contains(f.Addresses, address) {
			ev.Reason = "forgotten: what deletes the nodes of rules of " + address
		}
		list = append(list, ev)
	}
	for _, d := range b.past.Of(cmp.Or(j.Run.Site, j.Origin)).Debts {
		if named(func(address string) bool { return states.Within(d.Handler, address) }) {
			list = append(list, states.Event{Type: states.EventDropped, Address: d.Handler, Run: d.Run, Owed: []states.Debt{d},
				Reason: fmt.Sprintf("no longer owed: %s, since run %s: %s", d.Handler, d.Run, d.Cause())})
		}
	}
	return list
}
