package sessions_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/server/sessions"
)

// streamText gives the stream of all hosts after a number, in short.
func streamText(t *testing.T, s *sessions.Sessions, after int64) string {
	t.Helper()
	var text []string
	for {
		list, _, last, err := s.Stream(t.Context(), after)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range list {
			text = append(text, fmt.Sprintf("%d %s %s/%d %s", one.Number, one.Kind, one.Stream, one.Sequence, one.Site))
			if one.Number != after+1 {
				t.Fatalf("after %d comes %d", after, one.Number)
			}
			after = one.Number
		}
		if after >= last {
			return strings.Join(text, "\n")
		}
	}
}

// What hosts tell is one stream in the order in which it was taken in, each item once; what a batch tells again is not in it again, and numbers go on after
// all that was removed.
func TestStreamOfAllHosts(t *testing.T) {
	f := newFleet(t)
	_, a := f.raw("web1")
	_, b := f.raw("web2")
	one, two := a.hello(5), b.hello(5)
	event := func(site string) []byte {
		return item(t, control.Item{Event: &control.Event{Site: site, Run: "r", Event: json.RawMessage(`{"seq":1}`)}})
	}
	run := item(t, control.Item{Run: &control.Run{Run: "r", Site: "shop", Started: time.Now()}})
	woken := f.sessions.Streamed()
	a.send(&control.Batch{Session: one, Stream: "raw", First: 1, Last: 2, Items: [][]byte{run, event("shop")}})
	answer[*control.Stored](a)
	select {
	case <-woken:
	case <-time.After(10 * time.Second):
		t.Error("nobody is woken")
	}
	b.send(&control.Batch{Session: two, Stream: "raw", First: 1, Last: 2, Items: [][]byte{item(t, control.Item{Outputs: &control.Outputs{Site: "shop"}}), event("mail")}})
	answer[*control.Stored](b)
	a.send(&control.Batch{Session: one, Stream: "raw", First: 1, Last: 2, Items: [][]byte{run, event("shop")}}) // again
	answer[*control.Stored](a)
	a.send(&control.Batch{Session: one, Stream: "raw", First: 3, Last: 6, Gap: true})
	answer[*control.Stored](a)
	const want = "1 run raw/1 shop\n2 event raw/2 shop\n3 event raw/2 mail\n4 gap raw/6 "
	if got := streamText(t, f.sessions, 0); got != want {
		t.Errorf("%s", got)
	}
	if got := streamText(t, f.sessions, 2); got != want[strings.Index(want, "3 "):] {
		t.Errorf("%s", got)
	}
	if err := f.sessions.Sweep(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	b.send(&control.Batch{Session: two, Stream: "raw", First: 3, Last: 3, Items: [][]byte{event("mail")}})
	answer[*control.Stored](b)
	if got := streamText(t, f.sessions, 3); got != "4 gap raw/6 \n5 event raw/3 mail" {
		t.Errorf("%s", got)
	}
	if _, first, last, err := f.sessions.Stream(t.Context(), 0); err != nil || first != 4 || last != 5 {
		t.Errorf("%d to %d, %v", first, last, err)
	}
}
