package nats

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/link"
)

// maxUnread is how many bytes may have come that the handler has not yet received. What is more is lost.
const maxUnread = link.MaxPacket + 16<<20

// Link is an agent's link.
type Link struct {
	config Config
	h      link.Handler
	queue  *queue
	end    context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	retry   time.Duration // what the server asks for, before the next attempt
	current *dialer       // of the connection
}

var _ link.Link = (*Link)(nil)

var errRetry = errors.New("the server has asked to connect again later")

// Dial begins to connect, and returns at once.
func Dial(c Config, h link.Handler) (*Link, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.patience == 0 {
		c.patience = defaultPatience
	}
	ctx, end := context.WithCancel(context.Background())
	l := &Link{config: c, h: h, queue: newQueue(), end: end, done: make(chan struct{})}
	fault.Go(func() {
		defer close(l.done)
		l.run(ctx)
	})
	return l, nil
}

// Send is link.Link's. Without a connection it answers link.ErrFull.
func (l *Link) Send(p link.Packet) error {
	if err := p.Check(); err != nil {
		return err
	}
	return l.queue.put(p)
}

// RetryAfter ends the connection. The next attempt comes after a while, up to twice as long as is said.
func (l *Link) RetryAfter(d time.Duration) {
	l.mu.Lock()
	l.retry = min(max(d, 0), time.Hour)
	current := l.current
	l.mu.Unlock()
	if current != nil {
		current.close()
	}
}

// Close is link.Link's.
func (l *Link) Close() error {
	l.queue.close()
	l.end()
	<-l.done
	return nil
}

// run connects, again and again. All functions of the handler are called by it.
func (l *Link) run(ctx context.Context) {
	turn, failed := newTurns(), 0
	for ctx.Err() == nil {
		begun := time.Now()
		connected, err := l.connection(ctx, &turn)
		if ctx.Err() != nil {
			return
		}
		if l.h.Disconnected != nil {
			l.h.Disconnected(err)
		}
		turn.over(connected)
		if connected && time.Since(begun) > steady {
			failed = 0
		}
		l.mu.Lock()
		wait, retry := l.config.wait(failed), l.retry
		l.retry = 0
		l.mu.Unlock()
		failed++
		if retry > 0 {
			wait = retry + rand.N(retry+1)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// connection makes one connection, and serves it until it ends, which it says why. No error is returned where that is the link's own end.
func (l *Link) connection(ctx context.Context, turn *turns) (connected bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	to, err := l.config.endpoint(turn)
	if err != nil {
		return false, err
	}
	d := &dialer{ctx: ctx, config: &l.config, to: to}
	stop := context.AfterFunc(ctx, d.close) // wakes up who writes or reads
	defer stop()
	conn, err := l.connect(d, cancel)
	if err != nil {
		d.close()
		var retry time.Duration
		retry, err = d.refusal(err)
		l.mu.Lock()
		l.retry = max(l.retry, retry)
		l.mu.Unlock()
		return false, fmt.Errorf("%s: %w", to.Redacted(), err)
	}
	defer conn.Close()
	defer d.close() // first: Close waits for who writes
	return true, l.serve(ctx, cancel, conn, d)
}

// credential gives what a cluster wants besides the connection key; empty: nothing.
func (l *Link) credential() (string, error) {
	if l.config.Credential == nil {
		return "", nil
	}
	return l.config.Credential()
}

func (l *Link) connect(d *dialer, ended context.CancelCauseFunc) (*nats.Conn, error) {
	o := nats.GetDefaultOptions()
	o.Url = "nats://" + d.to.Host
	o.CustomDialer, o.SkipHostLookup = d, true
	switch d.to.Scheme {
	case "wss": // the dialer has begun TLS
		o.Url, o.ProxyPath = "ws://"+d.to.Host, d.to.Path
	case "tls": // here, too
		o.TLSHandshakeFirst, o.Secure = true, true
	default:
		o.TLSConfig, o.Secure = d.to.tls, true
	}
	o.Name = l.config.Address.String()
	o.SignatureCB = l.config.Sign
	credential, err := l.credential()
	if err != nil {
		return nil, err
	}
	if credential != "" {
		o.UserJWT = func() (string, error) { return credential, nil }
	} else {
		o.Nkey = l.config.Connection()
	}
	o.AllowReconnect, o.ReconnectBufSize, o.NoEcho = false, -1, true
	o.IgnoreDiscoveredServers = true
	o.Timeout, o.FlusherTimeout = l.config.patience, l.config.patience
	o.PingInterval, o.MaxPingsOut = pingInterval, 2
	o.AsyncErrorCB = func(_ *nats.Conn, _ *nats.Subscription, err error) {
		if !errors.Is(err, nats.ErrSlowConsumer) { // what was lost is told again
			ended(err)
		}
	}
	o.DisconnectedErrCB = func(_ *nats.Conn, err error) {
		if err != nil {
			ended(err)
		}
	}
	o.ClosedCB = func(c *nats.Conn) { ended(errors.Join(c.LastError(), errEnded)) }
	return o.Connect()
}

var errEnded = errors.New("the broker has ended the connection")

// serve sends and receives, until the connection ends.
func (l *Link) serve(ctx context.Context, cancel context.CancelCauseFunc, conn *nats.Conn, d *dialer) error {
	splitter := link.Splitter{Size: int(conn.MaxPayload())}
	if err := splitter.Check(); err != nil {
		return err
	}
	sub, err := conn.SubscribeSync(link.Subjects(link.Down, l.config.Address))
	if err == nil {
		err = sub.SetPendingLimits(-1, maxUnread)
	}
	if err == nil {
		err = conn.FlushTimeout(l.config.patience)
	}
	if err == nil {
		err = conn.LastError() // that the subscription was refused
	}
	if err != nil {
		return fmt.Errorf("%s: %w", d.to.Redacted(), errors.Join(context.Cause(ctx), err))
	}
	l.mu.Lock()
	l.current = d
	if l.retry > 0 {
		cancel(errRetry)
	}
	l.mu.Unlock()
	l.queue.set(true)
	var writer fault.Group
	writer.Go(func() {
		if err := l.write(conn, splitter); err != nil {
			cancel(err)
		}
	})
	if l.h.Connected != nil {
		l.h.Connected()
	}
	err = l.read(ctx, sub)
	cancel(err)
	l.mu.Lock()
	l.current = nil
	l.mu.Unlock()
	l.queue.set(false)
	d.close()
	writer.Wait()
	return fmt.Errorf("%s: %w", d.to.Redacted(), err)
}

// write sends what waits.
func (l *Link) write(conn *nats.Conn, splitter link.Splitter) error {
	control := link.Subject(link.Up, l.config.Address, "")
	acknowledge := func(acks [][]byte) error {
		for _, ack := range acks {
			if err := conn.Publish(control, ack); err != nil {
				return err
			}
		}
		return nil
	}
	var former *link.Packet
	for {
		acks, p, ok := l.queue.next(former)
		if former = p; !ok {
			return nil
		}
		if err := acknowledge(acks); err != nil {
			return err
		}
		if p == nil {
			continue
		}
		subject := link.Subject(link.Up, l.config.Address, p.Session)
		if splitter.Fits(p.Data) {
			if err := conn.Publish(subject, splitter.Frame(p.Data)); err != nil {
				return err
			}
			continue
		}
		for _, frame := range splitter.Pieces(link.NewPacketID(), p.Data) {
			if err := errors.Join(conn.Publish(subject, frame), acknowledge(l.queue.takeAcks())); err != nil {
				return err
			}
		}
	}
}

// read hands packets to the handler, until the connection has ended, and says why it has.
func (l *Link) read(ctx context.Context, sub *nats.Subscription) error {
	var joiner link.Joiner
	for {
		m, err := sub.NextMsgWithContext(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, nats.ErrSlowConsumer):
			continue
		case err != nil:
			return err
		}
		_, session, err := link.ParseSubject(link.Down, m.Subject)
		if err != nil {
			continue // of a later version: nobody here can be told
		}
		f, err := link.ParseFrame(m.Data)
		if err != nil {
			continue
		}
		data, whole := f.Whole()
		if !whole {
			var ack []byte
			if data, ack = joiner.Add(session, f); ack != nil {
				l.queue.acknowledge(ack)
			}
		}
		if p := (link.Packet{Session: session, Data: data}); data != nil && p.Check() == nil && l.h.Receive != nil {
			l.h.Receive(p)
		}
	}
}
