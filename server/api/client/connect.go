package client

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/coder/websocket"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/channel"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/runtime/wire"
)

// connectionSession is the header in which the server names a connection.
const connectionSession = "Tenet-Session"

// Dial opens a connection to a host through the server: see remote.Dial. What goes over it is encrypted between this program and the host. Which
// host a name stands for is kept with the login when it is reached first, and no other one is taken for it from then on.
func (c *Client) Dial(ctx context.Context, name string, o wire.Opening) (*wire.Conn, *wire.Hello, error) {
	h, err := c.Host(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	if err := c.isKnown(name, h); err != nil {
		return nil, nil, err
	}
	header := http.Header{"Authorization": {"Bearer " + c.saved.Secret}}
	at := *c.base
	at.Path = "/v1/hosts/" + string(h.ID) + "/connection"
	socket, answer, err := websocket.Dial(ctx, at.String(), &websocket.DialOptions{HTTPClient: c.http, HTTPHeader: header, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		if answer != nil && answer.StatusCode != http.StatusSwitchingProtocols {
			defer answer.Body.Close()
			_, err = c.readProblem(answer)
			return nil, nil, err
		}
		_, err = c.failed(ctx, http.MethodGet, err)
		return nil, nil, err
	}
	socket.SetReadLimit(link.MaxPacket)
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	peer := channel.Peer{Identity: h.Keys.Identity, Session: answer.Header.Get(connectionSession)}
	if c.key != nil {
		peer.Sign = func(r trust.Request) (*trust.Signed, error) { return trust.Sign(trust.KindRequest, r, *c.key) }
	}
	return channel.Dial(ctx, &transport{socket: socket, ctx: life, end: end}, peer, o)
}

// isKnown refuses a host that is not the one that was asked for, or that had the name before.
func (c *Client) isKnown(name string, h *Host) error {
	if h == nil || h.Keys == nil || h.Keys.Identity.ID() != h.ID {
		return &diag.HintError{Code: CodeNoAnswer, Message: "the server does not say which key the host has"}
	}
	if trust.ID(name).Check() != nil {
		return c.known.check(name, h.ID)
	}
	if h.ID != trust.ID(name) {
		return &diag.HintError{Code: CodeIdentity, Message: "the server names another host than the one that was asked for"}
	}
	return nil
}

// transport is a channel.Transport over a WebSocket.
type transport struct {
	socket *websocket.Conn
	ctx    context.Context
	end    context.CancelFunc
}

// Send sends a packet.
func (t *transport) Send(packet []byte) error {
	return t.socket.Write(t.ctx, websocket.MessageBinary, packet)
}

// Receive waits for the next one.
func (t *transport) Receive() ([]byte, error) {
	_, data, err := t.socket.Read(t.ctx)
	if websocket.CloseStatus(err) == websocket.StatusNormalClosure || errors.Is(err, context.Canceled) {
		err = io.EOF
	}
	return data, err
}

// Close ends the connection.
func (t *transport) Close() error {
	t.end()
	// It was ended by that, however orderly.
	_ = t.socket.CloseNow()
	return nil
}
