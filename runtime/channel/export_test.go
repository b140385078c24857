package channel

import (
	"context"
	"encoding/json"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/runtime/wire"
)

// NewSealer gives what seals one direction.
func NewSealer(key []byte) (func([]byte) ([]byte, error), error) {
	c, err := newCounter(key)
	return c.seal, err
}

// DialAnd is Dial with what a hostile dialer can do: ask says whether the next frame is sent as a request, or as data.
func DialAnd(ctx context.Context, t Transport, peer Peer, o wire.Opening) (c *wire.Conn, ask func(bool), err error) {
	d := &dialer{transport: t, peer: peer, host: peer.Identity.ID(), nonces: make(chan []byte, 1)}
	c, _, err = d.dial(ctx, o)
	return c, func(yes bool) { d.asked = !yes }, err
}

// Change changes what a packet asks for, and gives it with what has to be signed for that.
func Change(data []byte, session string, verb trust.Verb, clear func([]byte) []byte) ([]byte, trust.Digest, error) {
	var r request
	if err := json.Unmarshal(data[1:], &r); err != nil {
		return nil, trust.Digest{}, err
	}
	if verb != "" {
		r.Verb = verb
	}
	r.Clear = clear(r.Clear)
	data, err := jsonPacket(kindRequest, &r)
	return data, r.body(session), err
}
