package nats

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// turns says whose turn it is among endpoints: each in turn, from any of them on, so that agents are spread. WebSockets come in where a
// direct connection has failed: at once as long as none was ever made, and else now and then, since it is the server that is away.
type turns struct {
	direct, socket int  // how often each kind was tried
	failed         int  // attempts since the last connection
	wasSocket      bool // the last attempt was by a WebSocket
	isDirect       bool // a direct connection was made once
}

// socketEvery is how many attempts there are for one by a WebSocket, where direct ones have succeeded before.
const socketEvery = 4

func newTurns() turns { return turns{direct: rand.IntN(1 << 16), socket: rand.IntN(1 << 16)} }

// choose chooses among endpoints, of which there is at least one.
func (t *turns) choose(all []string) string {
	isSocket := func(endpoint string) bool { return strings.HasPrefix(endpoint, "wss:") }
	direct := slices.DeleteFunc(slices.Clone(all), isSocket)
	sockets := slices.DeleteFunc(slices.Clone(all), func(endpoint string) bool { return !isSocket(endpoint) })
	every := 2
	if t.isDirect {
		every = socketEvery
	}
	if t.wasSocket = len(direct) == 0 || len(sockets) > 0 && t.failed%every == every-1; t.wasSocket {
		t.socket++
		return sockets[t.socket%len(sockets)]
	}
	t.direct++
	return direct[t.direct%len(direct)]
}

// over ends an attempt.
func (t *turns) over(connected bool) {
	if !connected {
		t.failed++
		return
	}
	t.failed, t.isDirect = 0, t.isDirect || !t.wasSocket
}
