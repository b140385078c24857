package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/host/facts"
	"github.com/tenetcm/tenet/runtime/machine"
)

// remoteFacts are the facts of hosts as these tell them. They are asked, all at once, when
// the first fact is wanted: many sites want none.
type remoteFacts struct {
	tell     func() (map[string]*factsAnswer, error)
	wasAsked atomic.Bool
}

func (s *client) remoteFacts(ctx context.Context, c *site, hosts []lang.Host) *remoteFacts {
	f := &remoteFacts{}
	f.tell = sync.OnceValues(func() (answers map[string]*factsAnswer, err error) {
		f.wasAsked.Store(true)
		var list []*factsAnswer
		s.outsideEvaluation(func() { list, err = s.factsFor(ctx, c, hosts) })
		answers = map[string]*factsAnswer{}
		for _, a := range list {
			answers[a.host.Name] = a
		}
		return answers, err
	})
	return f
}

// forHost gives the facts of a host.
func (f *remoteFacts) forHost(name string) func(fact string) (any, error) {
	known := facts.New(nil, nil)
	return func(fact string) (any, error) {
		if !slices.Contains(known.Names(), fact) {
			return known.Fact(fact)
		}
		answers, err := f.tell()
		if err != nil {
			return nil, err
		}
		a := answers[name]
		if why := a.failure(); why != nil {
			return nil, errors.New(name + ": " + ui.Line(why.Message))
		}
		return a.value.Fact(fact)
	}
}

// silence is what an evaluation that failed comes to where the host did not tell its
// facts; err otherwise.
func (c *site) silence(err error) error {
	if err == nil || c.far == nil || !c.far.wasAsked.Load() {
		return err
	}
	name := c.declared.Name
	answers, wrong := c.far.tell()
	if wrong != nil {
		return wrong
	}
	why := answers[name].failure()
	if why == nil {
		return err
	}
	return newStatus(statusOf(&answers[name].outcome), fmt.Errorf("%s did not tell its facts", name), why.Hint)
}

// factsAnswer is what a host knows of itself.
type factsAnswer = answer[*machine.Facts]

// factsFor asks hosts for the facts that a site may want.
func (s *client) factsFor(ctx context.Context, c *site, hosts []lang.Host) ([]*factsAnswer, error) {
	members, err := s.members(ctx, hosts, "", s.noteHost)
	if err != nil {
		return nil, err
	}
	names := c.FactNames()
	return ask(ctx, s, &targets{site: c, hosts: hosts, members: members, hasNames: true},
		askOne("facts", true, func(ctx context.Context, m *fleet.Member) (*machine.Facts, error) { return m.Facts(ctx, names) }))
}

// settleFacts lets a site that is evaluated for a host which SSH reaches have that host's
// facts.
func (s *client) settleFacts(c *site, far *remoteFacts) {
	if s.globals.Facts == "" && c.declared.IsRemote() {
		c.far = far
		c.Target.Facts = far.forHost(c.declared.Name)
	}
}

// inspectEach shows variables and states of several hosts, each under its name.
func (s *client) inspectEach(ctx context.Context, cmd *inspectCmd, c *site, hosts []lang.Host) error {
	far := s.remoteFacts(ctx, c, hosts)
	var codes []int
	title := "%s:"
	for i := range hosts {
		one := c.forHost(&hosts[i])
		s.settleFacts(one, far)
		found, err := s.inspectHost(ctx, cmd, one)
		if st, ok := errors.AsType[*status](err); ok && st.code != exitInterrupted {
			fmt.Fprintln(s.Err, ui.Line(hosts[i].Name+": "+st.Error()))
			codes = append(codes, st.code)
			continue
		}
		if err != nil {
			return err
		}
		if s.globals.JSON {
			err = s.printLine(hostInspection{hosts[i].Name, *found})
		} else if err = s.print(fmt.Sprintf(title, hosts[i].Name)); err == nil {
			err = s.printInspection(*found)
			title = "\n%s:"
		}
		if err != nil {
			return err
		}
	}
	if code := worst(codes); code != exitDone {
		return &status{code: code}
	}
	return nil
}

// hostInspection is what inspect shows of one of several hosts, as JSON.
type hostInspection struct {
	Host string `json:"host"`
	inspection
}
