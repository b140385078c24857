package cli

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
)

type pingCmd struct {
	Wait patience `help:"Try again until all hosts answer, for 5m or --wait=DURATION."`
}

// patience is how long to wait; as a flag it may stand without a value.
type patience struct{ span }

// defaultPatience is enough for a machine that starts.
const defaultPatience = 5 * time.Minute

// Decode reads the flag.
func (p *patience) Decode(ctx *kong.DecodeContext) error {
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		p.span = span(defaultPatience)
		return nil
	}
	return p.UnmarshalText([]byte(ctx.Scan.Pop().String()))
}

// IsBool says that the flag needs no value.
func (p *patience) IsBool() bool { return true }

// pong is what a host answered, as JSON.
type pong struct {
	Host     string  `json:"host"`
	Executor string  `json:"executor"`
	User     string  `json:"user"` // who acts there
	UID      int     `json:"uid"`
	OS       string  `json:"os"`
	Arch     string  `json:"arch"`
	Program  string  `json:"program"` // its version
	Clock    float64 `json:"clock"`   // seconds that the host's clock is ahead
	Time     float64 `json:"time"`    // seconds that the answer took
}

// pingAnswer is who answers on a host.
type pingAnswer = answer[*machine.Identity]

// Run asks hosts whether they can be used: whether they are reached, let us in, let
// us become who acts there, and whether the runner starts.
func (cmd *pingCmd) Run(ctx runContext, s *client) error {
	t, err := s.declaredTargets(ctx)
	if err != nil {
		return err
	}
	q := askOne("ping", true, func(ctx context.Context, m *fleet.Member) (*machine.Identity, error) { return m.Ping(ctx) })
	list, err := ask(ctx, s, t, q)
	if err == nil && cmd.Wait.span > 0 {
		err = s.awaitHosts(ctx, t, q, list, time.Duration(cmd.Wait.span))
	}
	if err != nil {
		return err
	}
	if s.globals.JSON {
		return s.printAnswers(t, common(list), func(i int) (any, any) { return nil, pongOf(list[i]) })
	}
	if err := s.printPongs(list); err != nil {
		return err
	}
	return s.showFailures(t, common(list))
}

// betweenPings is how long to wait before hosts are asked again.
const betweenPings = 2 * time.Second

// awaitHosts asks those hosts again that gave no answer, until they do or it takes too
// long. A changed host key is not waited for: no time cures it.
func (s *client) awaitHosts(ctx context.Context, t *targets, q question[*machine.Identity], list []*pingAnswer, patience time.Duration) error {
	deadline := time.Now().Add(patience)
	waited := -1
	for {
		missing, indexes := &targets{site: t.site, hasNames: true}, []int(nil)
		for i, a := range list {
			if f := a.failure(); f != nil && f.Code != "host_key" {
				missing.hosts, missing.members = append(missing.hosts, t.hosts[i]), append(missing.members, t.members[i])
				indexes = append(indexes, i)
			}
		}
		if len(indexes) == 0 || time.Until(deadline) < betweenPings {
			return nil
		}
		if len(indexes) != waited {
			waited = len(indexes)
			s.noteHost("", fmt.Sprintf("waiting for %s: %s", namesOf(missing.names(), s.globals.Verbose), list[indexes[0]].failure().Message))
		}
		select {
		case <-ctx.Done():
			return &status{code: exitInterrupted, err: errInterrupted}
		case <-time.After(betweenPings):
		}
		again, err := ask(ctx, s, missing, q)
		if err != nil {
			return err
		}
		for i, a := range again {
			list[indexes[i]] = a
			a.host = &t.hosts[indexes[i]]
		}
	}
}

// pongOf is what a host said of itself.
func pongOf(a *pingAnswer) pong {
	h := a.value
	return pong{Host: a.host.Name, Executor: a.host.Executor, User: h.User, UID: h.UID, OS: h.OS, Arch: h.Arch, Program: h.Program,
		Clock: clockOf(a).Seconds(), Time: a.outcome.Duration.Round(time.Millisecond).Seconds()}
}

// clockOf is how far the host's clock is ahead of ours, as far as that can be told: it
// was sent some time before it was heard.
func clockOf(a *pingAnswer) time.Duration {
	return a.value.Now.Sub(a.value.Heard).Round(10 * time.Millisecond)
}

// maxClockOffset is how far a clock may be off before that is worth a word: certificates,
// and what is compared by its times, suffer.
const maxClockOffset = 10 * time.Second

// printPongs prints a table, and the sum.
func (s *client) printPongs(list []*pingAnswer) error {
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	if !s.globals.Quiet {
		fmt.Fprintln(out, "HOST\tSTATE\tACTS AS\tSYSTEM\tTENET\tCLOCK\tTIME")
	}
	answered, wrong := 0, []string(nil)
	for _, a := range list {
		took := a.outcome.Duration.Round(10 * time.Millisecond)
		if f := a.failure(); f != nil {
			fmt.Fprintf(out, "%s\t%s\t-\t-\t-\t-\t%s\n", a.host.Name, ui.Line(f.Code), took)
			continue
		}
		answered++
		if clockOf(a).Abs() > maxClockOffset {
			wrong = append(wrong, a.host.Name)
		}
		if s.globals.Quiet {
			continue
		}
		h := a.value
		clock := "0s" // less than a second may be the way there
		if off := clockOf(a).Truncate(time.Second); off != 0 {
			clock = fmt.Sprintf("%+.0fs", off.Seconds())
		}
		fmt.Fprintf(out, "%s\tok\t%s\t%s/%s\t%s\t%s\t%s\n", a.host.Name, ui.Line(h.User), ui.Line(h.OS), ui.Line(h.Arch), ui.Line(h.Program), clock, took)
	}
	if err := out.Flush(); err != nil {
		return failure(unread(err))
	}
	if len(wrong) > 0 {
		s.noteHost("", fmt.Sprintf("the clocks of %s and this machine differ by more than %s", namesOf(wrong, s.globals.Verbose), maxClockOffset))
	}
	return failure(unread(s.print(fmt.Sprintf("%d of %s answer", answered, plural(len(list), "host")))))
}
