// Package brokertest is the suite that each broker passes, together with the links of its agents.
package brokertest

import (
	"bytes"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/broker"
)

// patience is how long anything may take that has to come.
const patience = 2 * time.Minute

// Setup is a broker that begins, and what reaches it.
type Setup struct {
	Broker broker.Broker
	// Dial makes the link of an agent, whose host the broker knows from then on.
	Dial func(t testing.TB, a link.Address, h link.Handler) link.Link
	// Refused are the ways to dial that lead nowhere, by their names. The host of the address is one that is known.
	Refused map[string]func(t testing.TB, a link.Address, h link.Handler) link.Link
	// Outlives says that agents stay connected when the server's side is closed, as they do where the broker runs elsewhere.
	Outlives bool
	// Raw connects as an agent does that keeps to nothing; nil: there is no such thing.
	Raw func(t testing.TB, a link.Address) *Raw
}

// Raw is a connection without the code of an agent.
type Raw struct {
	Publish   func(subject string, data []byte)
	Subscribe func(subject string, got func(data []byte))
	Flush     func() // until the broker has seen what was said, or has hung up
	Close     func()
}

// Run runs the suite, each part with a new broker. Tests that run beside it must have no goroutines of brokers.
func Run(t *testing.T, open func(testing.TB) *Setup) {
	parts := map[string]func(*testing.T, *Setup){
		"sizes": sizes, "order": order, "large among small": largeAmongSmall, "burst": burst, "instances": instances, "nobody": nobody, "invalid": invalid,
		"disconnect": disconnect, "refused": refused, "forged": forged, "garbage": garbage, "slow server": slowServer, "slow agent": slowAgent,
		"close": closing, "close of a link": closingLink, "listen": listening,
	}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() { leaksNothing(t) })
			s := open(t)
			t.Cleanup(func() {
				if err := s.Broker.Close(); err != nil {
					t.Error(err)
				}
			})
			parts[name](t, s)
		})
	}
}

// leaksNothing waits until no goroutine of a broker or a link is left.
func leaksNothing(t *testing.T) {
	t.Helper()
	var left []string
	for deadline := time.Now().Add(patience / 2); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		buffer := make([]byte, 4<<20)
		left = nil
		for stack := range strings.SplitSeq(string(buffer[:runtime.Stack(buffer, true)]), "\n\n") {
			if isOurs(stack) {
				left = append(left, stack)
			}
		}
		if len(left) == 0 {
			return
		}
	}
	t.Errorf("%d goroutines are left:\n%s", len(left), strings.Join(left, "\n\n"))
}

func isOurs(stack string) bool {
	if strings.Contains(stack, "brokertest.leaksNothing") || strings.Contains(stack, "testing.(*T).Run") {
		return false
	}
	for _, name := range []string{"/runtime/link", "/server/broker", "nats-io/"} {
		if strings.Contains(stack, name) {
			return true
		}
	}
	return false
}

// Host is a host that is nobody else.
func Host(t testing.TB) trust.ID {
	t.Helper()
	key, err := trust.GenerateKey()
	must(t, err)
	return key.ID()
}

func address(t testing.TB) link.Address { return link.Address{Host: Host(t), Instance: "first"} }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// await gives what comes over a channel.
func await[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatalf("%s does not come", what)
		panic("unreachable")
	}
}

// agent is a link, and what its handler was told.
type agent struct {
	link.Link
	address      link.Address
	connected    chan struct{}
	disconnected chan error
	packets      chan link.Packet
}

func newAgent(a link.Address) (*agent, link.Handler) {
	out := &agent{address: a, connected: make(chan struct{}, 1000), disconnected: make(chan error, 1000), packets: make(chan link.Packet, 100_000)}
	return out, link.Handler{
		Connected:    func() { out.connected <- struct{}{} },
		Disconnected: func(reason error) { out.disconnected <- reason },
		Receive:      func(p link.Packet) { out.packets <- p },
	}
}

// dial gives an agent that is connected.
func dial(t testing.TB, s *Setup, a link.Address) *agent {
	t.Helper()
	out, h := newAgent(a)
	out.Link = s.Dial(t, a, h)
	t.Cleanup(func() { _ = out.Close() })
	await(t, out.connected, "a connection")
	return out
}

// received is a packet with its sender.
type received struct {
	from link.Address
	link.Packet
}

func listen(t testing.TB, s *Setup) <-chan received {
	t.Helper()
	out := make(chan received, 100_000)
	must(t, s.Broker.Listen(func(from link.Address, p link.Packet) { out <- received{from, p} }))
	return out
}

// data has no two pieces that are the same.
func data(n, seed int) []byte {
	out := make([]byte, n)
	x := uint32(n+seed) + 1
	for i := range out {
		x = x*1664525 + 1013904223
		out[i] = byte(x >> 24)
	}
	return out
}

func same(t testing.TB, got, want link.Packet) {
	t.Helper()
	if got.Session != want.Session || !bytes.Equal(got.Data, want.Data) {
		t.Fatalf("session %q and %d bytes arrive, not session %q and %d bytes", got.Session, len(got.Data), want.Session, len(want.Data))
	}
}
