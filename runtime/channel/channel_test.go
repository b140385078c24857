package channel_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/channel"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/machine/machinetest"
	"github.com/tenetcm/tenet/runtime/remote"
	"github.com/tenetcm/tenet/runtime/runner"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/runtime/wire"
)

// world is a host, a server that passes packets on, and what happens between them.
type world struct {
	t        *testing.T
	host     trust.PrivateKey
	server   trust.PrivateKey
	operator trust.PrivateKey // may open connections and ping
	acceptor *channel.Acceptor

	mu       sync.Mutex
	dialers  map[string]*transport
	begun    []channel.Asked
	failed   []error
	passed   [][]byte                            // all packets
	toHost   func(id string, data []byte) []byte // what becomes of a packet on its way; nil: as it is
	toDialer func(id string, data []byte) []byte
}

func newKey(t *testing.T) trust.PrivateKey {
	t.Helper()
	key, err := trust.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newWorld(t *testing.T, serve func(ctx context.Context, c *wire.Conn, o wire.Opening) error) *world {
	t.Helper()
	w := &world{t: t, host: newKey(t), server: newKey(t), operator: newKey(t), dialers: map[string]*transport{}}
	recovery := newKey(t)
	document, err := trust.Sign(trust.KindDocument, trust.Document{Generation: 1, Number: 1, Issued: time.Now(), Recovery: recovery.Public(),
		Keys: []trust.Delegated{{Key: w.server.Public(), Name: "server", Verbs: append(channel.Verbs(), trust.VerbTrust)},
			{Key: w.operator.Public(), Name: "olga", Verbs: []trust.Verb{channel.Open, channel.VerbOf(wire.OpPing)}}}}, w.server, recovery)
	if err != nil {
		t.Fatal(err)
	}
	chain, err := trust.ParseChain([]*trust.Signed{document})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	w.acceptor = &channel.Acceptor{
		Host: w.host.ID(), Sign: func(k trust.Kind, content any) (*trust.Signed, error) { return trust.Sign(k, content, w.host) },
		Chain: func() *trust.Chain { return chain }, Send: w.fromHost, Serve: serve,
		Now: func() time.Duration { return time.Since(start) },
		Begin: func(a channel.Asked) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.begun = append(w.begun, a)
			return nil
		},
		Failed: func(_ string, err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.failed = append(w.failed, err)
		},
	}
	t.Cleanup(w.acceptor.Close)
	return w
}

func (w *world) fromHost(id string, data []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.passed = append(w.passed, data)
	if w.toDialer != nil {
		if data = w.toDialer(id, data); data == nil {
			return nil
		}
	}
	if t := w.dialers[id]; t != nil {
		t.put(data)
	}
	return nil
}

// transport is a dialer's. What it sends is signed by the server on its way.
type transport struct {
	w      *world
	id     string
	closed chan struct{}
	once   sync.Once

	mu   sync.Mutex
	wake chan struct{}
	in   [][]byte
}

func (t *transport) put(data []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.in = append(t.in, data)
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

func (t *transport) Receive() ([]byte, error) {
	for {
		t.mu.Lock()
		if len(t.in) > 0 {
			data := t.in[0]
			t.in = t.in[1:]
			t.mu.Unlock()
			return data, nil
		}
		t.mu.Unlock()
		select {
		case <-t.wake:
		case <-t.closed:
			return nil, errors.New("the transport is closed")
		}
	}
}

func (t *transport) Send(data []byte) error {
	d, err := channel.Inspect(t.w.host.ID(), t.id, data)
	if err != nil {
		return err
	}
	if d != nil && d.Signed == nil {
		d.Unsigned.ID, d.Unsigned.Operator = trust.NewRequestID(), "alice"
		signed, err := trust.Sign(trust.KindRequest, d.Unsigned, t.w.server)
		if err == nil {
			data, err = channel.WithSignature(data, signed)
		}
		if err != nil {
			return err
		}
	}
	t.w.mu.Lock()
	t.w.passed = append(t.w.passed, data)
	change := t.w.toHost
	if change != nil {
		data = change(t.id, data)
	}
	t.w.mu.Unlock()
	if data != nil {
		t.w.acceptor.Receive(t.id, data)
	}
	return nil
}

func (t *transport) Close() error {
	t.once.Do(func() { close(t.closed) })
	return nil
}

func (w *world) transport() *transport {
	t := &transport{w: w, id: rand.Text(), closed: make(chan struct{}), wake: make(chan struct{}, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dialers[t.id] = t
	return t
}

func (w *world) dial(ctx context.Context, o wire.Opening) (*wire.Conn, *wire.Hello, error) {
	t := w.transport()
	return channel.Dial(ctx, t, channel.Peer{Identity: w.host.Public(), Session: t.id}, o)
}

// serving serves a runner on this machine.
func serving(t *testing.T) func(ctx context.Context, c *wire.Conn, o wire.Opening) error {
	h, err := host.NewLocal(host.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := &runner.Runner{Host: h, StateDir: t.TempDir() + "/state", Registry: modules.Standard(), Program: "test"}
	return func(ctx context.Context, c *wire.Conn, o wire.Opening) error { return runner.Serve(ctx, c, o, r) }
}

// A machine that is reached by way of its agent is one like any other.
func TestMachine(t *testing.T) {
	machinetest.Run(t, func(t *testing.T) machinetest.Subject {
		w := newWorld(t, serving(t))
		another := func() machine.Machine {
			return &remote.Machine{Name: "subject", Dial: w.dial, Caller: machine.Caller{User: "mallory"}, Registry: modules.Standard()}
		}
		return machinetest.Subject{Machine: another(), Another: another, Dir: t.TempDir(), Files: machinetest.LocalFiles{}, Outlives: true}
	})
}

// What is asked for is known to who passes it on, and to the host before it begins; secrets and answers are not.
func TestWhatIsPassedOn(t *testing.T) {
	w := newWorld(t, serving(t))
	m := &remote.Machine{Name: "subject", Dial: w.dial, Caller: machine.Caller{User: "mallory"}, Registry: modules.Standard()}
	var out bytes.Buffer
	status, err := m.Exec(t.Context(), machine.Exec{Argv: []string{"sh", "-c", "cat; printf 'S%s' tadtmusik"}, Stdin: []byte("hunter2")}, machine.Observer{
		Output: func(_ string, data []byte) { out.Write(data) },
	})
	if err != nil || status != 0 || out.String() != "hunter2Stadtmusik" {
		t.Fatalf("it printed %q with status %d: %v", out.String(), status, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, data := range w.passed {
		for _, secret := range []string{"hunter2", "aHVudGVyM", "Stadtmusik"} {
			if bytes.Contains(data, []byte(secret)) {
				t.Errorf("%s is passed on in clear", secret)
			}
		}
	}
	if len(w.begun) != 2 || w.begun[0].Verb != channel.Open || w.begun[1].Verb != "exec" || w.begun[1].Operator != "alice" || w.begun[1].Key != "server" || w.begun[0].ID == w.begun[1].ID {
		t.Errorf("the host has begun %+v", w.begun)
	}
}

// What an operator signs needs no signature of who passes it on. The host knows whose key it was, and does what that key may ask for, and no more.
func TestSignedByDialer(t *testing.T) {
	w := newWorld(t, serving(t))
	m := &remote.Machine{Name: "subject", Caller: machine.Caller{User: "mallory"}, Registry: modules.Standard(), Dial: func(ctx context.Context, o wire.Opening) (*wire.Conn, *wire.Hello, error) {
		tr := w.transport()
		sign := func(r trust.Request) (*trust.Signed, error) { return trust.Sign(trust.KindRequest, r, w.operator) }
		return channel.Dial(ctx, tr, channel.Peer{Identity: w.host.Public(), Session: tr.id, Sign: sign}, o)
	}}
	if _, err := m.Ping(t.Context()); err != nil {
		t.Fatalf("ping: %v", err)
	}
	_, err := m.Exec(t.Context(), machine.Exec{Argv: []string{"true"}}, machine.Observer{})
	if refusal, ok := errors.AsType[*machine.Error](err); !ok || refusal.Code != channel.CodeRefused { // and not that it is not known whether it was done
		t.Errorf("exec, which the key may not: %v", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.begun) != 3 || w.begun[1].Verb != "ping" || w.begun[1].Key != "olga" || w.begun[1].Operator != "" || w.begun[2].Verb != channel.Open {
		t.Errorf("the host has begun %+v", w.begun)
	}
}

// Much goes both ways through the window, whoever is slower.
func TestMuch(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789abcdef"), 5<<16)
	w := newWorld(t, serving(t))
	m := &remote.Machine{Name: "subject", Dial: w.dial, Registry: modules.Standard()}
	var out bytes.Buffer
	_, err := m.Exec(t.Context(), machine.Exec{Argv: []string{"cat"}, Stdin: data}, machine.Observer{Output: func(_ string, p []byte) { out.Write(p) }})
	if err != nil || !bytes.Equal(out.Bytes(), data) {
		t.Errorf("%d bytes came back of %d: %v", out.Len(), len(data), err)
	}
}
