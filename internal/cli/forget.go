package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

type forgetCmd struct {
	locking
	Site      string   `help:"The site that lets go, where several have what is named: its name or, if it has none, where it lies." placeholder:"SITE"`
	Addresses []string `arg:"" name:"addr" help:"The address of a declaration, or TYPE[\"KEY\"] of what it has created."`
}

// Run lets go of what a site has created on this machine, and of what handlers
// are owed. The machine stays as it is.
func (cmd *forgetCmd) Run(ctx runContext, s *client) error {
	s.lockTimeout = time.Duration(cmd.LockTimeout)
	folder, err := s.existing()
	if err != nil {
		return err
	}
	if folder == nil {
		return s.nothingYet()
	}
	c := &site{}
	managed, err := folder.Managed()
	if err != nil {
		return failed(err)
	}
	past, err := folder.Ledger()
	if err != nil {
		return &status{code: exitFailed, err: err, hint: elsewhere}
	}
	if c.origin, err = cmd.whose(managed, past); err != nil {
		return err
	}
	c.run = &states.StateRun{Format: states.Format, Host: localhost}
	if slices.Contains(managed.Sites(), c.origin) {
		c.run.Site, c.origin = c.origin, ""
	}
	record, err := s.record(ctx, c, folder)
	if err != nil {
		return err
	}
	end := journal.End{State: journal.Done, Changed: true}
	if end.Err = cmd.forget(s, c, record); end.Err != nil {
		end.State = journal.Failed
	}
	return errors.Join(end.Err, failed(record.Finish(end)))
}

// whose gives the Identity of the site that has all that is named.
func (cmd *forgetCmd) whose(managed *journal.Managed, past *journal.Ledger) (string, error) {
	var all []string
	for _, address := range cmd.Addresses {
		sites := map[string]bool{}
		for _, site := range managed.Sites() {
			h := managed.Holding(site)
			if h == nil {
				return "", failed(managed.Err())
			}
			sites[site] = slices.ContainsFunc(h.Entries(), func(c *journal.Created) bool { return means(address, c) })
		}
		for _, d := range past.Debts {
			sites[d.Site] = sites[d.Site] || states.Within(d.Handler, address)
		}
		maps.DeleteFunc(sites, func(site string, has bool) bool { return !has || cmd.Site != "" && site != cmd.Site })
		if len(sites) == 0 {
			return "", &status{code: exitFailed, err: fmt.Errorf("nothing that a site has created, and no handler that is owed something, is %s", address),
				hint: "tenet status --managed lists what sites have created here"}
		}
		all = append(all, slices.Collect(maps.Keys(sites))...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) > 1 {
		return "", usage("name one by --site", "that is of several sites: %s", strings.Join(all, ", "))
	}
	return all[0], nil
}

// means reports whether an address is that of what a site has created: of its
// declaration or of something around that, or by its own name.
func means(address string, c *journal.Created) bool {
	name := states.LabelAddress(c.Type, c.Key)
	return !c.Claim && (states.Within(c.Address, address) || address == name || address == "orphan."+name)
}

// forget records what is let go of, and shows it.
func (cmd *forgetCmd) forget(s *client, c *site, record *journal.Run) error {
	seq := int64(0)
	put := func(ev *states.Event) error {
		seq++
		ev.Seq, ev.Time = seq, time.Now().UTC()
		return failed(record.Append(*ev))
	}
	err := put(&states.Event{Type: states.EventRun, Format: states.EventFormat, Run: record.ID(), Mode: "forget",
		Site: c.run.Site, Host: c.run.Host, Boot: journal.BootID()})
	for _, ev := range cmd.events(c) {
		err = errors.Join(err, put(&ev))
		if s.globals.JSON {
			err = errors.Join(err, s.printLine(ev))
		} else if !s.globals.Quiet {
			err = errors.Join(err, unread(s.print(ui.Clean(ev.Reason))))
		}
	}
	return errors.Join(err, put(&states.Event{Type: states.EventSummary, Counts: &states.Counts{}}))
}

// events tell what is let go of. The lock is held: what was found before may be
// gone.
func (cmd *forgetCmd) events(c *site) (list []states.Event) {
	named := func(means func(address string) bool) bool { return slices.ContainsFunc(cmd.Addresses, means) }
	if c.run.Site != "" {
		for _, e := range c.managed.Holding(c.run.Site).Entries() {
			if named(func(address string) bool { return means(address, e) }) {
				list = append(list, states.Event{Type: states.EventForgotten, Address: e.Address, ID: e.ID, Part: e.Type, Key: e.Key, Run: e.Run,
					Reason: fmt.Sprintf("forgotten: %s %s, was %s, created by run %s", e.Type, e.Key, e.Address, e.Run)})
			}
		}
	}
	for _, d := range c.past.Of(cmp.Or(c.run.Site, c.origin)).Debts {
		if named(func(address string) bool { return states.Within(d.Handler, address) }) {
			list = append(list, states.Event{Type: states.EventDropped, Address: d.Handler, Run: d.Run, Owed: []states.Debt{d},
				Reason: fmt.Sprintf("no longer owed: %s, since run %s: %s", d.Handler, d.Run, d.Cause())})
		}
	}
	return list
}
