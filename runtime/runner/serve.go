package runner

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/user"
	goruntime "runtime"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/host/facts"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// Serve says Hello and does what one request asks for. A run that has begun goes on
// whatever becomes of the connection, until it ends or ctx does. The error is for a
// connection that is broken, or a runner that is; all else has been said on it.
func Serve(ctx context.Context, c *wire.Conn, o wire.Opening, r *Runner) error {
	hello, err := r.hello(o)
	if err != nil {
		return err
	}
	if err := c.Send(wire.KindHello, hello); err != nil {
		return err
	}
	var q wire.Request
	if err := c.Expect(wire.KindRequest, &q); err != nil {
		if errors.Is(err, io.EOF) {
			return nil // nothing is wanted
		}
		if _, wrong := errors.AsType[*wire.ProtocolError](err); wrong {
			return journal.Join(err, c.Send(wire.KindEnd, wire.End{Failure: failureOf(err)}))
		}
		return err
	}
	s := &session{call: &call{Runner: r}, conn: c, out: newQueue(c)}
	s.take(&q)
	serving, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.cancel = cancel
	defer s.register(s.end)()
	defer c.Beat(cmp.Or(r.beat, wire.BeatEvery))()
	end := s.serve(serving, &q)
	return journal.Join(s.say(wire.KindEnd, end), s.out.close(ctx))
}

// hello tells of the machine. The program's digest is looked at beside the facts.
func (r *Runner) hello(o wire.Opening) (*wire.Hello, error) {
	h := &wire.Hello{
		Protocol: wire.Protocol, Program: r.Program, OS: goruntime.GOOS, Arch: goruntime.GOARCH,
		UID: os.Geteuid(), User: fmt.Sprint("user ", os.Geteuid()), Now: time.Now().UTC(),
	}
	if u, err := user.Current(); err == nil {
		h.User = u.Username
	}
	var wrong error
	var wait fault.Group
	if o.Digest != "" {
		wait.Go(func() { wrong = checkSelf(o.Digest) })
	}
	facts := r.facts(o.Facts)
	h.Facts, h.Errors = encode(facts)
	if o.Site != "" {
		h.Have = (&bundle.Store{Dir: r.StateDir}).Have(o.Site)
	}
	wait.Wait()
	return h, wrong
}

// Ping tells who acts here.
func (r *Runner) Ping(context.Context) (*machine.Identity, error) {
	h, err := r.hello(wire.Opening{})
	if err != nil {
		return nil, err
	}
	return &machine.Identity{Program: h.Program, OS: h.OS, Arch: h.Arch, User: h.User, UID: h.UID, Now: h.Now, Heard: h.Now}, nil
}

// Facts tells facts by their names.
func (r *Runner) Facts(_ context.Context, names []string) (*machine.Facts, error) {
	return r.facts(names), nil
}

func (r *Runner) facts(names []string) *machine.Facts {
	var known map[string]any
	if r.Login != "" {
		known = map[string]any{"login": r.Login}
	}
	gathered := facts.New(r.Host, known)
	if slices.Contains(names, machine.AllFacts) {
		names = gathered.Names()
	}
	f := &machine.Facts{Values: map[string]any{}, Errors: map[string]string{}}
	for _, name := range names {
		value, err := gathered.Fact(name)
		if err == nil {
			value, err = plain(value)
		}
		if err != nil {
			f.Errors[name] = err.Error()
			continue
		}
		f.Values[name] = value
	}
	return f
}

// plain gives a value as JSON knows it, with json.Number.
func plain(value any) (out any, err error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err = d.Decode(&out)
	return out, err
}

// encode gives facts as they are sent.
func encode(f *machine.Facts) (values map[string]json.RawMessage, errs map[string]string) {
	values, errs = map[string]json.RawMessage{}, maps.Clone(f.Errors)
	for name, value := range f.Values {
		data, err := json.Marshal(value)
		if err != nil {
			errs[name] = err.Error()
			continue
		}
		values[name] = data
	}
	return values, errs
}

// session is one request on its way.
type session struct {
	*call
	conn   *wire.Conn
	become machine.Become // for parts of a run
	out    *queue
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	started bool   // the run goes on without the connection
	pass    func() // hands on a wish to cancel; nil: it is about this process
}

// maxIdentity is how much of who asks is kept.
const maxIdentity = 200

// take takes over what a request says of who asks.
func (s *session) take(q *wire.Request) {
	s.caller = machine.Caller{User: boundIdentity(q.User), From: boundIdentity(q.From), Command: boundIdentity(q.Command)}
	s.become = machine.Become{Method: q.BecomeMethod, Password: q.BecomePassword}
	s.observer = machine.Observer{
		Event:  s.event,
		Note:   func(n machine.Note) { s.out.write(wire.KindNote, []byte(n.Text)) },
		Output: func(stream string, data []byte) { s.out.write(outputKind(stream), append([]byte{}, data...)) },
	}
}

// outputKind is that of frames with what a program prints.
func outputKind(stream string) wire.Kind {
	if stream == "stderr" {
		return wire.KindStderr
	}
	return wire.KindStdout
}

func boundIdentity(text string) string {
	if len(text) > maxIdentity {
		text = text[:maxIdentity]
		for !utf8.ValidString(text) {
			text = text[:len(text)-1]
		}
	}
	return text
}

var (
	errCancelled = errors.New("cancelled by the controller")
	errLost      = errors.New("the connection to the controller is lost")
)

// listen waits for the controller to cancel, or for the end of the connection: that
// ends what does not go on by itself.
func (s *session) listen() {
	if s.busy != nil {
		s.busy.Store(true)
	}
	fault.Go(func() {
		for {
			f, err := s.conn.Receive()
			if err != nil {
				s.mu.Lock()
				if !s.started { // at once: it must not start in between
					s.cancel(errLost)
				}
				s.mu.Unlock()
				s.out.letGo() // whether something can be sent still, sending will show
				return
			}
			if f.Kind != wire.KindCancel {
				continue // nothing else is to come, and what does is for nobody
			}
			s.end()
		}
	})
}

// end ends what is carried out, as the controller wishes, or hands that wish on.
func (s *session) end() {
	s.mu.Lock()
	pass := s.pass
	if pass == nil {
		s.cancel(errCancelled)
	}
	s.mu.Unlock()
	if pass != nil {
		pass()
	}
}

// serve does what is asked for, and tells how it ended.
func (s *session) serve(ctx context.Context, q *wire.Request) wire.End {
	do, known := s.operations()[q.Op]
	if !known {
		return wire.End{Failure: &states.Failure{Code: machine.CodeUnsupported, Message: fmt.Sprintf("this runner knows no request %.40q", q.Op),
			Hint: "it is of version " + s.Program}}
	}
	if q.Op != wire.OpPlan && q.Op != wire.OpApply { // those read their bundle first
		s.listen()
	}
	end := wire.End{}
	if err := fault.Do(func() error { return do(ctx, q, &end) }); err != nil {
		end.Failure = failureOf(err)
		if e, ok := errors.AsType[*machine.Error](err); ok && len(e.Differences) > 0 {
			if err := s.data(e.Differences); err != nil {
				s.note(machine.NoteRecords, "the differences: "+err.Error())
			}
		}
	}
	return end
}

// failureOf is an error for the other side, with texts that somebody can read.
func failureOf(err error) *states.Failure {
	f := states.FailureOf(asError(err))
	f.Message, f.Hint = diag.Shorten(f.Message), diag.Shorten(f.Hint)
	return f
}

// data sends a value that was asked for.
func (s *session) data(v any) error { return s.out.value(v) }

// say sends what is small.
func (s *session) say(kind wire.Kind, v any) error {
	err := s.out.json(kind, v)
	if err != nil {
		s.out.stop(err)
	}
	return err
}

// event sends an event, as one line of events.jsonl; one that is too large without what
// has changed, which the records tell.
func (s *session) event(ev states.Event) {
	if s.out.json(wire.KindEvent, ev) != nil {
		ev.Changes, ev.Output = nil, ""
		_ = s.say(wire.KindEvent, ev) // whose error stays in the queue
	}
}
