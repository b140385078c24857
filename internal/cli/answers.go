package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/states"
)

// failure is why there is no answer; nil: there is.
func (a *reply) failure() *states.Failure { return failureOf(&a.outcome) }

// noteHost shows a line about a host, or about all.
func (c *console) noteHost(host, text string) {
	if c.globals.Quiet || c.globals.JSON {
		return
	}
	if host != "" {
		text = host + ": " + text
	}
	fmt.Fprintln(c.Err, ui.Line(text))
}

// hostError is a host's failure as JSON.
type hostError struct {
	Host  string          `json:"host"`
	Error *states.Failure `json:"error"`
}

// showFailures shows why machines gave no answer, those with the same reason at once, and
// gives the exit status of all. Codes are those of machines that did, if they matter.
func (s *client) showFailures(t *targets, list []*reply, codes ...int) error {
	if !t.hasNames {
		return s.failureHere(list[0], codes...)
	}
	reasons := map[states.Failure][]string{}
	hints := map[states.Failure]string{} // the first host's: they may name it
	var order []states.Failure
	for _, a := range list {
		f := a.failure()
		codes = append(codes, statusOf(&a.outcome))
		if f == nil {
			continue
		}
		reason := *f
		reason.Hint = ""
		if _, known := reasons[reason]; !known {
			order = append(order, reason)
			hints[reason] = f.Hint
		} else if hints[reason] != f.Hint && !strings.HasSuffix(hints[reason], ui.Likewise) {
			hints[reason] += ui.Likewise
		}
		reasons[reason] = append(reasons[reason], a.host.Name)
	}
	if !s.globals.JSON {
		for _, f := range order {
			fmt.Fprintf(s.Err, "%s: %s\n", namesOf(reasons[f], s.globals.Verbose), ui.Line(f.Message))
			if hints[f] != "" {
				fmt.Fprintln(s.Err, "  hint: "+ui.Line(hints[f]))
			}
		}
	}
	if code := worst(codes); code != exitDone {
		return &status{code: code}
	}
	return nil
}

// failureHere is the exit status for this machine.
func (s *client) failureHere(a *reply, codes ...int) error {
	switch {
	case (a.outcome.Status == fleet.Interrupted || a.outcome.Status == fleet.Skipped) && !a.outcome.Refused():
		return &status{code: exitInterrupted, err: errInterrupted}
	case a.outcome.Err != nil:
		if _, shown := errors.AsType[*status](a.outcome.Err); shown {
			return a.outcome.Err
		}
		return s.ran(a.outcome.Err)
	}
	if code := worst(codes); code != exitDone {
		return &status{code: code}
	}
	return nil
}

// printAnswers prints answers as JSON: that of this machine by itself, and else an object
// a host, which show gives by its place, or its error.
func (s *client) printAnswers(t *targets, list []*reply, show func(i int) (answer, ofHost any)) error {
	for i, a := range list {
		var err error
		switch failed := a.failure() != nil; {
		case t.hasNames && failed:
			err = s.printLine(hostError{a.host.Name, a.failure()})
		case t.hasNames:
			_, v := show(i)
			err = s.printLine(v)
		case !failed:
			v, _ := show(i)
			err = s.printJSON(v)
		}
		if err != nil {
			return err
		}
	}
	return s.showFailures(t, list)
}

// hostGroups gathers hosts by what they have in common.
type hostGroups struct {
	order []string
	hosts map[string][]string
}

func (g *hostGroups) add(host, text string) {
	if g.hosts == nil {
		g.hosts = map[string][]string{}
	}
	if _, known := g.hosts[text]; !known {
		g.order = append(g.order, text)
	}
	g.hosts[text] = append(g.hosts[text], host)
}

// title is the line above what several hosts say.
func (c *console) title(hosts []string) string {
	return strings.TrimSpace(namesOf(hosts, c.globals.Verbose)) + ":"
}

// printText prints text that ends with its own newline.
func (c *console) printText(text string) error {
	_, err := fmt.Fprint(c.Out, text)
	return failure(unread(err))
}
