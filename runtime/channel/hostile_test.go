package channel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/channel"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/remote"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/runtime/wire"
)

// Whoever passes packets on may change, drop, repeat and invent them: nothing begins that was not signed, and nobody takes another's words for the
// host's.
func TestHostileWay(t *testing.T) {
	type change func(n int, data []byte) [][]byte
	flip := func(k byte, at int) change {
		return func(_ int, data []byte) [][]byte {
			if data[0] == k {
				data = bytes.Clone(data)
				data[(len(data)+at)%len(data)] ^= 1
			}
			return [][]byte{data}
		}
	}
	seen := map[byte]int{}
	drop := func(k byte, which int) change {
		return func(_ int, data []byte) [][]byte {
			if data[0] == k {
				if seen[k]++; seen[k] == which {
					return nil
				}
			}
			return [][]byte{data}
		}
	}
	for name, test := range map[string]struct{ toHost, toDialer change }{
		"greeting changed":             {toDialer: flip('n', -10)},
		"answer changed":               {toDialer: flip('d', -1)},
		"answer dropped":               {toDialer: drop('d', 2)},
		"answer repeated":              {toDialer: func(_ int, d []byte) [][]byte { return [][]byte{d, d} }},
		"request changed":              {toHost: flip('r', -20)},
		"request repeated":             {toHost: func(_ int, d []byte) [][]byte { return [][]byte{d, d} }},
		"data before the request":      {toHost: func(_ int, d []byte) [][]byte { return [][]byte{append([]byte("d"), d...), d} }},
		"a packet of no kind":          {toHost: func(_ int, d []byte) [][]byte { return [][]byte{d, {'?'}} }},
		"more credit than there is":    {toDialer: func(_ int, d []byte) [][]byte { return [][]byte{{'c', 0xff, 0xff, 0xff, 0xff}, d} }},
		"credit that makes no sense":   {toDialer: func(_ int, d []byte) [][]byte { return [][]byte{{'c', 1}, d} }},
		"an empty packet":              {toDialer: func(_ int, d []byte) [][]byte { return [][]byte{{}, d} }},
		"a reason that makes no sense": {toDialer: func(_ int, d []byte) [][]byte { return [][]byte{d, []byte("x{")} }},
	} {
		t.Run(name, func(t *testing.T) {
			clear(seen)
			w := newWorld(t, serving(t))
			if test.toHost != nil {
				w.toHost = func(id string, data []byte) []byte {
					for _, p := range test.toHost(0, data) {
						w.mu.Unlock()
						w.acceptor.Receive(id, p)
						w.mu.Lock()
					}
					return nil
				}
			}
			if test.toDialer != nil {
				w.toDialer = func(id string, data []byte) []byte {
					for _, p := range test.toDialer(0, data) {
						w.dialers[id].put(p)
					}
					return nil
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			m := &remote.Machine{Name: "subject", Dial: w.dial, Registry: modules.Standard()}
			marker := t.TempDir() + "/marker"
			_, err := m.Exec(ctx, machine.Exec{Argv: []string{"touch", marker}}, machine.Observer{})
			if ctx.Err() != nil {
				t.Errorf("it waits for ever: %v", err)
			}
			if test.toHost != nil && err == nil {
				t.Error("it is as if nothing had happened")
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if len(w.begun) > 2 {
				t.Errorf("the host has begun %+v", w.begun)
			}
		})
	}
}

// A signature for one host, session, verb or content is none for another, and counts once.
func TestSignedForSomethingElse(t *testing.T) {
	served := make(chan wire.Opening, 10)
	w := newWorld(t, func(_ context.Context, c *wire.Conn, o wire.Opening) error {
		served <- o
		if err := c.Send(wire.KindHello, wire.Hello{}); err != nil {
			return err
		}
		_, err := c.Receive()
		return err
	})
	nobody := newKey(t)
	w.toHost = func(_ string, data []byte) []byte {
		if data[0] != 'r' {
			return data
		}
		d, err := channel.Inspect(w.host.ID(), "x", data) // of another session
		if err != nil {
			t.Error(err)
			return data
		}
		for name, q := range map[string]struct {
			key    trust.PrivateKey
			change func(*trust.Request)
		}{
			"session": {w.server, func(*trust.Request) {}},
			"verb":    {w.server, func(r *trust.Request) { r.Verb = "exec" }},
			"host":    {w.server, func(r *trust.Request) { r.Host = nobody.ID() }},
			"nonce":   {w.server, func(r *trust.Request) { r.Nonce = make([]byte, 16) }},
			"key":     {nobody, func(*trust.Request) {}},
		} {
			r := d.Unsigned
			r.ID = trust.NewRequestID()
			q.change(&r)
			signed, err := trust.Sign(trust.KindRequest, r, q.key)
			if err != nil {
				t.Error(err)
			}
			forged, err := channel.WithSignature(data, signed)
			if err != nil {
				t.Error(err)
			}
			w.mu.Unlock()
			w.acceptor.Receive("other-"+name, []byte("o")) // a session that is open
			w.acceptor.Receive("other-"+name, forged)
			w.mu.Lock()
		}
		return data
	}
	// The honest request came last: its nonce is none of those sessions, and was not used up there.
	if _, _, err := w.dial(t.Context(), wire.Opening{Site: "shop"}); err != nil {
		t.Error(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(served) != 1 || len(w.begun) != 1 || len(w.failed) != 5 {
		t.Errorf("%d were served, begun was %+v, and refused %v", len(served), w.begun, w.failed)
	}
}

// An agent has its own place for records, and its own host.
func TestOpeningOfAnotherPlace(t *testing.T) {
	w := newWorld(t, serving(t))
	for _, o := range []wire.Opening{{StateDir: "/tmp/x"}, {Root: "/tmp/x"}, {Digest: strings.Repeat("0", 64)}} {
		if _, _, err := w.dial(t.Context(), o); err == nil || !strings.Contains(err.Error(), "its own state folder") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// Connections that nobody ends are bounded, and end with the link.
func TestManyConnections(t *testing.T) {
	ended := make(chan error, 100)
	w := newWorld(t, func(_ context.Context, c *wire.Conn, _ wire.Opening) error {
		if err := c.Send(wire.KindHello, wire.Hello{}); err != nil {
			return err
		}
		_, err := c.Receive()
		ended <- err
		return err
	})
	n := 0
	for ; ; n++ {
		_, _, err := w.dial(t.Context(), wire.Opening{})
		if err != nil {
			if !strings.Contains(err.Error(), "connections to this host are open") {
				t.Error(err)
			}
			break
		}
	}
	if n < 10 || n > 100 {
		t.Errorf("%d were opened", n)
	}
	w.acceptor.Disconnect()
	for range n {
		if err := <-ended; err == nil || errors.Is(err, io.EOF) {
			t.Errorf("it ended with %v", err)
		}
	}
}

// Who announces requests without making them ends their own connection, and takes nothing from those of others.
func TestAnnouncementsWithoutRequests(t *testing.T) {
	w := newWorld(t, serving(t))
	for n := range 50 {
		id := fmt.Sprint("idle-", n)
		for range 9 {
			w.acceptor.Receive(id, []byte("o"))
		}
	}
	w.mu.Lock()
	refused := len(w.failed)
	w.mu.Unlock()
	if refused != 50 {
		t.Errorf("%d of 50 were refused", refused)
	}
	for range 40 { // as many as there are places for, each with its nonce
		if err := w.transport().Send([]byte("o")); err != nil {
			t.Error(err)
		}
	}
	c, _, err := w.dial(t.Context(), wire.Opening{})
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// What was signed is what is done: a request that was changed since is refused, also where its verb stays.
func TestRequestChangedAfterSigning(t *testing.T) {
	for _, verb := range []trust.Verb{"", "ping"} {
		w := newWorld(t, serving(t))
		marker := t.TempDir() + "/marker"
		w.toHost = func(id string, data []byte) []byte {
			if data[0] != 'r' || !bytes.Contains(data, []byte(`"verb":"exec"`)) {
				return data
			}
			changed, body, err := channel.Change(data, id, verb, func(clear []byte) []byte {
				return bytes.ReplaceAll(clear, []byte("true"), []byte("false"))
			})
			if err != nil {
				t.Error(err)
			}
			if verb == "" {
				return changed
			}
			// The server allows a ping, and what comes along is a program.
			d, err := channel.Inspect(w.host.ID(), id, data)
			if err != nil {
				t.Error(err)
				return data
			}
			d.Unsigned.ID, d.Unsigned.Verb, d.Unsigned.Body = trust.NewRequestID(), verb, body
			signed, err := trust.Sign(trust.KindRequest, d.Unsigned, w.server)
			if err != nil {
				t.Error(err)
			}
			changed, err = channel.WithSignature(changed, signed)
			if err != nil {
				t.Error(err)
			}
			return changed
		}
		m := &remote.Machine{Name: "subject", Dial: w.dial, Registry: modules.Standard()}
		_, err := m.Exec(t.Context(), machine.Exec{Argv: []string{"true", marker}}, machine.Observer{})
		w.acceptor.Close() // whoever serves has said why it ended
		if err == nil || len(w.begun) != 1 || len(w.failed) != 1 {
			t.Errorf("%q: it ended with %v; begun was %+v, and refused %v", verb, err, w.begun, w.failed)
		}
	}
}

// What a dialer was not allowed does not come in beside a request that it was: neither as data before it, nor as a second one.
func TestMoreThanWasAllowed(t *testing.T) {
	for name, ask := range map[string][]bool{"as data": {false}, "twice": {true, true}} {
		received := make(chan wire.Request, 10)
		w := newWorld(t, func(_ context.Context, c *wire.Conn, _ wire.Opening) error {
			if err := c.Send(wire.KindHello, wire.Hello{}); err != nil {
				return err
			}
			for {
				var q wire.Request
				if err := c.Expect(wire.KindRequest, &q); err != nil {
					close(received)
					return err
				}
				received <- q
			}
		})
		tr := w.transport()
		c, next, err := channel.DialAnd(t.Context(), tr, channel.Peer{Identity: w.host.Public(), Session: tr.id}, wire.Opening{})
		if err != nil {
			t.Fatal(err)
		}
		for _, asked := range ask {
			next(asked)
			_ = c.Send(wire.KindRequest, wire.Request{Op: wire.OpPing}) // what comes of it is seen below
		}
		n := 0
		for range received {
			n++
		}
		w.acceptor.Close() // whoever serves has said why it ended
		w.mu.Lock()
		if n > len(ask)-1 || len(w.failed) == 0 {
			t.Errorf("%s: %d requests were served; refused was %v", name, n, w.failed)
		}
		w.mu.Unlock()
	}
}

// A key never seals two things in the same way.
func TestSealsDiffer(t *testing.T) {
	seal, err := channel.NewSealer(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	one, _ := seal([]byte("x"))
	two, _ := seal([]byte("x"))
	if bytes.Equal(one, two) {
		t.Error("two are alike")
	}
}
