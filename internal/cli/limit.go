package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fleet"
)

// restOf stands for all hosts on which an execution is not done.
const restOf = "rest"

// ways are what may stand in @WAY:EXECUTION.
func ways() []string {
	list := []string{restOf}
	for _, s := range statuses() {
		list = append(list, string(s))
	}
	return list
}

// statuses are the ways in which it ends with a host.
func statuses() []fleet.Status {
	return []fleet.Status{fleet.Done, fleet.Failed, fleet.Invalid, fleet.Unreachable, fleet.Interrupted, fleet.Detached, fleet.Incomplete, fleet.Skipped}
}

// expandExecutions gives the hosts that --limit names: by their names and groups, or by how it ended
// with them in an execution, such as @rest:ID.
func (s *client) expandExecutions(hosts []lang.Host, groups []string) ([]lang.Host, error) {
	marked := slices.Clone(hosts) // what they are marked with is none of their groups
	for term := range strings.SplitSeq(s.globals.Limit, ",") {
		group, ok := strings.CutPrefix(strings.TrimPrefix(strings.TrimSpace(term), "!"), "@")
		way, id, both := strings.Cut(group, ":")
		if !ok || !both || slices.Contains(groups, group) {
			continue
		}
		x, err := s.executionOf(way, id)
		if err != nil {
			return nil, err
		}
		groups = append(slices.Clip(groups), group)
		for i := range marked {
			then := recordHost(x, marked[i].Name)
			if then != nil && (way == string(then.Status) || way == restOf && then.Status != fleet.Done) {
				marked[i].Groups = append(slices.Clip(marked[i].Groups), group)
			}
		}
	}
	found, err := lang.SelectHosts(marked, groups, s.globals.Limit)
	if err != nil {
		return nil, usage(diag.HintOf(err), "--limit: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(hosts), func(h lang.Host) bool {
		return !slices.ContainsFunc(found, func(f lang.Host) bool { return f.Name == h.Name })
	}), nil
}

// executionOf gives the record of an execution that --limit names, by its ID, the beginning
// of one, or as the last.
func (s *client) executionOf(way, id string) (*fleet.Record, error) {
	if !slices.Contains(ways(), way) {
		return nil, usage("write @rest:ID for the hosts on which an execution is not done, or one of "+strings.Join(ways()[1:], ", ")+" in place of rest",
			"--limit: @%s:%s is neither a host group nor a part of an execution", way, id)
	}
	list, err := s.executions()
	if err != nil {
		return nil, err
	}
	if id == lastRun {
		var all []fleet.Record
		if all, err = list.List(); len(all) > 0 { // one that cannot be read is not meant
			return &all[len(all)-1], nil
		}
		if err == nil {
			err = fmt.Errorf("nothing was done from here on hosts")
		}
		return nil, usage("tenet history --executions lists them", "--limit: @%s:%s: %w", way, id, err)
	}
	x, err := list.Load(id)
	if err != nil {
		return nil, usage("tenet history --executions lists them", "--limit: @%s:%s: %w", way, id, err)
	}
	return x, nil
}
