package moduletest_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/waitfor"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

func newWaitForHost(t *testing.T) host.Host {
	h := fake.Host(t)
	fake.Network(h, []fake.Answer{
		{URL: "http://example.test/health", Body: "ready\n"},
		{URL: "http://example.test/broken", Status: 503},
	}, fake.Port{Address: "127.0.0.1:5432"}, fake.Port{Address: "[2001:db8::1]:22"}, fake.Port{Address: "192.0.2.1"})
	return h
}

func TestWaitFor(t *testing.T) {
	t.Parallel()
	h := "http://example.test"
	statestest.Run(t, statestest.Suite{
		Module: waitfor.Module, Host: newWaitForHost,
		Hostile: map[string]any{"url": h + "/health", "headers": map[string]string{"Accept": "*/*"}, "within": "1s"},
		Cases: []statestest.Case{
			{Name: "an open port", Values: map[string]any{"port": 5432}},
			{Name: "elsewhere", Values: map[string]any{"port": 22, "host": "2001:db8::1"}},
			{Name: "a closed port", Values: map[string]any{"port": 80, "gone": true}},
			{Name: "a machine", Values: map[string]any{"ping": "192.0.2.1"}},
			{Name: "no machine", Values: map[string]any{"ping": "192.0.2.2", "gone": true}},
			{Name: "a name", Values: map[string]any{"ping": "gateway"}, Wrong: "no IP address"},
			{Name: "text of a machine", Values: map[string]any{"ping": "192.0.2.1", "matches": "a"}, Wrong: "no meaning beside port"},
			{Name: "a machine and a port", Values: map[string]any{"ping": "192.0.2.1", "port": 1}, Wrong: "exactly one"},
			{Name: "a path", Values: map[string]any{"path": "/etc/passwd"}},
			{Name: "a path with a text", Values: map[string]any{"path": "/etc/passwd", "matches": "(?m)^alice:"}},
			{Name: "no path", Values: map[string]any{"path": "/no/where", "gone": true}},
			{Name: "no text", Values: map[string]any{"path": "/etc/passwd", "matches": "mallory", "gone": true}},
			{Name: "an answer", Values: map[string]any{"url": h + "/health", "matches": "^ready"}},
			{Name: "an answer of that status", Values: map[string]any{"url": h + "/broken", "expect": []string{"503"}}},
			{Name: "nothing", Values: map[string]any{}, Wrong: "exactly one"},
			{Name: "two", Values: map[string]any{"port": 1, "path": "/a"}, Wrong: "exactly one"},
			{Name: "no port", Values: map[string]any{"port": 65536}, Wrong: "no port"},
			{Name: "host alone", Values: map[string]any{"path": "/a", "host": "a"}, Wrong: "only beside port"},
			{Name: "expect alone", Values: map[string]any{"path": "/a", "expect": []string{"200"}}, Wrong: "only beside url"},
			{Name: "text of a port", Values: map[string]any{"port": 1, "matches": "a"}, Wrong: "no meaning beside port"},
			{Name: "no pause", Values: map[string]any{"port": 1, "every": "0s"}, Wrong: "some time"},
			{Name: "a host with a port", Values: map[string]any{"port": 1, "host": "a/b"}, Wrong: "cannot contain"},
			{Name: "relative path", Values: map[string]any{"path": "a"}, Wrong: "no absolute path"},
		},
	})
}

// What is not so yet is awaited, to the end of the time; a plan cannot wait.
func TestWaitForWaits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values      map[string]any
		until, said string
	}{
		{map[string]any{"port": "80"}, "it waits until somebody listens at 127.0.0.1:80", "nobody there"},
		{map[string]any{"ping": "2001:db8::2"}, "it waits until 2001:db8::2 answers an echo request", "nobody there"},
		{map[string]any{"path": "/srv/x"}, "it waits until /srv/x is there", "nothing is there"},
		{map[string]any{"path": "/etc/passwd", "gone": true}, "it waits until /etc/passwd is gone", "it is as before"},
		{map[string]any{"path": "/etc/passwd", "matches": "mallory"}, `it waits until /etc/passwd matches "mallory"`, "does not match"},
		{map[string]any{"url": "http://example.test/broken?token=x"}, "it waits until http://example.test/broken answers as expected", "nobody there"},
		{map[string]any{"url": "http://example.test/broken"}, "it waits until http://example.test/broken answers as expected", "it answers status 503, not 2xx"},
		{map[string]any{"url": "http://example.test/health", "gone": true}, "it waits until http://example.test/health answers as expected no more", "as before"},
	} {
		c.values["within"], c.values["every"] = "1m", "7s"
		h := newWaitForHost(t)
		want, err := waitfor.Module.Decode(c.values, nil)
		if err == nil {
			err = waitfor.Module.Check(want)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = waitfor.Module.Act(t.Context(), host.NewShadow(h), want)
		if !errors.Is(err, host.ErrUnforeseeable) || err.Error() != c.until {
			t.Errorf("%v: a plan says %q", c.values, err)
		}
		begun := host.Now(h)
		var told []string
		ctx := states.WithSay(t.Context(), func(text string) { told = append(told, text) })
		_, _, err = waitfor.Module.Act(ctx, h, want)
		if len(told) != 1 || !strings.HasPrefix(told[0], strings.Replace(c.until, "it waits", "waiting", 1)) {
			t.Errorf("%v: it told %q", c.values, told)
		}
		waited := host.Now(h).Sub(begun)
		if err == nil || !strings.Contains(err.Error(), c.said) || !strings.Contains(err.Error(), "it waited 1m0s until ") {
			t.Errorf("%v: %v", c.values, err)
		}
		if waited < time.Minute || waited > 2*time.Minute {
			t.Errorf("%v: it waited %s", c.values, waited)
		}
	}
}

// The wait is over as soon as it is so.
func TestWaitForEnds(t *testing.T) {
	t.Parallel()
	h := fake.Host(t)
	fake.Network(h, nil, fake.Port{Address: "127.0.0.1:80", Exists: "/run/nginx.pid"})
	want, err := waitfor.Module.Decode(map[string]any{"port": "80"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	begun := host.Now(h)
	slow := &starting{Memory: h, t: t}
	if changed, _, err := waitfor.Module.Act(t.Context(), slow, want); changed || err != nil {
		t.Errorf("changed %v, error %v", changed, err)
	}
	if waited := host.Now(h).Sub(begun).Round(time.Second); waited != 3*time.Second {
		t.Errorf("it waited %s", waited)
	}
}

// starting is a host on which nginx runs after three looks.
type starting struct {
	*host.Memory
	t     *testing.T
	looks int
}

func (s *starting) Network() (host.Network, error) {
	if s.looks++; s.looks == 4 {
		fake.Put(s.t, s.Memory, "/run/nginx.pid", "1\n", 0o644)
	}
	return s.Memory.Network()
}
