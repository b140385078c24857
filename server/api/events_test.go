package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
)

// stream is events as a reader gets them.
type stream struct {
	t     testing.TB
	lines *bufio.Scanner
	id    string
}

func (w *world) stream(secret, lastID string) *stream {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, "GET", w.server.URL+"/v1/events", nil)
	must(w.t, err)
	r.Header.Set("Authorization", "Bearer "+secret)
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	answer, err := w.server.Client().Do(r)
	must(w.t, err)
	w.t.Cleanup(func() { answer.Body.Close() })
	if answer.StatusCode != 200 || answer.Header.Get("Content-Type") != "text/event-stream" {
		w.t.Fatal(answer)
	}
	return &stream{t: w.t, lines: bufio.NewScanner(answer.Body)}
}

// next gives the type and the data of the next event.
func (s *stream) next() (event, data string) {
	s.t.Helper()
	for s.lines.Scan() {
		name, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch name {
		case "id":
			s.id = value
		case "event":
			event = value
		case "data":
			data = value
		case "":
			if event != "" {
				return event, data
			}
		}
	}
	s.t.Fatal("the stream ended", s.lines.Err())
	return "", ""
}

func (s *stream) want(event string, data string) {
	s.t.Helper()
	got, text := s.next()
	if got != event || !strings.Contains(text, data) {
		s.t.Fatalf("got %s %s, want %s %s", got, text, event, data)
	}
}

func numbered(n int) api.Event {
	return api.Event{At: time.Unix(1, 0), Type: "host.approved", Host: access.Target{Name: fmt.Sprint("web", n)}, Data: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))}
}

func TestEvents(t *testing.T) {
	w := start(t, nil)
	alice := w.login("alice")
	w.api.Feed().Publish(numbered(0)) // before anybody looks
	s := w.stream(alice, "")
	s.want("ready", "{}")
	for n := 1; n <= 250; n++ {
		w.api.Feed().Publish(numbered(n))
	}
	for n := 1; n <= 250; n++ {
		s.want("host.approved", fmt.Sprintf(`{"n":%d}`, n))
		if n == 100 {
			again := w.stream(alice, s.id)
			again.want("ready", "")
			again.want("host.approved", `{"n":101}`)
		}
	}
	w.wantProblem(w.ask("GET", "/v1/events", w.login("nobody"), ""), 403, access.CodeForbidden)
}

// A reader sees what its grants allow, and cannot tell what else there was but by the numbers.
func TestEventsAreFiltered(t *testing.T) {
	w := start(t, nil)
	web, err := access.ParseSelector("web1,env=prod")
	must(t, err)
	w.add("bob", access.Grant{Verb: access.Read, Hosts: web, Site: "shop"})
	s := w.stream(w.login("bob"), "")
	s.want("ready", "")
	event := func(typ string, host access.Target, site string, verb access.Verb) {
		w.api.Feed().Publish(api.Event{Type: typ, Host: host, Site: site, Verb: verb})
	}
	web1, web2 := access.Target{Name: "web1"}, access.Target{Name: "web2"}
	event("other-host", web2, "shop", "")
	event("other-site", web1, "bank", "")
	event("other-verb", web1, "shop", access.Admin)
	event("server", access.Target{}, "", "")
	event("a", web1, "shop", "")
	event("b", web1, "", "")
	event("c", access.Target{}, "shop", "")
	event("other-site", access.Target{}, "bank", "")
	event("d", access.Target{Name: "x", Labels: map[string]string{"env": "prod"}}, "shop", "")
	for _, want := range []string{"a", "b", "c", "d"} {
		s.want(want, "")
	}
}

// Who comes too late, from another process or with what is no id is told to load anew.
func TestReload(t *testing.T) {
	w := start(t, func(o *api.Options) { o.Feed = api.NewFeed(10) })
	alice := w.login("alice")
	s := w.stream(alice, "")
	s.want("ready", "")
	begin := s.id
	for n := range 11 {
		w.api.Feed().Publish(numbered(n))
	}
	late := w.stream(alice, begin)
	late.want("ready", "")
	late.want("reload", "")
	w.api.Feed().Publish(numbered(99))
	late.want("host.approved", `{"n":99}`)
	name, _, _ := strings.Cut(begin, "-")
	for _, id := range []string{"x", "0123456789abcdef-3", name + "-999", name + "--1", name, strings.Repeat("9", 1000)} {
		w.stream(alice, id).want("reload", "")
	}
	exact := w.stream(alice, name+"-2")
	exact.want("ready", "")
	exact.want("host.approved", `{"n":2}`)
}

// A feed never waits: not for those who do not read, nor for those who are gone.
func TestFeedNeverWaits(t *testing.T) {
	w := start(t, func(o *api.Options) { o.Feed = api.NewFeed(16) })
	alice := w.login("alice")
	idle := w.stream(alice, "")
	idle.want("ready", "")
	big := json.RawMessage(`"` + strings.Repeat("x", 64<<10) + `"`)
	for range 2000 {
		w.api.Feed().Publish(api.Event{Type: "big", Site: "s", Data: big})
	}
	for {
		if event, _ := idle.next(); event == "reload" {
			break
		}
	}
}

// Who is logged out reads no more, and who loses a grant sees no more by it.
func TestStreamsEnd(t *testing.T) {
	w := start(t, nil)
	w.api.SetHeartbeat(10 * time.Millisecond)
	all, err := access.ParseSelector("*")
	must(t, err)
	w.add("bob", access.Grant{Verb: access.Read, Hosts: all, Site: "shop"}, access.Grant{Verb: access.Read, Hosts: all, Site: "bank"})
	s := w.stream(w.login("bob"), "")
	s.want("ready", "")
	ctx := context.Background()
	less := []access.Grant{{Verb: access.Read, Hosts: all, Site: "shop"}}
	must(t, w.people.ChangePerson(ctx, w.root, "bob", access.PersonChange{Grants: &less}))
	for range 2 { // a sign of life after the change: from then on the new grants count
		for s.lines.Scan() && s.lines.Text() != ": alive" {
		}
	}
	w.api.Feed().Publish(api.Event{Type: "secret", Site: "bank"})
	w.api.Feed().Publish(api.Event{Type: "seen", Site: "shop"})
	s.want("seen", "")
	sessions, err := w.people.Sessions(ctx, "bob")
	must(t, err)
	must(t, w.people.EndSession(ctx, w.root, sessions[0].ID, ""))
	for s.lines.Scan() { // until it ends
		if strings.HasPrefix(s.lines.Text(), "event:") {
			t.Error(s.lines.Text())
		}
	}
}

// One caller cannot take all connections.
func TestStreamsAreFew(t *testing.T) {
	w := start(t, nil)
	alice := w.login("alice")
	for range 20 {
		w.stream(alice, "").want("ready", "")
	}
	w.wantProblem(w.ask("GET", "/v1/events", alice, ""), 429, access.CodeTooMany)
	w.add("bob", access.AllGrants()...)
	w.stream(w.login("bob"), "").want("ready", "")
	w.server.CloseClientConnections()
	for r := w.ask("GET", "/metrics", alice, ""); !strings.Contains(r.text, "tenet_api_event_readers 0\n"); {
		r = w.ask("GET", "/metrics", alice, "")
	}
	w.stream(alice, "").want("ready", "")
}
