package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
	api "github.com/tenetcm/tenet/server/api/client"
)

type hostCmd struct {
	List    hostListCmd    `cmd:"" help:"List hosts, also those that ask to be taken in."`
	Show    hostShowCmd    `cmd:"" help:"Show a host."`
	Status  hostStatusCmd  `cmd:"" help:"Count hosts by how they stand."`
	Drift   hostDriftCmd   `cmd:"" help:"Have a host look what differs from what is wanted of it; nothing is changed."`
	Approve hostApproveCmd `cmd:"" help:"Take a host in that is pending."`
	Reject  hostRejectCmd  `cmd:"" help:"Refuse a host that is pending, or all that a token or a selector names."`
	Lock    hostActCmd     `cmd:"" help:"Let a host have nothing new; it keeps what it has, and reports."`
	Unlock  hostActCmd     `cmd:"" help:"Let a host that is locked have what is new."`
	Revoke  hostActCmd     `cmd:"" help:"Put a host out for good; its name is free then."`
	Forget  hostForgetCmd  `cmd:"" help:"Forget hosts that were revoked or rejected, and all that is kept of them but the audit."`
	Rename  hostRenameCmd  `cmd:"" help:"Call a host otherwise."`
	Label   hostLabelCmd   `cmd:"" help:"Give a host labels, in place of all that it has."`
	Trust   hostTrustCmd   `cmd:"" help:"Take a host for the one that has an identity from now on, as after it was enrolled anew."`
	Settle  hostSettleCmd  `cmd:"" help:"Decide on hosts of which copies were noticed, many at once."`
	Token   hostTokenCmd   `cmd:"" help:"Make a token with which hosts join; list and revoke them."`
}

type hostListCmd struct {
	Selector string `arg:"" optional:"" help:"Names, globs, LABEL=VALUE, !NOT, with commas."`
	State    string `help:"Only those in this state: pending, approved, active, locked or revoked." enum:",pending,approved,active,locked,revoked" default:"" placeholder:"STATE"`

	Site         string `help:"Only those of which this site wants something." placeholder:"SITE"`
	Reachability string `help:"Only those that are connected, silent or lost." enum:",connected,silent,lost" default:"" placeholder:"WORD"`
	Delivery     string `help:"Only those where what is wanted is pending, held or adopted." enum:",pending,held,adopted" default:"" placeholder:"WORD"`
	Readiness    string `help:"Only those whose newest report says ready or not-ready, or of which there is none: unknown." enum:",ready,not-ready,unknown" default:"" placeholder:"WORD"`
	Drift        string `help:"Only those that have drifted and are left so, or whose drift was mended within a day." enum:",none,drifted,mended" default:"" placeholder:"WORD"`
	Phase        string `help:"Only those whose loop is in this phase, such as help." placeholder:"PHASE"`
	Words        string `help:"Only those for which each of these words occurs in what is known: name, id, labels, sites, revisions, phases and reasons." placeholder:"WORDS"`
}

// Run lists hosts.
func (cmd *hostListCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	hosts := []api.Host{}
	for h, err := range server.Hosts(ctx, api.HostFilter{Select: cmd.Selector, State: cmd.State, Site: cmd.Site, Reachability: cmd.Reachability, Delivery: cmd.Delivery, Readiness: cmd.Readiness, Drift: cmd.Drift, Phase: cmd.Phase, Words: cmd.Words}) {
		if err != nil {
			return failure(err)
		}
		hosts = append(hosts, h)
	}
	if s.globals.JSON {
		return s.printJSON(hosts)
	}
	if len(hosts) == 0 {
		return s.say("there are no such hosts")
	}
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "NAME\tSTATE\tSEEN\tRUNS\tSITES\tID\tLABELS\tREASON")
	for _, h := range hosts {
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", ui.Line(h.Name), ui.Line(h.State), reachText(&h), orDash(ui.Line(runsText(h.Status))), orDash(ui.Line(sitesText(h.Status))), ui.Line(string(h.ID)), orDash(ui.Line(labelText(h.Labels))), ui.Line(h.Reason))
	}
	return unread(failure(out.Flush()))
}

// labelText is labels in one line.
func labelText(labels map[string]string) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		words = append(words, name+"="+labels[name])
	}
	return strings.Join(words, ",")
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// readLabels reads NAME=VALUE; nil where there are none.
func readLabels(texts []string) (map[string]string, error) {
	var labels map[string]string
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, usage("write NAME=VALUE, such as role=db", "%q is no label", text)
		}
		if _, twice := labels[name]; twice {
			return nil, usage("leave one out", "the label %q is there twice", name)
		}
		if labels == nil {
			labels = map[string]string{}
		}
		labels[name] = value
	}
	return labels, nil
}

// pendingHost gives the id of the host that asks for a name.
func pendingHost(ctx context.Context, server *api.Client, name string) (string, error) {
	return namelessHost(ctx, server, name, "pending", "ask for the name", "the machine shows its own when it joins")
}

// namelessHost gives the id of the host in a state that has no name of its own. A server takes the name of such a host for nobody's, since several may
// have the same one: only if one does is it meant. Where none does, what was given is the server's to judge.
func namelessHost(ctx context.Context, server *api.Client, name, state, do, hint string) (string, error) {
	if trust.ID(name).Check() == nil {
		return name, nil
	}
	var ids []string
	for h, err := range server.Hosts(ctx, api.HostFilter{Prefix: name, State: state}) {
		if err != nil {
			return "", failure(err)
		}
		if h.Name == name {
			ids = append(ids, string(h.ID))
		}
	}
	switch len(ids) {
	case 0:
		return name, nil
	case 1:
		return ids[0], nil
	}
	return "", newStatus(exitFailed, fmt.Errorf("%d hosts %s %s: %s", len(ids), do, ui.Clean(name), ui.Clean(strings.Join(ids, ", "))),
		"name the right one by its id; "+hint)
}

type hostShowCmd struct {
	Host string `arg:"" help:"Its name or id."`
}

// Run shows a host.
func (cmd *hostShowCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	h, err := server.Host(ctx, cmd.Host)
	if err != nil && diag.CodeOf(err) == "not_found" {
		id, pending := pendingHost(ctx, server, cmd.Host)
		if pending != nil {
			return pending
		}
		if id != cmd.Host {
			h, err = server.Host(ctx, id)
		}
	}
	if err != nil {
		return failure(err)
	}
	// A server that reaches no hosts knows who they are, and not how they stand.
	st, err := server.HostStatus(ctx, string(h.ID))
	if err != nil && diag.CodeOf(err) != "away" {
		return failure(err)
	}
	if err == nil {
		h.Status = &st
	}
	if s.globals.JSON {
		return s.printJSON(h)
	}
	return s.print(hostText(h))
}

// hostText describes a host, a line for each thing.
func hostText(h *api.Host) string {
	var text strings.Builder
	out := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(out, "%s\t%s\n", name, ui.Line(value))
		}
	}
	line("name", h.Name)
	line("id", string(h.ID))
	line("state", h.State)
	line("reason", h.Reason)
	line("labels", labelText(h.Labels))
	line("asked", when(h.AskedAt)+" from "+h.Source)
	if h.DecidedAt != nil {
		line("decided", when(*h.DecidedAt)+" by "+h.DecidedBy)
	}
	if h.RenewedAt != nil {
		line("renewed", when(*h.RenewedAt))
	}
	if h.CopiedAt != nil {
		line("copied", when(*h.CopiedAt))
	}
	line("successor", h.Successor)
	if st := h.Status; st != nil {
		if !st.Reachability.Seen.IsZero() {
			line("seen", reachText(h))
		}
		line("runs", runsText(st))
		line("refused", st.Refused)
		for _, o := range st.Trouble {
			line("trouble", o.Why+", since "+when(o.Since))
		}
		if l := st.Limit; l != nil {
			line("limited", l.Why+"; nothing is taken in from it since "+when(l.Since)+", and it tries again at "+when(l.Until))
		}
		line("update", updateText(st))
		for _, site := range slices.Sorted(maps.Keys(st.Sites)) {
			for i, text := range siteLines(site, st.Sites[site]) {
				name := ""
				if i == 0 {
					name = "site"
				}
				line(name, text)
			}
		}
	}
	if r := h.Replaces; r != nil {
		line("replaces", string(r.ID)+", which is "+r.State)
		for _, d := range r.Difference {
			line("", d.What+": "+d.Held+" is now "+d.Asks)
		}
	}
	_ = out.Flush() // a strings.Builder takes everything
	return strings.TrimSuffix(text.String(), "\n")
}

// tellHost says what has become of a host.
func (s *client) tellHost(h *api.Host, err error) error {
	switch {
	case err != nil:
		return failure(err)
	case s.globals.JSON:
		return s.printJSON(h)
	}
	text := ui.Line(h.Name) + ": " + ui.Line(h.State)
	if labels := labelText(h.Labels); labels != "" {
		text += ", " + ui.Line(labels)
	}
	return s.say(text)
}
