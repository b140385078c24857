package sessions

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/channel"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/runtime/wire"
)

// maxWaiting bounds the bytes of a connection that wait for its dialer: the window of a connection is smaller.
const maxWaiting = 4 << 20

// packetHead is about what a packet takes besides its data.
const packetHead = 64

// relays are the connections to hosts that are passed on.
type relays struct {
	mu   sync.Mutex
	open map[relayKey]*relay
}

type relayKey struct {
	host    trust.ID
	session string
}

// relay is one connection, as its dialer has it: a channel.Transport.
type relay struct {
	sessions *Sessions
	to       link.Address
	session  string
	sign     Sign
	ctx      context.Context

	mu     sync.Mutex
	change *sync.Cond
	in     [][]byte
	bytes  int
	err    error
}

// Sign decides on a request, and signs it: an error refuses it. A request that is signed already may be left as it is, by nil.
type Sign func(ctx context.Context, d *channel.Demand) (*trust.Signed, error)

// Relay opens the way to the agent of a host for one connection. Requests on it are decided about when they are made.
func (s *Sessions) Relay(ctx context.Context, id trust.ID, sign Sign) (t channel.Transport, session string, err error) {
	h := s.known(id)
	instance := ""
	if h != nil {
		h.mu.Lock()
		instance = h.instance
		h.mu.Unlock()
	}
	if instance == "" {
		return nil, "", &diag.HintError{Code: CodeAway, Err: errors.New("the agent of the host is not connected"), Hint: "see when it was seen last, and whether the host is up"}
	}
	r := &relay{sessions: s, to: link.Address{Host: id, Instance: instance}, session: rand.Text(), sign: sign, ctx: ctx}
	r.change = sync.NewCond(&r.mu)
	s.relays.mu.Lock()
	defer s.relays.mu.Unlock()
	s.relays.open[relayKey{id, r.session}] = r
	return r, r.session, nil
}

// Dial opens a connection to a host for the server itself, or for somebody of whom the caller knows what they may do.
func (s *Sessions) Dial(ctx context.Context, id trust.ID, sign Sign, o wire.Opening) (*wire.Conn, *wire.Hello, error) {
	key, err := s.Hosts.Identity(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	t, session, err := s.Relay(context.WithoutCancel(ctx), id, sign)
	if err != nil {
		return nil, nil, err
	}
	return channel.Dial(ctx, t, channel.Peer{Identity: key, Session: session}, o)
}

// SignAs signs requests in the name of an operator, whoever that is: what they may do was decided.
func (s *Sessions) SignAs(operator string) Sign {
	return func(_ context.Context, d *channel.Demand) (*trust.Signed, error) {
		d.Unsigned.ID, d.Unsigned.Operator = trust.NewRequestID(), operator
		return s.Signer.SignRequest(&d.Unsigned)
	}
}

// receive hands a packet of a host on to the dialer.
func (r *relays) receive(from link.Address, p link.Packet) {
	r.mu.Lock()
	one := r.open[relayKey{from.Host, p.Session}]
	r.mu.Unlock()
	if one == nil || one.to != from {
		return // of a connection that is over, or another process than the one that was dialled
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.bytes += len(p.Data) + packetHead; one.bytes > maxWaiting {
		one.err = errors.New("the host sends more than was asked for")
	}
	if one.err == nil {
		one.in = append(one.in, p.Data)
	}
	one.change.Broadcast()
}

// Send passes a packet of the dialer on.
func (r *relay) Send(data []byte) error {
	if err := r.ended(); err != nil {
		return err
	}
	d, err := channel.Inspect(r.to.Host, r.session, data)
	if err != nil {
		return err
	}
	if d != nil {
		data, err = r.allow(d, data)
		if err != nil && d.Request != nil {
			err = &channel.RefusalError{Err: err}
		}
		if err != nil {
			return err
		}
	}
	return r.sessions.Broker.Send(r.to, link.Packet{Session: r.session, Data: data})
}

// allow decides on a request, and gives its packet with a signature.
func (r *relay) allow(d *channel.Demand, data []byte) ([]byte, error) {
	if !r.sessions.Hosts.MayReceive(r.to.Host) {
		return nil, &diag.HintError{Code: channel.CodeRefused, Err: fmt.Errorf("the host %s is locked or revoked", r.to.Host.Short()), Hint: "look at the host"}
	}
	signed, err := r.sign(r.ctx, d)
	if err != nil || signed == nil {
		return data, err
	}
	return channel.WithSignature(data, signed)
}

// Receive waits for the next packet of the host.
func (r *relay) Receive() ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.in) == 0 && r.err == nil {
		r.change.Wait()
	}
	if len(r.in) == 0 {
		return nil, r.err
	}
	data := r.in[0]
	r.in, r.bytes = r.in[1:], r.bytes-len(r.in[0])-packetHead
	return data, nil
}

// Close ends the way.
func (r *relay) Close() error {
	s := r.sessions
	s.relays.mu.Lock()
	_, open := s.relays.open[relayKey{r.to.Host, r.session}]
	delete(s.relays.open, relayKey{r.to.Host, r.session})
	s.relays.mu.Unlock()
	if open {
		// Where that does not get through, the host finds out by itself.
		_ = s.Broker.Send(r.to, link.Packet{Session: r.session, Data: channel.Closing(errors.New("the connection has ended"))})
	}
	r.end(io.ErrClosedPipe)
	return nil
}

// ended is why nothing goes over the way any more; nil: it does.
func (r *relay) ended() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

func (r *relay) end(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
	r.change.Broadcast()
}

// EndConnections ends the connections to a host, which was locked or revoked.
func (s *Sessions) EndConnections(id trust.ID) {
	s.relays.mu.Lock()
	defer s.relays.mu.Unlock()
	for key, one := range s.relays.open {
		if key.host == id {
			one.end(&diag.HintError{Code: channel.CodeRefused, Err: errors.New("the host was locked or revoked")})
		}
	}
}

// drop ends the connections to a host whose agent has begun anew.
func (r *relays) drop(gone link.Address) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, one := range r.open {
		if key.host == gone.Host && one.to == gone {
			one.end(&diag.HintError{Code: channel.CodeBroken, Err: errors.New("the agent of the host has connected anew")})
		}
	}
}
