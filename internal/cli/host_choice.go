package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang"
)

// choose finds the host of a site that is meant; a site without hosts is for
// this machine.
func (s *client) choose(ctx context.Context, c *site) error {
	hosts, err := s.selectHosts(ctx, c)
	if err != nil {
		return err
	}
	switch len(hosts) {
	case 0: // the site declares none
		return nil
	case 1:
		c.declared = &hosts[0]
		c.Target.Host = hosts[0].Name
		s.settleFacts(c, s.remoteFacts(ctx, c, hosts))
		return nil
	}
	names := make([]string, 0, len(hosts))
	for _, h := range hosts {
		names = append(names, h.Name)
	}
	return usage("name one with --limit", "this is for one host, and the site declares %s", strings.Join(names, ", "))
}

// chooseHosts loads a site for a plan or an apply. The hosts are those that it is about; nil
// where it is about this machine alone.
func (s *client) chooseHosts(ctx context.Context, path string) (*site, []lang.Host, error) {
	c, err := s.load(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	hosts, err := s.selectHosts(ctx, c)
	if err != nil || len(hosts) == 0 {
		return c, nil, err
	}
	if len(hosts) > 1 || hosts[0].Executor != "local" || hosts[0].Cluster != "" || c.HasOutputs() || s.hasHooks(ctx, c) {
		return c, hosts, nil
	}
	c.declared, c.Target.Host = &hosts[0], hosts[0].Name
	return c, nil, nil
}

// hasHooks reports whether other hosts have something to do around what is done on one.
func (s *client) hasHooks(ctx context.Context, c *site) bool {
	defer s.limitEvaluation()()
	r, diags := c.Rollout(ctx, c.Target, nil)
	return !diags.HasErrors() && r.HasHooks()
}

// selectHosts gives the hosts that --limit names, all without it; none where the
// site declares none.
func (s *client) selectHosts(ctx context.Context, c *site) ([]lang.Host, error) {
	stop := s.limitEvaluation()
	hosts, groups, diags := c.Hosts(ctx, c.Target)
	stop()
	if err := s.diagnose(c, diags); err != nil {
		return nil, err
	}
	if s.globals.Limit == "" {
		return hosts, s.prunable(hosts, hosts)
	}
	if len(hosts) == 0 {
		return nil, usage("leave it out: the site is for this machine", "--limit: the site declares no hosts")
	}
	found, err := s.expandExecutions(hosts, groups)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, usage("tenet inspect hosts lists the hosts", "--limit %s leaves no host", s.globals.Limit)
	}
	return found, s.prunable(hosts, found)
}

// prunable refuses to remove what a site declares no longer, if several of its hosts are this
// machine: it has one record of what the site has created, in which each host would find what is
// declared for the others.
func (s *client) prunable(hosts, selected []lang.Host) error {
	if !s.prune || !slices.ContainsFunc(selected, func(h lang.Host) bool { return h.Executor == "local" }) {
		return nil
	}
	var here []string
	for _, h := range hosts {
		if h.Executor == "local" {
			here = append(here, h.Name)
		}
	}
	if len(here) < 2 {
		return nil
	}
	return usage(`declare one host with executor = "local", and give it the roles of all`,
		"--prune: %s are one machine, and each would remove what is declared for the others", namesOf(here, false))
}

// hostTable gives what is known of hosts, a heading first. What none of them has is left
// out; what one lacks is ssh's own, or nobody's, and a dash.
func hostTable(hosts []lang.Host) [][]string {
	columns := []struct {
		heading string
		cell    func(*lang.Host) string
	}{
		{"host", func(h *lang.Host) string { return h.Name }},
		{"address", func(h *lang.Host) string { return h.Address }},
		{"port", func(h *lang.Host) string {
			if h.Port == 0 {
				return ""
			}
			return fmt.Sprint(h.Port)
		}},
		{"user", func(h *lang.Host) string { return h.User }},
		{"become", func(h *lang.Host) string {
			if h.Become != "" && h.BecomeMethod != "" {
				return h.Become + " by " + h.BecomeMethod
			}
			return h.Become
		}},
		{"reached by", func(h *lang.Host) string {
			if gate := via(h.SSHOptions); gate != "" && h.Executor == "ssh" {
				return h.Executor + " via " + gate
			}
			return h.Executor
		}},
		{"groups", func(h *lang.Host) string { return strings.Join(h.Groups, ", ") }},
		{"roles", func(h *lang.Host) string { return strings.Join(h.Roles, ", ") }},
		{"declared", func(h *lang.Host) string { return h.Range.String() }},
	}
	rows := make([][]string, 1+len(hosts))
	for _, c := range columns {
		cells, any := []string{c.heading}, false
		for i := range hosts {
			text := strings.ReplaceAll(ui.Line(c.cell(&hosts[i])), "\t", " ")
			any = any || text != ""
			cells = append(cells, cmp.Or(text, "-"))
		}
		for i := range rows {
			if any {
				rows[i] = append(rows[i], cells[i])
			}
		}
	}
	return rows
}
