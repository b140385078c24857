package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/states"
)

// convergeFlags says that a site is applied until nothing changes.
type convergeFlags struct {
	UntilConverged *int `help:"Apply again until nothing changes, N times at most." placeholder:"N"`
}

func (o convergeFlags) check() error {
	if o.UntilConverged != nil && *o.UntilConverged < 1 {
		return usage("", "--until-converged is a number of runs from 1, not %d", *o.UntilConverged)
	}
	return nil
}

// convergence is how the runs of one apply went: its last line of JSON.
type convergence struct {
	Type      string         `json:"type"`           // "convergence"
	Host      string         `json:"host,omitempty"` // of several
	Converged bool           `json:"converged"`
	Runs      int            `json:"runs"`
	Limit     int            `json:"limit"`
	Changing  []changingPart `json:"changing"` // what the last two runs, or the only one, have changed
}

// changingPart is a part that is changed by each run.
type changingPart struct {
	Address    string        `json:"address"`
	Type       string        `json:"part_type"`
	Key        string        `json:"key,omitempty"`
	Action     states.Action `json:"action"`
	Attributes []string      `json:"attributes,omitempty"`

	handler bool
}

// tell prints a line for people, unless they want none.
func (c *console) tell(format string, args ...any) error {
	if c.globals.JSON || c.globals.Quiet {
		return nil
	}
	return unread(c.print(fmt.Sprintf(format, args...)))
}

// showConvergence tells how it ended.
func (s *client) showConvergence(end convergence, failed, changes bool) error {
	if s.globals.JSON {
		if err := s.printLine(end); err != nil {
			return err
		}
	}
	runs := plural(end.Runs, "run")
	switch {
	case end.Converged && changes:
		return errors.Join(s.tell("converged after %s", runs), &status{code: exitChanges})
	case end.Converged:
		return s.tell("converged after %s", runs)
	}
	text, hint := end.explain(runs, failed)
	return newStatus(exitFailed, errors.New(text), hint)
}

// explain says why it has not converged, and what may help.
func (end convergence) explain(runs string, failed bool) (text, hint string) {
	text = fmt.Sprintf("not converged after %s", runs)
	if failed {
		text += ": the last one failed"
	}
	if len(end.Changing) == 0 {
		return text, ""
	}
	if text += "; this changes each time:"; end.Runs == 1 {
		text = strings.TrimSuffix(text, "this changes each time:") + "this has changed:"
	}
	acts := false
	resources := map[states.Resource][]string{}
	for _, p := range end.Changing {
		text += "\n  " + p.Address
		if p.Key != "" && !strings.Contains(p.Address, p.Key) {
			text += "  " + p.Key
		}
		switch {
		case p.Action == states.Execute:
			acts = true
			text += "  (runs every time)"
		case len(p.Attributes) > 0:
			text += "  (" + strings.Join(p.Attributes, ", ") + ")"
		}
		if p.Key != "" {
			name := states.Resource{Type: p.Type, Key: p.Key}
			resources[name] = append(resources[name], p.Address)
		}
	}
	switch {
	case end.Runs == 1:
		hint = "a higher number lets it look whether the next run changes something, too"
	case acts:
		hint = "a command that runs every time never converges: say with creates, removes, changed_if or a guard when it has nothing to do"
	default:
		hint = "something else makes it different again: another part, a program or a person"
	}
	for _, p := range end.Changing {
		if list := resources[states.Resource{Type: p.Type, Key: p.Key}]; len(list) > 1 {
			return text, fmt.Sprintf("%s make the same %s different again, one after the other", strings.Join(list, " and "), p.Type)
		}
	}
	return text, hint
}

// persistent gives what the last run has changed and the one before it too. Handlers
// only follow, and are named where nothing else is.
func persistent(before, last []changingPart, runs int) []changingPart {
	list := []changingPart{}
	for _, p := range last {
		if runs == 1 || slices.ContainsFunc(before, func(b changingPart) bool { return b.Address == p.Address }) {
			list = append(list, p)
		}
	}
	if len(list) == 0 { // this time these, that time others
		list = append(list, last...)
	}
	causes := slices.DeleteFunc(slices.Clone(list), func(p changingPart) bool { return p.handler })
	if len(causes) > 0 {
		return causes
	}
	return list
}

// noteChange adds to a list what an event says was changed.
func noteChange(list *[]changingPart, handlers map[string]bool, ev *states.Event) {
	if ev.Type != states.EventPart || ev.Outcome != states.Changed {
		return
	}
	p := changingPart{Address: ev.Address, Type: ev.Part, Key: ev.Key, Action: ev.Action, handler: handlers[ev.Invocation]}
	for _, c := range ev.Changes {
		p.Attributes = append(p.Attributes, c.Attribute)
	}
	*list = append(*list, p)
}

// handlersOf gives the addresses of the waves that run only when they are called.
func handlersOf(run *states.StateRun) map[string]bool {
	waves := map[string]bool{}
	for i := range run.Invocations {
		if inv := &run.Invocations[i]; inv.Handler && !inv.Always {
			waves[inv.Address] = true
		}
	}
	return waves
}
