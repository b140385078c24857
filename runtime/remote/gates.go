package remote

import (
	"context"
	"sync"

	"github.com/tenetcm/tenet/runtime/wire"
)

// Handshakes is how many may be under way through one gate. OpenSSH's server drops some
// of more than ten that have not logged in yet.
const Handshakes = 8

// Gates keeps too many connections from being made at a time through the same jump host.
// The zero value works.
type Gates struct {
	mu   sync.Mutex
	gate map[string]chan struct{} // by what connections go through
}

// Dial is a Dial that goes through what via names when it is called; empty: nothing.
func (g *Gates) Dial(via func() string, dial Dial) Dial {
	return func(ctx context.Context, o wire.Opening) (*wire.Conn, *wire.Hello, error) {
		name := via()
		if name == "" {
			return dial(ctx, o)
		}
		gate := g.of(name)
		select {
		case gate <- struct{}{}:
			defer func() { <-gate }()
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
		return dial(ctx, o)
	}
}

func (g *Gates) of(name string) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gate == nil {
		g.gate = map[string]chan struct{}{}
	}
	if g.gate[name] == nil {
		g.gate[name] = make(chan struct{}, Handshakes)
	}
	return g.gate[name]
}
