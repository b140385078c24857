// Package agent is what runs on a host for its server: it takes up what is signed for the host, brings the host into that state and keeps
// it there, tells what happens, and serves what people ask for. What it is told and what it has to tell is on the disk, so that it goes on
// without a server for as long as it takes.
package agent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"filippo.io/age"

	"github.com/tenetcm/tenet/runtime/agent/programs"
	"github.com/tenetcm/tenet/runtime/channel"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// Identity is who the host is.
type Identity interface {
	ID() trust.ID
	Name() string
	Keys() *trust.HostKeys
	Sign(kind trust.Kind, content any) (*trust.Signed, error)
	Chain() (*trust.Chain, error)
	KeepDocuments(documents ...*trust.Signed) error
}

// Options say what an agent works with.
type Options struct {
	Dir      string // of the agent's own records
	Identity Identity
	// Unsealing gives the keys by which the host's secrets are decrypted.
	Unsealing func() []age.Identity
	// Connect begins a link, which connects by itself.
	Connect func(link.Handler) (link.Link, error)
	// Fetch gets a content into a folder, as identity.Fetch does.
	Fetch func(ctx context.Context, dir string, c trust.Content, ticket string) (string, error)
	// Machine is the host, and Serve serves connections to it: see runner.Serve.
	Machine  machine.Machine
	Serve    func(ctx context.Context, c *wire.Conn, o wire.Opening) error
	Registry *states.Registry // the modules that come with the program
	// StateDir is the machine's, where contents are kept.
	StateDir string
	Boot     string // id of the host's present boot
	// Log is told what people may want to know.
	Log func(err error)
	// Clock is the time of day; nil: time.Now.
	Clock func() time.Time
	// Poll is how often the agent looks whether the host is as wanted; 0: 30 minutes.
	Poll time.Duration
	// RetryBase is about how long it waits before it tries again, at first; 0: 10 s.
	RetryBase time.Duration
	// OTLPHeaders are what a collector of telemetry demands, as the variable OTEL_EXPORTER_OTLP_HEADERS has them. They may be secret.
	OTLPHeaders string
	// Program is this program, and Own where it is; nil: the server is not told, and releases nothing to this host.
	Program *trust.Running
	Own     programs.Own
	// Programs keeps programs that the server releases; nil: none are taken up.
	Programs *programs.Folder
	// Try runs a program beside this one, which changes nothing, until it knows that it can follow: see Try of this package.
	Try func(ctx context.Context, path, version string) error

	// open opens a folder of records; nil: one on the disk. limits are those of the stream. For tests.
	open   func(path string) (folder, error)
	limits streamLimits
}

// Agent is the agent of one host.
type Agent struct {
	Options
	start   time.Time
	folders []folder
	stream  *stream
	held    assignmentFolder
	// converged has the assignments that the host was brought to last.
	converged assignmentFolder
	acceptor  *channel.Acceptor
	teller    *teller
	keeper    *keeper
	requests  *requestLog
	updater   *updater
	restart   func() // ends Run, so that another program can follow
	isTrial   bool   // see Try

	telling  chan struct{} // facts are to be told again
	numbers  sync.Mutex    // held while a number of what is signed is taken
	fetching sync.Mutex    // held while contents are fetched

	mu    sync.Mutex // held while the protocol is worked on
	core  *control.Agent
	link  link.Link
	turns map[string]awaitedTurn // of claims, by site
	gap   uint64                 // the last item of a gap that the server was told of
}

// New opens the records of an agent.
func New(o Options) (*Agent, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.open == nil {
		o.open = openDirectory
	}
	a := &Agent{Options: o, start: time.Now(), telling: make(chan struct{}, 1), turns: map[string]awaitedTurn{}}
	if err := a.openRecords(); err != nil {
		return nil, errors.Join(err, a.close())
	}
	a.acceptor = &channel.Acceptor{
		Host: o.Identity.ID(), Sign: o.Identity.Sign, Chain: a.chain, Begin: a.requests.begin, Serve: o.Serve,
		Send: func(session string, data []byte) error {
			return a.sendPacket(link.Packet{Session: session, Data: data})
		},
		Failed: func(session string, err error) { a.Log(fmt.Errorf("a connection to this host: %w", err)) },
		Now:    a.now,
	}
	return a, nil
}

// openRecords opens what is durable, and takes up what is held.
func (a *Agent) openRecords() error {
	for _, name := range []string{"", "held", "stream", "converged"} {
		f, err := a.open(filepath.Join(a.Dir, name))
		if err != nil {
			return err
		}
		a.folders = append(a.folders, f)
	}
	left, err := filepath.Glob(filepath.Join(a.Dir, plannedPrefix+"*"))
	if err != nil {
		return err
	}
	for _, dir := range left { // of a process that was killed
		if a.isTrial {
			break
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	a.held, a.converged = assignmentFolder{a.folders[1]}, assignmentFolder{a.folders[3]}
	assigned, err := a.held.load(a.Identity.ID())
	if err != nil {
		return err
	}
	converged, err := a.converged.load(a.Identity.ID())
	if err != nil {
		return err
	}
	chain, err := a.Identity.Chain()
	if err != nil {
		return err
	}
	spoken, err := readSpoken(a.folders[0])
	if err != nil {
		return err
	}
	if a.requests, err = openRequests(a.folders[0]); err != nil {
		return err
	}
	if a.stream, err = openStream(a.folders[2], a.limits); err != nil {
		return err
	}
	a.core = &control.Agent{Identity: a.Identity.ID(), Sealing: a.Identity.Keys().Sealing, Boot: a.Boot, Chain: chain, Held: assigned, Queue: a.stream.queue, Clock: a.Clock, Jitter: rand.N[time.Duration],
		Program: a.Program, Trial: a.isTrial, Spoken: spoken}
	a.updater = &updater{agent: a, wake: make(chan struct{}, 1)}
	a.teller = &teller{agent: a, wake: make(chan struct{}, 1)}
	a.keeper = newKeeper(a)
	for site, one := range assigned {
		a.keeper.want(one)
		a.keeper.sites[site].converged = converged[site]
	}
	return nil
}

// tick is how often the agent looks at the clock.
const tick = time.Second

// ErrRestart is what Run returns where another program is to follow.
var ErrRestart = errors.New("another program follows")

// Run runs the agent until the context ends. What is carried out then ends as at Ctrl-C.
func (a *Agent) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a.restart = func() { cancel(ErrRestart) }
	l, err := a.Connect(link.Handler{Connected: a.connected, Disconnected: a.disconnected, Receive: a.receive})
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.link = l
	early := a.core.Session() != "" // it has connected before there was something to send over
	a.mu.Unlock()
	if early {
		a.connected()
	}
	var wait fault.Group
	wait.Go(func() { a.keeper.run(ctx) })
	wait.Go(func() { a.teller.run(ctx) })
	wait.Go(func() { a.tellFacts(ctx) })
	wait.Go(func() { a.updater.run(ctx) })
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-ticker.C:
			a.step(func() control.Output { return a.core.Tick(a.now()) })
		}
	}
	wait.Wait()
	err = l.Close()
	a.acceptor.Close()
	err = errors.Join(err, a.close())
	if errors.Is(context.Cause(ctx), ErrRestart) {
		err = errors.Join(err, ErrRestart)
	}
	return err
}

// close closes the records.
func (a *Agent) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := closeFolders(a.folders...)
	if a.requests != nil {
		err = errors.Join(err, a.requests.close())
	}
	if a.stream != nil {
		err = errors.Join(err, a.stream.close())
	}
	return err
}

func (a *Agent) connected() {
	a.step(func() control.Output { return a.core.Connect(a.now()) })
}

func (a *Agent) disconnected(reason error) {
	a.mu.Lock()
	a.core.Disconnect()
	a.mu.Unlock()
	a.acceptor.Disconnect()
	if reason != nil {
		a.Log(fmt.Errorf("the connection to the server: %w", reason))
	}
}

// receive takes a packet of the server in.
func (a *Agent) receive(p link.Packet) {
	if p.Session != "" {
		a.acceptor.Receive(p.Session, p.Data)
		return
	}
	m, err := control.Decode(p.Data)
	if err != nil {
		a.Log(fmt.Errorf("a message of the server: %w", err))
		return
	}
	if turn, ok := m.(*control.Turn); ok {
		a.turn(turn)
		return
	}
	if refusal, ok := m.(*control.Refusal); ok {
		a.Log(fmt.Errorf("the server takes nothing from this host at present: %.200s", refusal.Why))
	}
	a.step(func() control.Output { return a.core.Receive(a.now(), m) })
	if _, ok := m.(*control.Answer); ok {
		a.updater.answered()
	}
}

// step works on the protocol, and does what comes of it: what has to be durable is, before anything is sent or taken up.
func (a *Agent) step(f func() control.Output) {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := f()
	for _, err := range out.Refused {
		a.Log(err)
	}
	if err := a.keep(&out); err != nil {
		a.Log(err)
		// Nothing of it is taken up, and what the disk has counts: it is offered again, once the server was told why.
		a.core.CannotKeep(&out, err)
		a.forget(&out)
		return
	}
	if out.Behind {
		a.restream(&out)
	}
	for _, m := range out.Send {
		if err := a.send(m); err != nil {
			// The protocol says it again.
			if !errors.Is(err, link.ErrFull) {
				a.Log(err)
			}
			break
		}
	}
	for _, taken := range out.Adopt {
		a.keeper.want(taken)
	}
	if out.Offered != nil || out.Withdrawn {
		a.updater.offer(out.Offered)
	}
}

// keep makes durable what has to be.
func (a *Agent) keep(out *control.Output) error {
	if out.Spoken != 0 {
		if err := keepSpoken(a.folders[0], out.Spoken); err != nil {
			return err
		}
	}
	if len(out.Documents) > 0 {
		if err := a.Identity.KeepDocuments(out.Documents...); err != nil {
			return err
		}
	}
	for _, taken := range out.Keep {
		if err := a.held.keep(taken); err != nil {
			return err
		}
	}
	return nil
}

// forget goes back to what is on the disk.
func (a *Agent) forget(out *control.Output) {
	if held, err := a.held.load(a.Identity.ID()); err == nil {
		a.core.Held = held
		for _, one := range held { // some of it may be new: the server takes that for delivered
			a.keeper.want(one)
		}
	} else {
		a.Log(err)
	}
	if chain, err := a.Identity.Chain(); err == nil {
		a.core.Chain = chain
	}
	if spoken, err := readSpoken(a.folders[0]); err == nil {
		a.core.Spoken = spoken
	}
	a.core.Disconnect()
	a.core.Connect(a.now()) // the Hello is sent at the next tick that finds it unanswered
}

// send sends a message. A batch gets its items here.
func (a *Agent) send(m control.Message) error {
	if b, ok := m.(*control.Batch); ok && b.Gap {
		a.noticeGap(b)
	} else if ok {
		items, err := a.stream.read(b.First, b.Last)
		if err != nil {
			return err
		}
		b.Items = items
	}
	data, err := control.Encode(m)
	if err != nil {
		return err
	}
	if a.link == nil {
		return nil
	}
	return a.link.Send(link.Packet{Data: data})
}

// noticeGap has told again how things stand: what the server does not get may have said so.
func (a *Agent) noticeGap(b *control.Batch) {
	if b.Last == a.gap {
		return
	}
	a.gap = b.Last
	a.repeat()
}

// sendPacket sends a packet of a connection to this host.
func (a *Agent) sendPacket(p link.Packet) error {
	a.mu.Lock()
	l := a.link
	a.mu.Unlock()
	if l == nil {
		return errors.New("there is no connection to the server")
	}
	return l.Send(p)
}
