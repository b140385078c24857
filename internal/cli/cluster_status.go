package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/runtime/cluster"
	"github.com/tenetcm/tenet/states"
)

// clusterName gives the cluster that an argument names; false: it names none.
func clusterName(argument string) (string, bool) { return strings.CutPrefix(argument, "cluster.") }

// clusterStatus shows how a cluster stands, and waits, with patience, until it is deployed and healthy, or, if it is to be
// absent, gone.
func (s *client) clusterStatus(ctx context.Context, name string, patience time.Duration) error {
	path := s.globals.Inventory
	if path == "" {
		path = "."
	}
	s.secretsHidden = true
	c, err := s.loadBy(ctx, path, s.openInventory)
	if err != nil {
		return err
	}
	all, hosts, err := s.clustersOf(ctx, c)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(one lang.Cluster) bool { return one.Name == name })
	if i < 0 {
		return usage(clusterHint(all, name), "%s declares no cluster %q", path, name)
	}
	deadline, told := time.Now().Add(patience), ""
	for {
		r, err := s.clusterReport(ctx, c.Name(), all[i], hosts)
		if err != nil {
			return err
		}
		left := time.Until(deadline)
		if isAsWanted(&all[i], r) || left <= 0 {
			return s.showCluster(r, patience > 0 && !isAsWanted(&all[i], r))
		}
		if now := clusterLine(r); now != told {
			s.noteHost("", now)
			told = now
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(betweenPings, left)):
		}
	}
}

func clusterHint(all []lang.Cluster, name string) string {
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	if len(names) == 0 {
		return fmt.Sprintf("declare it: cluster %q { hosts = … }", name)
	}
	return "there is " + strings.Join(names, ", ")
}

// clusterReport asks the hosts of a cluster, and those that may be members still though they have left it.
func (s *client) clusterReport(ctx context.Context, siteName string, c lang.Cluster, hosts []lang.Host) (*cluster.Overview, error) {
	everywhere := c
	everywhere.Hosts = nil
	for _, h := range hosts {
		everywhere.Hosts = append(everywhere.Hosts, h.Name)
	}
	answers, err := s.askCluster(ctx, &everywhere, hosts)
	if err != nil {
		return nil, err
	}
	peers := peersOf(siteName, answers)
	if err := s.learnMemberships(siteName, peers); err != nil {
		return nil, err
	}
	if peers, err = s.addRecorded(siteName, c.Name, peers); err != nil {
		return nil, err
	}
	peers = slices.DeleteFunc(peers, func(p cluster.Peer) bool {
		return !slices.Contains(c.Hosts, p.Name) && !p.Of.Is(siteName, c.Name) && !p.WasMember
	})
	return cluster.Tell(siteName, c, peers), nil
}

func isAsWanted(c *lang.Cluster, r *cluster.Overview) bool {
	if c.Absent {
		return r.State == cluster.Undeployed
	}
	return r.Healthy
}

// clusterLine tells in one line how a cluster stands.
func clusterLine(r *cluster.Overview) string {
	text := fmt.Sprintf("cluster %s: %s", r.Cluster, r.State)
	if r.State == cluster.Deployed {
		if text += ", healthy"; !r.Healthy {
			text = strings.TrimSuffix(text, "healthy") + "unhealthy"
		}
	}
	if len(r.Waiting) > 0 {
		text += ", waits for " + strings.Join(r.Waiting, ", ")
	}
	return text
}

// showCluster shows a report. With late, it was waited for in vain.
func (s *client) showCluster(r *cluster.Overview, late bool) error {
	if s.globals.JSON {
		if err := s.printJSON(r); err != nil {
			return err
		}
	} else if err := s.printCluster(r); err != nil {
		return err
	}
	if late {
		return newStatus(exitFailed, errors.New(clusterLine(r)), "the table says what is missing")
	}
	if slices.ContainsFunc(r.Peers, func(p cluster.PeerReport) bool { return !p.Connected }) {
		return &status{code: exitUnreachable}
	}
	return nil
}

func (s *client) printCluster(r *cluster.Overview) error {
	if err := s.tell("%s", ui.Line(clusterLine(r))); err != nil {
		return err
	}
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "HOST\tCONNECTION\tMEMBERSHIP\tCONFIGURATION\tPARTS\tMISSING")
	for _, p := range r.Peers {
		name, connection, membership := p.Host, "connected", string(p.Membership)
		if p.Host == r.Leader {
			name += " (leader)"
		}
		if !p.Connected {
			connection = "away"
		}
		if p.By != "" {
			membership += " by " + p.By
		}
		parts := ""
		if len(p.Parts) > 0 {
			parts = fmt.Sprintf("%d of %d", len(p.Parts)-len(p.Unsettled()), len(p.Parts))
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\n", name, connection, ui.Line(membership), orDash(string(p.Configuration)), orDash(parts), orDash(ui.Line(p.Missing)))
	}
	if err := out.Flush(); err != nil {
		return unread(failure(err))
	}
	return s.printUnsettled(r)
}

// maxUnsettled is how many parts of a host are shown that are not as they are wanted.
const maxUnsettled = 20

// printUnsettled lists what is not as it is wanted: of each host, part by part.
func (s *client) printUnsettled(r *cluster.Overview) error {
	for i := range r.Peers {
		p := &r.Peers[i]
		list := p.Unsettled()
		for k, part := range list {
			if k == maxUnsettled {
				if err := s.tell("%s: and %d more: --json shows them", ui.Line(p.Host), len(list)-k); err != nil {
					return err
				}
				break
			}
			if err := s.tell("%s", ui.Line(p.Host+": "+part.Address+": "+partLine(&part))); err != nil {
				return err
			}
		}
	}
	return nil
}

// partLine tells how a part stands, and why.
func partLine(p *states.PartReport) string {
	text := p.State
	switch {
	case p.Error != nil && p.Error.Code != "" && p.Error.Code != states.PartError: // which stands there already
		text += " (" + p.Error.Code + "): " + p.Error.Message
	case p.Error != nil:
		text += ": " + p.Error.Message
	case p.Reason != "":
		text += ": " + p.Reason
	}
	if !p.Timestamp.IsZero() {
		text += ", " + p.Timestamp.Local().Format(time.DateTime)
	}
	return text
}
