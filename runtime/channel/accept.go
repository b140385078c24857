package channel

import (
	"context"
	"crypto/hpke"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/runtime/wire"
)

// maxSessions bounds how many connections a host has at a time.
const maxSessions = 64

// maxGreetings bounds how often a connection may ask for a nonce: two are enough for an orderly one. Each connection has nonces of its own, so that
// nobody uses up those of others.
const maxGreetings = 8

// idle is how long a connection may be open without saying what is to be done.
const idle = 15 * time.Minute

// Asked is what a host is asked for, by whom, before it does it.
type Asked struct {
	ID       string // of the request
	Verb     trust.Verb
	Operator string // as the server knows who asks; with Key, what that key's name is
	Key      string // the name of the key that has signed
}

// Acceptor is a host's side of connections. Its methods may be called by several goroutines.
type Acceptor struct {
	Host  trust.ID
	Sign  func(kind trust.Kind, content any) (*trust.Signed, error) // by the host's identity
	Chain func() *trust.Chain
	// Send sends a packet of a session.
	Send func(session string, packet []byte) error
	// Begin is told what is asked for before that begins. What acts is durable when it returns; an error refuses it.
	Begin func(Asked) error
	// Serve serves a connection; see runner.Serve.
	Serve func(ctx context.Context, c *wire.Conn, o wire.Opening) error
	// Failed is told of connections that came to nothing for a reason of this side.
	Failed func(session string, err error)
	// Now reads a monotonic clock.
	Now func() time.Duration

	mu       sync.Mutex
	sessions map[string]*session
	serving  fault.Group
	ctx      context.Context
	cancel   context.CancelFunc
}

// session is one connection.
type session struct {
	acceptor *Acceptor
	id       string
	key      hpke.PrivateKey
	timer    *time.Timer

	mu        sync.Mutex // held while a packet is taken in
	nonces    trust.Nonces
	greetings int
	recipient *hpke.Recipient
	stream    *stream
	asked     bool
}

// Receive takes a packet of a session in. Those of one session come in order.
func (a *Acceptor) Receive(id string, data []byte) {
	s, err := a.session(id, data)
	if s == nil && err == nil {
		if len(data) > 0 && kind(data[0]) != kindClose { // who still speaks on a connection that is over is told
			_ = a.Send(id, closing(&diag.HintError{Code: CodeBroken, Err: errors.New("the connection is over: the host has lost the way to its server meanwhile")}))
		}
		return
	}
	if err == nil {
		s.mu.Lock()
		err = s.receive(kind(data[0]), data[1:])
		s.mu.Unlock()
	}
	if err != nil {
		if s == nil || s.opened() == nil { // else who serves it says so
			a.Failed(id, err)
		}
		a.drop(id, err)
		// Where that does not get through, the dialer finds out by itself.
		_ = a.Send(id, closing(err))
	}
}

// session finds a connection, and begins one where a dialer wants that.
func (a *Acceptor) session(id string, data []byte) (*session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(data) == 0 || id == "" || len(id) > 64 {
		return nil, nil
	}
	if s := a.sessions[id]; s != nil {
		return s, nil
	}
	if kind(data[0]) != kindOpen {
		return nil, nil
	}
	if len(a.sessions) >= maxSessions {
		return nil, &diag.HintError{Code: CodeBusy, Err: fmt.Errorf("%d connections to this host are open", maxSessions), Hint: "try again later"}
	}
	key, err := kem().GenerateKey()
	if err != nil {
		return nil, err
	}
	if a.ctx == nil {
		a.sessions = map[string]*session{}
		a.ctx, a.cancel = context.WithCancel(context.Background())
	}
	s := &session{acceptor: a, id: id, key: key}
	s.timer = time.AfterFunc(idle, func() { a.drop(id, refused("nothing was asked for in %v", idle)) })
	a.sessions[id] = s
	return s, nil
}

// drop ends a connection.
func (a *Acceptor) drop(id string, why error) {
	a.mu.Lock()
	s := a.sessions[id]
	delete(a.sessions, id)
	a.mu.Unlock()
	if s == nil {
		return
	}
	s.timer.Stop()
	if out := s.opened(); out != nil {
		out.end(why)
	}
}

// opened gives the stream of a connection that is open.
func (s *session) opened() *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stream
}

// Disconnect ends all connections: packets of theirs may be lost. What has begun on its own goes on.
func (a *Acceptor) Disconnect() {
	a.mu.Lock()
	ids := make([]string, 0, len(a.sessions))
	for id := range a.sessions {
		ids = append(ids, id)
	}
	a.mu.Unlock()
	for _, id := range ids {
		a.drop(id, &diag.HintError{Code: CodeBroken, Err: errors.New("the host has lost the connection to its server")})
	}
}

// Close ends all connections, and all that is carried out for them, and waits for the end.
func (a *Acceptor) Close() {
	a.mu.Lock()
	cancel := a.cancel
	a.mu.Unlock()
	a.Disconnect()
	if cancel != nil {
		cancel()
	}
	a.serving.Wait()
}

// receive takes a packet in.
func (s *session) receive(k kind, data []byte) error {
	switch {
	case k == kindOpen:
		return s.greet()
	case k == kindRequest:
		return s.request(data)
	case k == kindClose:
		if s.stream != nil {
			return s.stream.receive(k, data)
		}
		fault.Go(func() { s.acceptor.drop(s.id, io.EOF) }) // which waits for this packet
		return nil
	case !s.asked && k == kindData, s.stream == nil:
		return refused("something is sent before it was asked for")
	}
	return s.stream.receive(k, data)
}

// greet gives a nonce.
func (s *session) greet() error {
	a := s.acceptor
	if s.greetings++; s.greetings > maxGreetings {
		return refused("a connection announces requests, and does not make them")
	}
	nonce, err := s.nonces.Give(a.Now())
	if err != nil {
		return err
	}
	signed, err := a.Sign(trust.KindChannel, greeting{Host: a.Host, Session: s.id, Key: s.key.PublicKey().Bytes(), Nonce: nonce})
	if err != nil {
		return err
	}
	data, err := jsonPacket(kindNonce, signed)
	if err != nil {
		return err
	}
	return a.Send(s.id, data)
}

// request takes a request in, if it is signed as it has to be.
func (s *session) request(data []byte) (err error) {
	a := s.acceptor
	var r request
	if s.recipient != nil && !s.asked {
		defer func() {
			if err != nil && !s.asked {
				err = &RefusalError{err}
			}
		}()
	}
	if err := json.Unmarshal(data, &r); err != nil || r.Signed == nil {
		return refused("a request cannot be read, or is signed by nobody")
	}
	signed, key, err := a.Chain().OpenRequest(r.Signed, a.Host, &s.nonces, a.Now())
	switch {
	case err != nil:
		return &diag.HintError{Code: CodeRefused, Err: err}
	case signed.Body != r.body(s.id) || signed.Verb != r.Verb:
		return refused("a request is not the one that was signed")
	}
	asked := Asked{ID: signed.ID, Verb: signed.Verb, Operator: signed.Operator, Key: key}
	if s.recipient == nil {
		return s.openUp(&r, asked)
	}
	return s.ask(&r, asked)
}

// openUp opens the connection.
func (s *session) openUp(r *request, asked Asked) error {
	a := s.acceptor
	if asked.Verb != Open {
		return refused("a connection begins with %q, and not with %.40q", Open, asked.Verb)
	}
	var o wire.Opening
	if err := json.Unmarshal(r.Clear, &o); err != nil {
		return refused("what is asked for cannot be read: %v", err)
	}
	if o.StateDir != "" || o.Root != "" || o.Digest != "" {
		return &diag.HintError{Code: CodeRefused, Err: errors.New("an agent acts on its host, and has its own state folder"), Hint: "leave --root and --state-dir out"}
	}
	recipient, err := hpke.NewRecipient(r.Key, s.key, kdf(), aead(), info(a.Host, s.id))
	if err != nil {
		return refused("what is sealed cannot be opened: %v", err)
	}
	if _, err := recipient.Open(nil, r.Sealed); err != nil {
		return refused("what is sealed cannot be opened: %v", err)
	}
	back, err := recipient.Export(answers, 32)
	if err != nil {
		return err
	}
	sealer, err := newCounter(back)
	if err != nil {
		return err
	}
	if err := a.Begin(asked); err != nil {
		return err
	}
	s.recipient = recipient
	s.stream = newStream(func(data []byte) error { return a.Send(s.id, data) }, sealer.seal, func(sealed []byte) ([]byte, error) { return recipient.Open(nil, sealed) })
	out := s.stream
	a.serving.Go(func() { s.serve(out, o) })
	return nil
}

// serve serves the connection until it ends.
func (s *session) serve(out *stream, o wire.Opening) {
	a := s.acceptor
	c := wire.New(out, out, nil)
	err := fault.Do(func() error { return a.Serve(a.ctx, c, o) })
	if err != nil && !errors.Is(err, io.EOF) {
		a.Failed(s.id, err)
		_ = a.Send(s.id, closing(err))
	} else {
		data, _ := jsonPacket(kindClose, reason{}) // it is always JSON
		_ = a.Send(s.id, data)
	}
	a.drop(s.id, io.ErrClosedPipe)
}

// ask hands on what is to be done, once in a connection.
func (s *session) ask(r *request, asked Asked) error {
	if s.asked {
		return refused("one connection serves one request")
	}
	q := &wire.Request{}
	if err := json.Unmarshal(r.Clear, q); err != nil {
		return refused("what is asked for cannot be read: %v", err)
	}
	plain, err := s.recipient.Open(nil, r.Sealed)
	if err != nil {
		return refused("what is sealed cannot be opened: %v", err)
	}
	var hidden secrets
	if err := json.Unmarshal(plain, &hidden); err != nil {
		return refused("what is sealed cannot be read: %v", err)
	}
	if VerbOf(q.Op) != asked.Verb {
		return refused("what is asked for is %.40q, and %.40q was allowed", q.Op, asked.Verb)
	}
	q.BecomePassword = hidden.BecomePassword
	if q.Exec != nil {
		q.Exec.Stdin = hidden.Stdin
	}
	if q.User = asked.Key; asked.Key == ServerKey { // another key's name counts, whatever its owner says
		q.User = asked.Operator
	}
	data, err := json.Marshal(q)
	if err != nil {
		return err
	}
	if len(data) > wire.MaxFrame {
		return refused("the request is too large")
	}
	if err := s.acceptor.Begin(asked); err != nil {
		return err
	}
	s.asked = true
	s.timer.Stop()
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	s.stream.insert(append(append(frame, byte(wire.KindRequest)), data...))
	return nil
}
