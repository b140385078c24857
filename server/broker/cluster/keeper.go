package cluster

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/broker"
)

// againAfter is how long to wait before the next attempt to connect.
const againAfter = 5 * time.Second

// Keeper is a broker at a cluster that need not be there: as long as it cannot be reached, nothing is passed on, and agents get credentials all the
// same. Who sends learns of that as of a full buffer, and tells it again.
type Keeper struct {
	config Config
	issuer *issuer
	again  time.Duration
	cancel context.CancelFunc
	ctx    context.Context
	work   fault.Group

	mu      sync.Mutex
	receive broker.Receive
	broker  *Broker
	closed  bool
	why     error // it is not connected
}

var _ broker.Broker = (*Keeper)(nil)

// Keep makes a broker that connects once somebody listens, and again whenever that is needed. Only what no waiting cures is an error.
func Keep(c Config) (*Keeper, error) {
	if c.Authorize == nil || len(c.Endpoints) == 0 {
		return nil, errors.New("a broker needs Authorize and Endpoints")
	}
	if c.Report == nil {
		c.Report = func(error) {}
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	s, err := parseSecrets(c.Credentials)
	if err != nil {
		return nil, err
	}
	k := &Keeper{config: c, issuer: &issuer{account: s.Account, key: s.signing, now: c.Clock}, again: againAfter, why: errors.New("nobody listens yet")}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	return k, nil
}

// Listen is broker.Broker's. It does not wait for the cluster.
func (k *Keeper) Listen(receive broker.Receive) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed || k.receive != nil {
		return broker.ErrListening
	}
	k.receive, k.why = receive, errors.New("the first connection is being made")
	k.work.Go(k.connect)
	return nil
}

// connect tries until it is connected, or closed. From then on the connections themselves come back.
func (k *Keeper) connect() {
	said := ""
	for k.ctx.Err() == nil {
		b, err := Open(k.config)
		if err == nil {
			if err = b.Listen(k.receive); err == nil {
				k.take(b)
				return
			}
			err = errors.Join(err, b.Close())
		}
		k.mu.Lock()
		k.why = err
		k.mu.Unlock()
		if text := err.Error(); text != said { // not every few seconds the same
			said = text
			k.config.Report(err)
		}
		select {
		case <-k.ctx.Done():
		case <-time.After(k.again):
		}
	}
}

// take takes up what is connected.
func (k *Keeper) take(b *Broker) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.broker, k.why = b, nil
}

// open gives the broker, if it has been connected once; nil: it has not.
func (k *Keeper) open() (b *Broker, closed bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.broker, k.closed
}

// Connected says why the cluster is not reached now; nil: it is.
func (k *Keeper) Connected() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.closed:
		return link.ErrClosed
	case k.broker == nil:
		return k.why
	case !k.broker.Carrier.Connected() || !k.broker.watch.conn.IsConnected():
		return &diag.HintError{Code: "broker_unreachable", Message: "the connection to the cluster is lost, and is tried again", Hint: "look whether its servers run, and whether this one reaches them"}
	}
	return nil
}

// Send is broker.Broker's.
func (k *Keeper) Send(to link.Address, p link.Packet) error {
	b, closed := k.open()
	switch {
	case closed:
		return link.ErrClosed
	case b == nil:
		return link.ErrFull
	}
	return b.Send(to, p)
}

// Disconnect is broker.Broker's. Where there is no connection, who may not be connected is found once there is one.
func (k *Keeper) Disconnect(host link.Address) error {
	b, closed := k.open()
	switch {
	case closed:
		return link.ErrClosed
	case b == nil:
		return nil
	}
	return b.Disconnect(host)
}

// Credential gives a JWT with which a host can connect by its key, and when that ends. It needs no connection.
func (k *Keeper) Credential(host trust.ID, connection string) (string, time.Time, error) {
	if b, _ := k.open(); b != nil {
		return b.Credential(host, connection)
	}
	return k.issuer.credential(host, connection)
}

// Close is broker.Broker's.
func (k *Keeper) Close() error {
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.cancel()
	k.work.Wait()
	if b, _ := k.open(); b != nil {
		return b.Close()
	}
	return nil
}
