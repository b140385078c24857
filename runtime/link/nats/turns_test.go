package nats

import "testing"

// attempts gives which of two kinds of endpoints are tried one after the other, "d" or "w", where none succeeds.
func attempts(t *turns, n int) (kinds string) {
	for range n {
		endpoint := t.choose([]string{"tls://a:1", "wss://a/b", "tls://b:1"})
		kinds += map[bool]string{true: "w", false: "d"}[endpoint == "wss://a/b"]
		t.over(false)
	}
	return kinds
}

func TestWebSocketsComeSecond(t *testing.T) {
	turn := newTurns()
	if kinds := attempts(&turn, 6); kinds != "dwdwdw" {
		t.Errorf("without a connection they are tried as %s", kinds)
	}
	turn = newTurns()
	turn.choose([]string{"wss://a/b", "tls://a:1"})
	turn.over(true)
	if kinds := attempts(&turn, 8); kinds != "dddwdddw" {
		t.Errorf("after a direct connection they are tried as %s", kinds)
	}
	turn = newTurns()
	turn.choose([]string{"wss://a/b"})
	turn.over(true)
	if kinds := attempts(&turn, 4); kinds != "dwdw" {
		t.Errorf("after a WebSocket they are tried as %s", kinds)
	}
}

func TestAllEndpointsHaveTheirTurn(t *testing.T) {
	all := []string{"tls://a:1", "nats://b:1", "wss://a/b", "wss://c/d"}
	turn, seen := newTurns(), map[string]bool{}
	for range 8 {
		seen[turn.choose(all)] = true
		turn.over(false)
	}
	if len(seen) != len(all) {
		t.Errorf("only %v were tried", seen)
	}
	first := map[string]bool{}
	for range 100 {
		turn := newTurns()
		first[turn.choose(all)] = true
	}
	if len(first) != 2 || first["wss://a/b"] || first["wss://c/d"] {
		t.Errorf("agents begin with %v", first)
	}
}
