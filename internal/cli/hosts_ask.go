package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// question is what hosts are asked.
type question struct {
	opening wire.Opening
	// request is what each is asked; nil: nothing but its Hello.
	request *wire.Request
	// of, unless it is nil, makes a host's own request of that.
	of func(host string, r wire.Request) *wire.Request
	// cancelled, when it is closed, ends what hosts do on our behalf.
	cancelled <-chan struct{}

	// What is told as it comes, one at a time; nil: nobody is told.
	event  func(host string, ev states.Event)
	output func(host, stream string, data []byte)
	ended  func(a *answer)
	// judged tells what an outcome means; nil: what it says.
	judged func(fleet.Outcome) fleet.Outcome
}

// answer is what a host said.
type answer struct {
	host    *lang.Host
	hello   *wire.Hello // nil: it was not reached
	heard   time.Time   // when the Hello came
	data    []json.RawMessage
	outcome fleet.Outcome
	spared  bool // it was not asked: there is nothing to ask it for
}

// failure is why there is no answer; nil: there is.
func (a *answer) failure() *states.Failure { return troubleOf(&a.outcome) }

// decode reads the answer itself.
func (a *answer) decode(v any) error {
	if len(a.data) == 0 {
		return fmt.Errorf("%s gave no answer", a.host.Name)
	}
	if err := json.Unmarshal(a.data[0], v); err != nil {
		return fmt.Errorf("the answer of %s cannot be read: %w", a.host.Name, err)
	}
	return nil
}

// askHosts asks hosts, some at a time, and gives their answers in the order of the hosts.
func (s *client) askHosts(ctx context.Context, m *meant, q question) ([]*answer, error) {
	r := &inquiry{client: s, question: &q, answers: map[string]*answer{}, list: make([]*answer, len(m.hosts))}
	for i := range m.hosts {
		r.list[i] = &answer{host: &m.hosts[i]}
		r.answers[m.hosts[i].Name] = r.list[i]
	}
	task := fleet.Task{Opening: q.opening, Prepare: r.prepare}
	outcomes, err := fleet.Run(ctx, m.machines, task, fleet.Options{
		Forks: s.globals.Forks, Patience: s.globals.patience(), Cancelled: q.cancelled, Listener: r,
	})
	if err != nil {
		return nil, failed(err)
	}
	for i := range outcomes {
		r.list[i].outcome = q.meaning(outcomes[i])
	}
	return r.list, nil
}

func (q *question) meaning(o fleet.Outcome) fleet.Outcome {
	if q.judged != nil {
		return q.judged(o)
	}
	return o
}

// inquiry gathers answers as they come: it is a fleet.Listener.
type inquiry struct {
	*client
	question *question
	answers  map[string]*answer
	list     []*answer
}

// prepare makes the request to a host. One host's answer is its own, so that those
// of several may be written at a time.
func (r *inquiry) prepare(_ context.Context, m *fleet.Machine, hello *wire.Hello) (*wire.Request, *bundle.Bundle, error) {
	r.answers[m.Name].hello, r.answers[m.Name].heard = hello, time.Now()
	if r.question.request == nil {
		return nil, nil, nil
	}
	request := *r.question.request
	request.User, request.From, request.Command = r.user(), r.from(), r.command
	if r.question.of != nil {
		return r.question.of(m.Name, request), nil, nil
	}
	return &request, nil, nil
}

// State is of no account where nothing takes long.
func (r *inquiry) State(string, fleet.State) {}

// Event hands an event on.
func (r *inquiry) Event(machine string, ev states.Event) {
	if r.question.event != nil {
		r.question.event(machine, ev)
	}
}

// Note shows what people should know of a host.
func (r *inquiry) Note(machine, text string) { r.noteHost(machine, text) }

// Output hands on what a program prints.
func (r *inquiry) Output(machine, stream string, data []byte) {
	if r.question.output != nil {
		r.question.output(machine, stream, data)
	}
}

// Data keeps an answer.
func (r *inquiry) Data(machine string, data json.RawMessage) {
	a := r.answers[machine]
	a.data = append(a.data, slices.Clone(data))
}

// Ended tells that a host is done.
func (r *inquiry) Ended(machine string, o fleet.Outcome) {
	if r.question.ended != nil {
		a := r.answers[machine]
		a.outcome = r.question.meaning(o)
		r.question.ended(a)
	}
}

// noteHost shows a line about a host, or about all.
func (s *client) noteHost(host, text string) {
	if s.globals.Quiet || s.globals.JSON {
		return
	}
	if host != "" {
		text = host + ": " + text
	}
	fmt.Fprintln(s.Err, ui.Line(text))
}

// hostError is a host's failure as JSON.
type hostError struct {
	Host  string          `json:"host"`
	Error *states.Failure `json:"error"`
}

// concluded shows why hosts gave no answer, those with the same reason at once, and
// gives the exit status of all. Codes are those of hosts that did, if they matter.
func (s *client) concluded(list []*answer, codes ...int) error {
	said := map[states.Failure][]string{}
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
		if _, known := said[reason]; !known {
			order = append(order, reason)
			hints[reason] = f.Hint
		} else if hints[reason] != f.Hint && !strings.HasSuffix(hints[reason], ui.Likewise) {
			hints[reason] += ui.Likewise
		}
		said[reason] = append(said[reason], a.host.Name)
	}
	if !s.globals.JSON {
		for _, f := range order {
			fmt.Fprintf(s.Err, "%s: %s\n", namesOf(said[f], s.globals.Verbose), ui.Line(f.Message))
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

// printAnswers prints a JSON object a host, which show gives by its place, or its error.
func (s *client) printAnswers(list []*answer, show func(i int) (any, error)) error {
	for i, a := range list {
		v, err := any(hostError{a.host.Name, a.failure()}), error(nil)
		if a.failure() == nil {
			v, err = show(i)
		}
		if err == nil {
			err = s.printLine(v)
		}
		if err != nil {
			return err
		}
	}
	return s.concluded(list)
}

// alike gathers hosts by what they have in common.
type alike struct {
	order []string
	hosts map[string][]string
}

func (l *alike) add(host, what string) {
	if l.hosts == nil {
		l.hosts = map[string][]string{}
	}
	if _, known := l.hosts[what]; !known {
		l.order = append(l.order, what)
	}
	l.hosts[what] = append(l.hosts[what], host)
}

// title is the line above what several hosts say.
func (s *client) title(hosts []string) string {
	return strings.TrimSpace(namesOf(hosts, s.globals.Verbose)) + ":"
}
