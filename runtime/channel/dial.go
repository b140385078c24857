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

// Transport carries the packets of one connection, in their order, between a dialer and a host.
type Transport interface {
	Send(packet []byte) error
	// Receive waits for the next packet. It ends with an error when the transport is closed.
	Receive() ([]byte, error)
	Close() error
}

// Peer is the host that is dialled.
type Peer struct {
	Identity trust.PublicKey
	Session  string // names the connection: random
	// Sign signs what the host is asked for, by a key of the dialer's own; nil: whoever passes packets on does.
	Sign func(trust.Request) (*trust.Signed, error)
}

// patience is how long a host may take to say Hello: it gathers facts for it.
const patience = time.Minute

// Dial opens a connection to a host, and gives it behind its Hello: see remote.Dial. It owns the transport. Where the context ends before that,
// the transport is closed.
func Dial(ctx context.Context, t Transport, peer Peer, o wire.Opening) (*wire.Conn, *wire.Hello, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, &diag.HintError{Code: CodeBroken, Err: fmt.Errorf("the agent of the host did not answer for %v", patience), Hint: "see whether the host is up, and its agent connected"})
	defer cancel()
	d := &dialer{transport: t, peer: peer, host: peer.Identity.ID(), nonces: make(chan []byte, 1)}
	conn, hello, err := d.dial(ctx, o)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, nil, errors.Join(err, t.Close())
	}
	return conn, hello, nil
}

type dialer struct {
	transport Transport
	peer      Peer
	host      trust.ID
	key       []byte // of the host, for this connection
	sender    *hpke.Sender
	stream    *stream
	nonces    chan []byte
	asked     bool // for what is to be done
	close     sync.Once
}

func (d *dialer) dial(ctx context.Context, o wire.Opening) (*wire.Conn, *wire.Hello, error) {
	stop := context.AfterFunc(ctx, func() { d.transport.Close() })
	defer stop()
	nonce, err := d.greet()
	if err != nil {
		return nil, nil, err
	}
	r, err := d.begin(nonce, o)
	if err != nil {
		return nil, nil, err
	}
	data, err := jsonPacket(kindRequest, r)
	if err == nil {
		err = d.transport.Send(data)
	}
	if err != nil {
		return nil, nil, err
	}
	fault.Go(d.receive)
	c := wire.New(d.stream, writer{d}, d.end)
	hello := &wire.Hello{}
	if err := c.Expect(wire.KindHello, hello); err != nil {
		return nil, nil, err
	}
	if !stop() {
		return nil, nil, context.Cause(ctx)
	}
	return c, hello, nil
}

// greet asks for the host's key, and for a first nonce.
func (d *dialer) greet() ([]byte, error) {
	if err := d.transport.Send(packet(kindOpen, nil)); err != nil {
		return nil, err
	}
	data, err := d.transport.Receive()
	if err != nil {
		return nil, err
	}
	if len(data) > 0 && kind(data[0]) == kindClose {
		return nil, beforeEnd(closed(data[1:]))
	}
	return d.greeted(data)
}

// greeted takes a greeting in, and gives its nonce.
func (d *dialer) greeted(data []byte) ([]byte, error) {
	if len(data) == 0 || kind(data[0]) != kindNonce {
		return nil, refused("the host does not say who it is")
	}
	var s trust.Signed
	if err := json.Unmarshal(data[1:], &s); err != nil {
		return nil, fmt.Errorf("what the host says of itself cannot be read: %w", err)
	}
	g, err := trust.Open[greeting](&s, trust.KindChannel, d.peer.Identity)
	if err != nil {
		return nil, err
	}
	if g.Host != d.host || g.Session != d.peer.Session || d.key != nil && string(g.Key) != string(d.key) {
		return nil, refused("what the host says is of another connection")
	}
	d.key = g.Key
	return g.Nonce, nil
}

// begin makes the request that opens the connection.
func (d *dialer) begin(nonce []byte, o wire.Opening) (*request, error) {
	key, err := kem().NewPublicKey(d.key)
	if err != nil {
		return nil, fmt.Errorf("the host's key cannot be used: %w", err)
	}
	encapsulated, sender, err := hpke.NewSender(key, kdf(), aead(), info(d.host, d.peer.Session))
	if err != nil {
		return nil, err
	}
	back, err := sender.Export(answers, 32)
	if err != nil {
		return nil, err
	}
	opener, err := newCounter(back)
	if err != nil {
		return nil, err
	}
	d.sender = sender
	d.stream = newStream(d.transport.Send, d.seal, opener.open)
	r := &request{Nonce: nonce, Verb: Open, Key: encapsulated}
	if r.Clear, err = json.Marshal(o); err != nil {
		return nil, err
	}
	if r.Sealed, err = d.seal(nil); err != nil {
		return nil, err
	}
	return r, d.sign(r)
}

// sign signs a request that is complete, where the dialer has a key for that.
func (d *dialer) sign(r *request) (err error) {
	if d.peer.Sign != nil {
		r.Signed, err = d.peer.Sign(trust.Request{Host: d.host, ID: trust.NewRequestID(), Nonce: r.Nonce, Verb: r.Verb, Body: r.body(d.peer.Session)})
	}
	return err
}

// answers is what the key for the way back is exported for.
const answers = "answers"

func (d *dialer) seal(plain []byte) ([]byte, error) { return d.sender.Seal(nil, plain) }

// silence is how long a host may say nothing after it was asked for something: a runner that is at work says each 30 s that it is there.
const silence = 5 * time.Minute

// receive takes packets in until the transport ends.
func (d *dialer) receive() {
	watch := time.AfterFunc(silence, func() {
		d.stream.end(&diag.HintError{Code: CodeBroken, Err: fmt.Errorf("the host has said nothing for %v", silence)})
		d.transport.Close()
	})
	defer watch.Stop()
	for {
		data, err := d.transport.Receive()
		watch.Reset(silence)
		if err == nil && len(data) == 0 {
			err = refused("an empty packet comes from the host")
		}
		if err == nil && kind(data[0]) == kindNonce {
			var nonce []byte
			if nonce, err = d.greeted(data); err == nil {
				select {
				case d.nonces <- nonce:
				default: // nobody has asked for it
				}
				continue
			}
		}
		if err == nil {
			err = d.stream.receive(kind(data[0]), data[1:])
		}
		if err != nil {
			d.stream.end(beforeEnd(err))
			close(d.nonces)
			return
		}
	}
}

// beforeEnd is the error of a connection that ends where more was to come.
func beforeEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// end ends the connection from this side.
func (d *dialer) end() (err error) {
	d.close.Do(func() {
		d.stream.end(io.ErrClosedPipe)
		data, _ := jsonPacket(kindClose, reason{}) // it is always JSON
		// Where that does not get through, the host finds out by itself.
		_ = d.transport.Send(data)
		err = d.transport.Close()
	})
	return err
}

// writer sends frames. The first is what is asked for: it goes as a request of its own, with a nonce.
type writer struct{ *dialer }

// Write takes a whole frame, as the wire package writes each.
func (w writer) Write(frame []byte) (int, error) {
	if w.asked {
		return w.stream.Write(frame)
	}
	w.asked = true
	if err := w.ask(frame); err != nil {
		w.stream.end(err)
		return 0, err
	}
	return len(frame), nil
}

// ask sends the second request.
func (d *dialer) ask(frame []byte) error {
	q, err := requestIn(frame)
	if err != nil {
		return err
	}
	if err := d.transport.Send(packet(kindOpen, nil)); err != nil {
		return err
	}
	nonce, ok := <-d.nonces
	if !ok {
		_, err := d.stream.Read(make([]byte, 1))
		return err
	}
	r := &request{Nonce: nonce, Verb: VerbOf(q.Op)}
	hidden := hide(q)
	if r.Clear, err = json.Marshal(q); err != nil {
		return err
	}
	plain, err := json.Marshal(hidden)
	if err != nil {
		return err
	}
	if r.Sealed, err = d.seal(plain); err != nil {
		return err
	}
	if err := d.sign(r); err != nil {
		return err
	}
	data, err := jsonPacket(kindRequest, r)
	if err != nil {
		return err
	}
	if len(data) > MaxRequest {
		return &diag.HintError{Code: CodeTooLarge, Message: fmt.Sprintf("this is too much to ask an agent for at once: it takes %d bytes, and may take %d", len(data), MaxRequest),
			Hint: "what is large comes to a host as a file of a site that is deployed, or over SSH"}
	}
	return d.transport.Send(data)
}

// frameHead is the length of a frame, as the wire package writes it, and its kind.
const frameHead = 5

// requestIn reads a frame with a request.
func requestIn(frame []byte) (*wire.Request, error) {
	if len(frame) < frameHead || wire.Kind(frame[4]) != wire.KindRequest || int(binary.BigEndian.Uint32(frame)) != len(frame)-frameHead {
		return nil, errors.New("channel: the first frame is no request")
	}
	q := &wire.Request{}
	return q, json.Unmarshal(frame[frameHead:], q)
}

// hide takes the secrets out of a request.
func hide(q *wire.Request) secrets {
	hidden := secrets{BecomePassword: q.BecomePassword}
	q.BecomePassword = ""
	if q.Exec != nil {
		exec := *q.Exec
		hidden.Stdin, exec.Stdin = exec.Stdin, nil
		q.Exec = &exec
	}
	return hidden
}

func parseReason(data []byte) (r reason, err error) {
	if err := json.Unmarshal(data, &r); err != nil {
		return r, &diag.HintError{Code: CodeBroken, Err: fmt.Errorf("the reason why the connection ends cannot be read: %w", err)}
	}
	return r, nil
}
