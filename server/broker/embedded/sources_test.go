package embedded

import (
	"net"
	"testing"
	"time"

	"github.com/tenetcm/tenet/server/limit"
)

// One address that connects again and again keeps no other one out; programs of this machine are bounded as all are.
func TestOneAddressKeepsNoOtherOut(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	b := &Broker{limiter: &limiter{rate: 40, now: clock}, sources: limit.New(clock, 10, time.Second/10)}
	let := func(address string, times int) (n int) {
		for range times {
			if b.allows(address) {
				n++
			}
		}
		return n
	}
	if n := let("192.0.2.1:1000", 100); n != 10 {
		t.Errorf("one address begins %d connections", n)
	}
	if n := let("[2001:db8::1]:1", 7) + let("[2001:db8::2]:1", 7); n != 10 {
		t.Errorf("one network begins %d connections", n)
	}
	if n := let("192.0.2.2:1000", 5); n != 5 {
		t.Errorf("another address begins %d connections of 5", n)
	}
	if n := let("127.0.0.1:1000", 100); n != 15 {
		t.Errorf("this machine begins %d of the 15 connections that are left", n)
	}
	if s := open(t, func(c *Config) { c.ConnectsPerSecond = 0 }); s.sources == nil {
		t.Error("a broker as it is usually opened has no limit by address")
	}
}

// Without a host in the address agents come by IPv4 and, where the machine has it, by IPv6.
func TestListensEverywhere(t *testing.T) {
	s := open(t, func(c *Config) { c.Address = ":0" })
	_, port, err := net.SplitHostPort(s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	hosts := []string{"127.0.0.1"}
	if l, err := net.Listen("tcp6", "[::1]:0"); err == nil {
		l.Close()
		hosts = append(hosts, "::1")
	}
	for _, host := range hosts {
		conn, err := net.DialTimeout("tcp", net.JoinHostPort(host, port), 10*time.Second)
		if err != nil {
			t.Errorf("%s: %v", host, err)
			continue
		}
		conn.Close()
	}
}
