package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/server/api"
)

// Streams are taken up where they were, whatever ends a connection, and end with the session.
func TestEvents(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w := start(t)
	c := w.client(nil)
	publish := func(n int) {
		w.api.Feed().Publish(api.Event{Type: "x", Site: "s", Data: json.RawMessage(fmt.Sprint(n))})
	}
	var lastIDs []string
	w.before = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/v1/events" {
			lastIDs = append(lastIDs, r.Header.Get("Last-Event-ID"))
		}
		return false
	}
	sleeps := 0
	c.SetSleep(func(context.Context, time.Duration) error { sleeps++; return nil })
	got := make(chan string)
	done := make(chan error, 1)
	begin := w.position(c.Saved().Secret)
	go func() {
		for e, err := range c.Events(ctx, begin) {
			if err != nil {
				done <- err
				return
			}
			got <- string(e.Data)
		}
	}()
	want := func(n int) {
		t.Helper()
		if text := <-got; text != fmt.Sprint(n) {
			t.Fatal(text, n)
		}
	}
	publish(1)
	want(1)
	w.server.CloseClientConnections()
	publish(2)
	publish(3)
	want(2)
	want(3)
	if len(lastIDs) < 3 || lastIDs[1] != begin || lastIDs[len(lastIDs)-1] == begin || sleeps == 0 {
		t.Error(lastIDs, sleeps)
	}
	s, err := c.Session(ctx)
	must(t, err)
	must(t, w.people.EndSession(ctx, w.root, s.ID, ""))
	w.server.CloseClientConnections()
	wantCode(t, <-done, "unauthorized")
}

// position is where the stream of events is now.
func (w *world) position(secret string) string {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", w.server.URL+"/v1/events", nil)
	must(w.t, err)
	r.Header.Set("Authorization", "Bearer "+secret)
	answer, err := w.server.Client().Do(r)
	must(w.t, err)
	defer answer.Body.Close()
	line, err := bufio.NewReader(answer.Body).ReadString('\n')
	must(w.t, err)
	return strings.TrimSpace(strings.TrimPrefix(line, "id: "))
}
