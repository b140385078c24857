package cli

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	api "github.com/tenetcm/tenet/server/api/client"
)

type updateCmd struct {
	Release     string        `arg:"" optional:"" name:"version" help:"The release to which agents are brought."`
	Hosts       string        `help:"Only these hosts: names, globs, LABEL=VALUE, !NOT, with commas." placeholder:"HOSTS"`
	Batch       []string      `help:"So many hosts at once, such as 1,10%,100%; the last one goes on." placeholder:"N"`
	MaxFailures string        `help:"So many hosts may fail, such as 2 or 5% (default: none)." placeholder:"N"`
	Pause       time.Duration `help:"Wait so long between batches." placeholder:"DURATION"`
	Deadline    time.Duration `help:"How long a host that is at hand may take." default:"1h" placeholder:"DURATION"`
	Reason      string        `help:"Why, for people and the audit." placeholder:"TEXT"`
	Status      bool          `help:"Show where the hosts of the newest update stand."`
	Continue    bool          `help:"Have the newest update go on without the hosts of a batch that are away."`
	Abort       bool          `help:"End the newest update; hosts that do not run it yet keep their program."`
}

// Run begins an update of agents, or looks after the newest one.
func (cmd *updateCmd) Run(ctx runContext, s *client) error {
	acts := 0
	for _, is := range []bool{cmd.Release != "", cmd.Status, cmd.Continue, cmd.Abort} {
		if is {
			acts++
		}
	}
	if acts != 1 {
		return usage("tenet update v1.4.0 begins an update; --status shows the newest", "give a version, or one of --status, --continue and --abort")
	}
	server, err := s.server()
	if err != nil {
		return err
	}
	var u api.Update
	switch {
	case cmd.Release != "":
		u, err = server.StartUpdate(ctx, api.UpdateRequest{Version: cmd.Release, Hosts: cmd.Hosts, Batch: cmd.Batch, MaxFailures: cmd.MaxFailures,
			Pause: int(cmd.Pause.Seconds()), Deadline: int(cmd.Deadline.Seconds()), Message: cmd.Reason})
	default:
		if u, err = server.Update(ctx, 0); err == nil && cmd.Abort {
			u, err = server.SteerUpdate(ctx, u.Number, "abort", cmd.Reason)
		} else if err == nil && cmd.Continue {
			u, err = server.SteerUpdate(ctx, u.Number, "continue", cmd.Reason)
		}
	}
	if err != nil {
		return failure(err)
	}
	return s.tellUpdate(&u)
}

// tellUpdate shows an update, with its hosts.
func (s *client) tellUpdate(u *api.Update) error {
	if s.globals.JSON {
		return s.printJSON(u)
	}
	text := fmt.Sprintf("update %d to %s: %s, batch %d of %d", u.Number, ui.Line(u.Version), ui.Line(u.Phase), u.Turn, u.Turns)
	if u.Reason != "" {
		text += ": " + ui.Line(u.Reason)
	}
	if err := s.say(text); err != nil {
		return err
	}
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "HOST\tRUNS\tSTATE\tREASON")
	for _, h := range u.Members {
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", ui.Line(h.Name), orDash(ui.Line(h.Running)), ui.Line(h.State), orDash(ui.Line(h.Reason)))
	}
	return unread(failure(out.Flush()))
}

// runsText is the version that the agent of a host runs; empty: it has not said so.
func runsText(st *api.HostStatus) string {
	if st == nil || st.Program == nil {
		return ""
	}
	return st.Program.Version
}

// updateText tells how far a host is with a release; empty: none is wanted that it does not run.
func updateText(st *api.HostStatus) string {
	if st.Release == "" || st.Release == runsText(st) {
		return ""
	}
	text := "to " + st.Release
	if u := st.Update; u != nil && u.Version == st.Release {
		text += ": " + string(u.Phase)
		if u.Reason != "" {
			text += ": " + u.Reason
		}
		if !u.Next.IsZero() {
			text += "; next " + when(u.Next)
		}
	}
	return text
}
