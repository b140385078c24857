package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/control"
	api "github.com/tenetcm/tenet/server/api/client"
	"github.com/tenetcm/tenet/states"
)

// runServer shows what the hosts of the server have told it, in one sequence.
func (cmd *eventsCmd) runServer(ctx runContext, s *client) error {
	since := cmp.Or(cmd.Since, "0")
	if !regexp.MustCompile(`^(0|[0-9]+-[0-9]+)$`).MatchString(since) {
		return usage("it is what tenet events --server has before each event, such as 1-4711; 0 is the beginning of what is kept", "--since %s is no place in the events of a server", since)
	}
	server, err := s.server()
	if err != nil {
		return err
	}
	defer s.endsQuietly()()
	for e, err := range server.Stream(ctx, since, cmd.Follow) {
		switch {
		case ctx.Err() != nil:
			return &status{code: exitInterrupted}
		case err != nil:
			return failure(err)
		}
		if s.globals.JSON {
			err = s.printLine(e)
		} else {
			err = s.print(hostEventText(&e))
		}
		if err != nil {
			return failure(unread(err))
		}
	}
	return nil
}

// hostEventText is what a host has told, in one line.
func hostEventText(e *api.HostEvent) string {
	if e.Kind == api.KindMissing {
		what := "what was before is no longer kept"
		if e.Reason == "restored" {
			what = "the server was restored: all that it has follows"
		}
		return fmt.Sprintf("%s  (%s)", ui.Line(e.ID), what)
	}
	return fmt.Sprintf("%s  %s  %s  %s", ui.Line(e.ID), e.At.Local().Format(time.DateTime), ui.Line(cmp.Or(e.Name, e.Host)), ui.Line(cmp.Or(toldText(e), e.Kind)))
}

// toldText is that without when and by whom; empty: it is of another version of the server.
func toldText(e *api.HostEvent) string {
	switch e.Kind {
	case "event":
		var told control.Event
		var ev states.Event
		if json.Unmarshal(e.Data, &told) == nil && json.Unmarshal(told.Event, &ev) == nil {
			return told.Run + "  " + eventText(&ev)
		}
	case "run":
		var r control.Run
		if json.Unmarshal(e.Data, &r) != nil {
			break
		}
		text := fmt.Sprintf("%s  run of %s begins", r.Run, r.Site)
		if !r.Ended.IsZero() {
			text = fmt.Sprintf("%s  run of %s ends: %s", r.Run, r.Site, cmp.Or(r.Error, strings.Join(sums(r.Counts), ", "), "nothing to do"))
		}
		return text
	case "loop":
		var l control.Loop
		if json.Unmarshal(e.Data, &l) != nil {
			break
		}
		text := "loop of " + l.Site + " is " + string(l.Phase)
		if l.Condition != "" {
			text += ", " + string(l.Condition)
		}
		if l.Reason != "" {
			text += ": " + l.Reason
		}
		return text
	case "update":
		var u control.Update
		if json.Unmarshal(e.Data, &u) == nil {
			return strings.TrimSpace("update to " + u.Version + " is " + string(u.Phase) + " " + u.Reason)
		}
	case "gap":
		var g struct{ First, Last uint64 }
		if json.Unmarshal(e.Data, &g) == nil {
			return fmt.Sprintf("the host could not tell %d to %d any more", g.First, g.Last)
		}
	}
	return ""
}
