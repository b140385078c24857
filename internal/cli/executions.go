package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/journal"
)

// executions are the records of what was done from here on hosts.
func (s *client) executions() (*fleet.Executions, error) {
	dir, err := s.stateDir()
	if err != nil {
		return nil, err
	}
	return &fleet.Executions{Dir: filepath.Join(dir, "executions")}, nil
}

// runID gives what ID is meant: "last" is the last execution that was begun here, and where
// none was the last run, as without an ID.
func (s *client) runID(id string) (string, error) {
	if id != lastRun {
		return id, nil
	}
	executions, err := s.executions()
	if err != nil {
		return "", err
	}
	list, err := executions.List()
	if len(list) == 0 {
		return "", failure(err)
	}
	return list[len(list)-1].ID, nil // what cannot be read of older ones does not matter
}

// execution gives the record of an execution that was begun here; nil: there is none.
func (s *client) execution(id string) (*fleet.Record, error) {
	if !fleet.IsExecution(id) {
		return nil, nil
	}
	list, err := s.executions()
	if err != nil {
		return nil, err
	}
	x, err := list.Load(id)
	if _, none := errors.AsType[*fleet.NotFoundError](err); none {
		return nil, nil // of another controller, or a run's
	}
	return x, failure(err)
}

// wasNotBegun reports whether nothing was begun on a host for sure: then there is nothing to
// ask it.
func wasNotBegun(h *fleet.RecordHost) bool {
	switch h.Status {
	case fleet.Unreachable, fleet.Skipped, fleet.Incomplete, fleet.Invalid:
		return h.Run == ""
	}
	return false
}

// executionTargets gives the hosts of an execution, as they were reached then; those that
// --limit names of them. Those without any trace of it are not asked.
func (s *client) executionTargets(ctx context.Context, x *fleet.Record) (*targets, error) {
	hosts := make([]lang.Host, 0, len(x.Hosts))
	for _, h := range x.Hosts {
		hosts = append(hosts, lang.Host{
			Name: h.Name, Executor: h.Executor, Address: h.Address, Port: h.Port, User: h.User,
			Become: h.Become, BecomeMethod: h.BecomeMethod, SSHOptions: h.Options,
			RunnerCache: h.RunnerCache,
		})
	}
	if s.globals.Limit != "" {
		var err error
		if hosts, err = s.expandExecutions(hosts, nil); err != nil {
			return nil, err
		}
		if len(hosts) == 0 {
			return nil, usage("tenet status "+x.ID+" lists the hosts", "--limit %s leaves no host of the execution", s.globals.Limit)
		}
	}
	var rest []string
	hosts = slices.DeleteFunc(hosts, func(h lang.Host) bool {
		none := wasNotBegun(recordHost(x, h.Name))
		if none {
			rest = append(rest, h.Name)
		}
		return none
	})
	members, err := s.members(ctx, hosts, "", s.noteHost)
	return &targets{hosts: hosts, members: members, hasNames: true, absent: rest}, err
}

// recordHost gives what the record of an execution has of a host; nil without either.
func recordHost(x *fleet.Record, host string) *fleet.RecordHost {
	if x == nil {
		return nil
	}
	for i := range x.Hosts {
		if x.Hosts[i].Name == host {
			return &x.Hosts[i]
		}
	}
	return nil
}

// learnEnds records how an execution has ended on hosts that its controller has left, by what they say
// now, and gives its record as it is then. One that cannot be replaced is told, and harms nothing else.
func (s *client) learnEnds(x *fleet.Record, list []*statusAnswer) *fleet.Record {
	ends := map[string]fleet.HostEnd{}
	for _, a := range list {
		if a.value == nil || a.value.Status == nil || recordHost(x, a.host.Name) == nil {
			continue
		}
		if end, ok := endOf(a.value.Status, x.ID); ok {
			ends[a.host.Name] = end
		}
	}
	if len(ends) == 0 {
		return x
	}
	executions, err := s.executions()
	if err == nil {
		var now *fleet.Record
		if now, err = executions.LearnEnds(x.ID, ends); err == nil {
			return now
		}
	}
	fmt.Fprintln(s.Err, "tenet: "+ui.Line(fmt.Sprintf("how execution %s ended on its hosts cannot be recorded here: %v", x.ID, err)))
	return x
}

// endOf gives how a run has ended that is one of an execution; false: it goes on, or is none.
func endOf(run *journal.Status, execution string) (end fleet.HostEnd, ok bool) {
	ours := run.Execution == execution || slices.ContainsFunc(run.Resumptions, func(r journal.Resumption) bool { return r.Execution == execution })
	status := map[journal.State]fleet.Status{
		journal.Done: fleet.Done, journal.Failed: fleet.Failed, journal.Interrupted: fleet.Interrupted,
	}[run.State]
	return fleet.HostEnd{Run: run.Run, Status: status, At: run.Ended}, ours && status != ""
}

// showExecutions lists what was done from here on hosts.
func (s *client) showExecutions(below bool) error {
	executions, err := s.executions()
	if err != nil {
		return err
	}
	list, wrong := executions.List()
	if wrong != nil {
		fmt.Fprintln(s.Err, "tenet: "+ui.Line(wrong.Error()))
	}
	if s.globals.JSON {
		return s.printJSON(append([]fleet.Record{}, list...))
	}
	if len(list) > 0 && below {
		if err := s.print(); err != nil {
			return err
		}
	}
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	for _, x := range list {
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", x.ID, when(x.Started), endSummary(&x), ui.Line(x.Command), ui.Line(cmp.Or(x.Site, x.Origin)))
	}
	return failure(unread(out.Flush()))
}

// endSummary tells in short how an execution ended on its hosts, as far as is known here.
func endSummary(x *fleet.Record) string {
	sums := map[fleet.Status]int{}
	for _, h := range x.Hosts {
		sums[h.Status]++
	}
	var words []string
	for _, status := range statuses() {
		if n := sums[status]; n > 0 {
			words = append(words, fmt.Sprint(n, " ", status))
		}
	}
	if n := sums[""]; n > 0 {
		words = append(words, fmt.Sprint(n, " not known"))
	}
	return plural(len(x.Hosts), "host") + ": " + strings.Join(words, ", ")
}
