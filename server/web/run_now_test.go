package web

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/states"
)

// TestNow checks that what goes on is found however many lines ago it was begun, up to a bound that is told, and that what has ended is not among it.
func TestNow(t *testing.T) {
	begin := func(n int64, address string) map[string]any {
		return event(n, states.Event{Type: states.EventBegin, Address: address, Action: states.Execute})
	}
	end := func(n int64, address string) map[string]any {
		return event(n, states.Event{Type: states.EventPart, Address: address, Outcome: states.Changed})
	}
	p, f := newHost(t, access.AllGrants())
	const now = "<h2>Now"
	for _, c := range []struct {
		total int64
		note  string
	}{{2500, ""}, {5000, "of what was begun after line 1,000"}} {
		run := f.answers["/v1/hosts/web7/runs/0008"].(api.RunDetail)
		run.Lines = c.total
		f.answers["/v1/hosts/web7/runs/0008"] = run
		lines := "/v1/hosts/" + hostID + "/runs/0008/lines"
		f.answers[lines] = map[string]any{"total": c.total, "items": []any{}}
		piece := func(after int64, items ...any) {
			f.answers[fmt.Sprintf("%s?after=%d&limit=1000&type=begin&type=part", lines, max(0, after))] = map[string]any{"total": c.total, "items": items}
		}
		piece(c.total-1000, end(c.total-900, "command.across"), begin(c.total-800, "command.quick"), end(c.total-700, "command.quick"), begin(c.total-600, "command.newest"))
		piece(c.total-2000, begin(c.total-1500, "command.across"), begin(c.total-1400, "command.slow"), begin(c.total-10, "command.newest"))
		piece(c.total-3000, begin(c.total-2400, "command.slowest"))
		_, body, found := strings.Cut(has(t, p, "/hosts/web7/runs/0008"), now)
		body, _, _ = strings.Cut(body, "</section>")
		at := []int{strings.Index(body, "command.slowest"), strings.Index(body, "command.slow<"), strings.Index(body, "command.newest")}
		if !found || at[0] < 0 || at[1] < at[0] || at[2] < at[1] || strings.Count(body, "command.") != 3 {
			t.Errorf("of %d lines, now is:\n%s", c.total, body)
		}
		if strings.Contains(body, "of what was begun") != (c.note != "") || !strings.Contains(body, c.note) {
			t.Errorf("of %d lines, it does not say how far it was looked:\n%s", c.total, body)
		}
	}
}

// TestRestOfOutput checks that each output which is not all there leads to the rest of it, be it of what has failed or of a part with a short event.
func TestRestOfOutput(t *testing.T) {
	p, f := newHost(t, access.AllGrants())
	long := states.Event{Type: states.EventPart, Address: "command.long", Outcome: states.Failed, Output: strings.Repeat("line\n", maxOutLines+5)}
	for _, name := range []string{"web7", hostID} {
		f.answers["/v1/hosts/"+name+"/runs/0008/lines"] = map[string]any{"total": 40, "items": []any{event(3, long)}}
	}
	body := has(t, p, "/hosts/web7/runs/0008", `href="/hosts/web7/runs/0008/lines/3?from=200">5 more lines`)
	if strings.Contains(body, `href=""`) || strings.Count(body, "5 more lines") != 2 { // among what has failed, and among the parts
		t.Errorf("the rest is not led to:\n%s", body)
	}
	if body := has(t, p, "/hosts/web7/runs/0008/lines/3?from=200", `id="L3.201"`, `id="L3.205"`); strings.Contains(body, `id="L3.200"`) || strings.Contains(body, "more lines") {
		t.Errorf("the rest is:\n%s", body)
	}
}
