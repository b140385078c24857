package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/control"
	api "github.com/tenetcm/tenet/server/api/client"
)

type hostStatusCmd struct {
	Selector string `arg:"" optional:"" help:"Names, globs, LABEL=VALUE, !NOT, with commas (default: all hosts)."`
	Site     string `help:"Only what is about this site." placeholder:"SITE"`
}

// Run counts hosts by how they stand.
func (cmd *hostStatusCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	st, err := server.Status(ctx, cmd.Selector, cmd.Site)
	if err != nil {
		return failure(err)
	}
	if s.globals.JSON {
		return s.printJSON(st)
	}
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	for _, row := range []struct {
		name   string
		counts map[string]int
		order  []string
	}{
		{"hosts", st.States, []string{"active", "approved", "pending", "locked", "revoked"}},
		{"reachability", st.Reachability, []string{"connected", "silent", "lost"}},
		{"delivery", st.Delivery, []string{"adopted", "held", "pending"}},
		{"state", st.Readiness, []string{"ready", "not-ready", "unknown"}},
		{"drift", st.Drift, []string{"drifted", "mended", "none"}},
		{"loops", st.Phases, nil},
	} {
		fmt.Fprintf(out, "%s\t%s\n", row.name, orDash(countText(row.counts, row.order)))
	}
	return unread(failure(out.Flush()))
}

// countText is counts in one line: those of the order first.
func countText(counts map[string]int, order []string) string {
	for _, word := range slices.Sorted(maps.Keys(counts)) {
		if !slices.Contains(order, word) {
			order = append(order, word)
		}
	}
	var words []string
	for _, word := range order {
		if n := counts[word]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, orNone(ui.Line(word))))
		}
	}
	return strings.Join(words, ", ")
}

func orNone(word string) string {
	if word == "" {
		return "not told"
	}
	return word
}

// reachText tells when a host was heard of last.
func reachText(h *api.Host) string {
	switch st := h.Status; {
	case st != nil && st.Reachability.Lost:
		return when(st.Reachability.Seen) + " (lost)"
	case st != nil && !st.Reachability.Seen.IsZero():
		return when(st.Reachability.Seen)
	case h.RenewedAt != nil:
		return when(*h.RenewedAt)
	}
	return when(h.AskedAt)
}

// sitesText tells in short how a host stands with its sites.
func sitesText(st *api.HostStatus) string {
	if st == nil {
		return ""
	}
	var list []string
	for _, site := range slices.Sorted(maps.Keys(st.Sites)) {
		list = append(list, site+" "+strings.Join(siteWords(st.Sites[site]), " "))
	}
	return strings.Join(list, "; ")
}

// siteWords say how a host stands with a site: what is as it ought to be is left out where something is not.
func siteWords(s *api.SiteStatus) []string {
	var words []string
	switch {
	case s.Delivery.Pending != "":
		words = append(words, "pending")
	case !s.Delivery.Adopted:
		words = append(words, "held")
	}
	if l := s.Loop; l != nil {
		if l.Phase != control.PhaseWaiting || len(words) == 0 && l.Condition == "" {
			words = append(words, string(l.Phase))
		}
		if l.Condition != "" && (l.Condition != control.ConditionConverged || len(words) == 0) {
			words = append(words, string(l.Condition))
		}
	}
	if len(words) == 0 {
		words = append(words, "adopted")
	}
	return words
}

// siteLines describe how a host stands with a site: what is wanted, what its loop does and why, what is there.
func siteLines(site string, s *api.SiteStatus) []string {
	d := &s.Delivery
	wanted := "revision " + d.Revision
	if d.Absent {
		wanted = "nothing is wanted of it any more"
	}
	switch {
	case d.Pending != "":
		wanted += ", pending since " + when(d.Since) + ": " + d.Pending
	case d.Adopted:
		wanted += ", adopted"
	default:
		wanted += ", held: its loop has not taken it up"
	}
	lines := []string{site + ": " + wanted}
	if l := s.Loop; l != nil {
		text := "loop: " + string(l.Phase)
		if l.Condition != "" {
			text += ", " + string(l.Condition)
		}
		text += " since " + when(s.Since)
		if l.Attempt > 0 {
			text += fmt.Sprintf(", attempt %d of %d", l.Attempt, l.Attempts)
		}
		if !l.Next.IsZero() {
			text += ", next " + when(l.Next)
		}
		if l.Reason != "" {
			text += ": " + l.Reason
		}
		lines = append(lines, text)
	}
	if r := s.Report; r != nil {
		text := "state: not ready"
		if r.Ready {
			text = "state: ready"
		}
		lines = append(lines, text+" at "+when(r.At)+", by run "+r.Run)
	}
	return lines
}
