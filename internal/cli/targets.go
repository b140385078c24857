package cli

import (
	"context"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// targets are the machines that a command is about.
type targets struct {
	site    *site // that declares them, loaded but not evaluated; nil: none does
	hosts   []lang.Host
	members []*fleet.Member // the same
	// hasNames says that answers carry the names of their machines. This machine alone has none.
	hasNames bool
	// absent are hosts of an execution that never came to it.
	absent []string
}

// names are those of the hosts.
func (t *targets) names() []string {
	names := make([]string, 0, len(t.hosts))
	for i := range t.hosts {
		names = append(names, t.hosts[i].Name)
	}
	return names
}

// selectsHosts reports whether flags select hosts of a site.
func (s *client) selectsHosts() bool { return s.globals.Limit != "" || s.globals.Inventory != "" }

// targets are the hosts that --limit and --inventory select; this machine without them.
func (s *client) targets(ctx context.Context) (*targets, error) {
	if !s.selectsHosts() {
		return s.thisMachine()
	}
	return s.declaredTargets(ctx)
}

// thisMachine is this machine alone.
func (s *client) thisMachine() (*targets, error) {
	h, err := s.newHost()
	if err != nil {
		return nil, err
	}
	local, err := s.runner(h)
	if err != nil {
		return nil, err
	}
	return &targets{hosts: []lang.Host{{Executor: "local"}}, members: []*fleet.Member{{Machine: local, InProcess: true}}}, nil
}

// declaredTargets are the hosts of the site that --inventory names.
func (s *client) declaredTargets(ctx context.Context) (*targets, error) {
	path := s.globals.Inventory
	if path == "" {
		path = "."
	}
	s.secretsHidden = true
	c, err := s.loadBy(ctx, path, s.openInventory)
	if err != nil {
		return nil, err
	}
	if found := c.Diagnostics(); found.HasErrors() { // a host may be meant that is not as it is written
		return nil, s.diagnose(c, found)
	}
	hosts, err := s.selectHosts(ctx, c)
	if err != nil {
		return nil, err
	}
	if len(hosts) == 0 {
		return nil, usage("declare some: host \"web1\" {}; without -i and -l the command is about this machine", "%s declares no hosts", path)
	}
	members, err := s.members(ctx, hosts, "", s.noteHost)
	return &targets{site: c, hosts: hosts, members: members, hasNames: true}, err
}

// recordTargets finds out which machines a command about records is about: hosts that -l
// and -i select, hosts of the execution that an ID names, or this machine.
func (s *client) recordTargets(ctx context.Context, id string) (t *targets, x *fleet.Record, err error) {
	if x, err = s.execution(id); err != nil {
		return nil, nil, err
	}
	if s.globals.Inventory == "" && x != nil {
		t, err = s.executionTargets(ctx, x)
	} else {
		t, err = s.targets(ctx)
	}
	return t, x, err
}

// question is what machines are asked: see fleet.Question.
type question[T any] struct {
	fleet.Question[T]
	event            func(host string, ev states.Event)           // is told as it comes; nil: nobody
	output           func(host, stream string, data []byte)       // likewise
	note             func(host, text string)                      // nil: they are shown
	interpretOutcome func(o fleet.Outcome, value T) fleet.Outcome // what an outcome means; nil: what it says
	cancel           <-chan struct{}                              // when it is closed, ends what machines do on our behalf
	onEnd            func(a *answer[T])
}

// answer is what a machine said.
type answer[T any] struct {
	reply
	value T
}

// reply is a machine, and how it ended with it.
type reply struct {
	host    *lang.Host
	outcome fleet.Outcome
	skipped bool // it was not asked: there is nothing to ask it for
}

// replied reports whether there is an answer.
func (a *reply) replied() bool { return !a.skipped && a.failure() == nil }

// common is what answers of any kind have in common.
func common[T any](list []*answer[T]) []*reply {
	all := make([]*reply, len(list))
	for i, a := range list {
		all[i] = &a.reply
	}
	return all
}

// ask asks machines, some at a time, and gives their answers in the order of the machines.
func ask[T any](ctx context.Context, s *client, t *targets, q question[T]) ([]*answer[T], error) {
	list, byName := make([]*answer[T], len(t.hosts)), map[string]*answer[T]{}
	for i := range t.hosts {
		list[i] = &answer[T]{reply: reply{host: &t.hosts[i]}}
		byName[t.hosts[i].Name] = list[i]
	}
	take := func(a fleet.Answer[T]) *answer[T] {
		one := byName[a.Machine]
		one.outcome, one.value = a.Outcome, a.Value
		if q.interpretOutcome != nil {
			one.outcome = q.interpretOutcome(a.Outcome, a.Value)
		}
		return one
	}
	if q.onEnd != nil {
		q.Answered = func(a fleet.Answer[T]) { q.onEnd(take(a)) }
	}
	note := q.note
	if note == nil {
		note = s.noteHost
	}
	answers, err := fleet.Ask(ctx, t.members, q.Question, fleet.Options{
		Forks: s.globals.Forks, Patience: s.globals.patience(), Cancelled: q.cancel,
		Listener: &forwarder{event: q.event, output: q.output, note: note},
	})
	if err != nil {
		return nil, failure(err)
	}
	for _, a := range answers {
		take(a)
	}
	return list, nil
}

// forwarder hands on what machines tell while they are asked.
type forwarder struct {
	fleet.Silence
	event  func(host string, ev states.Event)
	output func(host, stream string, data []byte)
	note   func(host, text string)
}

// Event hands an event on.
func (a *forwarder) Event(host string, ev states.Event) {
	if a.event != nil {
		a.event(host, ev)
	}
}

// Note shows what people should know of a machine.
func (a *forwarder) Note(host string, n machine.Note) { a.note(host, n.Text) }

// Output hands on what a program prints.
func (a *forwarder) Output(host, stream string, data []byte) {
	if a.output != nil {
		a.output(host, stream, data)
	}
}

// askOne makes a question of what takes no observer.
func askOne[T any](name string, repeatable bool, f func(ctx context.Context, m *fleet.Member) (T, error)) question[T] {
	return question[T]{Question: fleet.Question[T]{Task: name, Repeatable: repeatable,
		Ask: func(ctx context.Context, m *fleet.Member, _ machine.Observer, _ machine.RunRef) (T, error) {
			return f(ctx, m)
		}}}
}
