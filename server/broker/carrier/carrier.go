// Package carrier carries packets over the server's connection to NATS, wherever that runs.
package carrier

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/broker"
)

// What may have come that is not yet looked at. Small packets take more memory than they have bytes.
const (
	maxUnread        = 256 << 20
	maxUnreadPackets = 1 << 18
)

// subscribePatience is how long the broker may take to confirm a subscription.
const subscribePatience = 30 * time.Second

// Carrier is what brokers over NATS have in common.
type Carrier struct {
	conn   *nats.Conn
	outbox *broker.Outbox

	mu     sync.Mutex
	intake atomic.Pointer[broker.Intake]
	closed bool
}

// Options are those that each connection of a server has. Errors that nobody waits for are reported to a function, which must not wait.
func Options(report func(error)) []nats.Option {
	return []nats.Option{
		nats.Name("tenet server"),
		nats.NoEcho(),
		nats.ReconnectBufSize(-1), // what was meant for agents while there was no connection is told again by the protocol
		nats.MaxReconnects(-1),
		nats.ReconnectWait(500 * time.Millisecond),
		nats.ReconnectJitter(500*time.Millisecond, time.Second),
		nats.FlusherTimeout(20 * time.Second),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { report(fmt.Errorf("broker: %w", err)) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				report(fmt.Errorf("broker: the server's own connection has ended: %w", err))
			}
		}),
	}
}

// New carries packets over a connection, which from now on is the Carrier's. Of a host that floods it nothing more is taken in, and a function
// is told so, each time that it sends: it must not wait.
func New(conn *nats.Conn, floods func(trust.ID)) (*Carrier, error) {
	c := &Carrier{conn: conn}
	splitter := link.Splitter{Size: int(conn.MaxPayload())}
	c.outbox = broker.NewOutbox(splitter, func(subject string, frame []byte) error { return publish(conn, subject, frame) })
	inbox, meter := &broker.Inbox{Packet: c.take, Ack: c.outbox.Ack}, &broker.Meter{Now: time.Now}
	err := splitter.Check()
	var sub *nats.Subscription
	if err == nil { // also before somebody listens: what is sent waits for what agents acknowledge
		sub, err = conn.Subscribe("tenet."+string(link.Up)+".>", func(m *nats.Msg) {
			if from, _, err := link.ParseSubject(link.Up, m.Subject); err == nil && !meter.Allow(from.Host, len(m.Data)) {
				floods(from.Host)
				return
			}
			inbox.Take(m.Subject, m.Data)
		})
	}
	if err == nil {
		err = sub.SetPendingLimits(maxUnreadPackets, maxUnread)
	}
	if err == nil {
		err = conn.FlushTimeout(subscribePatience)
	}
	if err == nil {
		err = conn.LastError() // that the subscription was refused
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("cannot subscribe to what agents send: %w", err)
	}
	return c, nil
}

func (c *Carrier) take(from link.Address, p link.Packet) {
	if intake := c.intake.Load(); intake != nil {
		intake.Put(from, p)
	}
}

func publish(conn *nats.Conn, subject string, frame []byte) error {
	err := conn.Publish(subject, frame)
	switch {
	case errors.Is(err, nats.ErrReconnectBufExceeded):
		return link.ErrFull
	case errors.Is(err, nats.ErrConnectionClosed):
		return link.ErrClosed
	}
	return err
}

// Listen is broker.Broker's.
func (c *Carrier) Listen(receive broker.Receive) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.intake.Load() != nil {
		return broker.ErrListening
	}
	c.intake.Store(broker.NewIntake(receive))
	return nil
}

// Send is broker.Broker's.
func (c *Carrier) Send(to link.Address, p link.Packet) error { return c.outbox.Send(to, p) }

// Connected tells whether the connection is there now.
func (c *Carrier) Connected() bool { return c.conn.IsConnected() }

// Close ends the connection. Nothing is received any more when it returns.
func (c *Carrier) Close() {
	c.mu.Lock()
	c.closed = true
	intake := c.intake.Load()
	c.mu.Unlock()
	c.conn.Close()
	c.outbox.Close()
	if intake != nil {
		intake.Close()
	}
}
