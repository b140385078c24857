package web

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/states"
)

// TestLogOfControls checks that the log shows control characters by their codes, wherever in an event a host has put them: what is on
// the page does nothing to the terminal into which somebody copies it, and no line passes for another one.
func TestLogOfControls(t *testing.T) {
	const evil = "a\x1b[31mred\x1b]0;title\x07 b\x00c\rd\u202ee\u009bf\x7fg\u200eh"
	const shown = "a^[[31mred^[]0;title^G b^@c^Md"
	ev := states.Event{Type: "part" + evil, Address: "1" + evil, Action: states.Action("2" + evil), Reason: "3" + evil, Output: "4" + evil + "\nplain\n5" + evil,
		Error: &states.Failure{Code: "c", Message: "6" + evil, Hint: "7" + evil}}
	begin := states.Event{Type: states.EventBegin, Action: states.Action("8" + evil)}
	p, f := newHost(t, access.AllGrants())
	for _, name := range []string{"web7", hostID} {
		f.answers["/v1/hosts/"+name+"/runs/0008/lines"] = map[string]any{"total": 40, "items": []any{event(3, ev), event(4, begin), map[string]any{"line": 5, "event": json.RawMessage(`"9a\u001b[31m` + strings.Repeat("é", maxRowBytes) + `"`)}}}
	}
	body := has(t, p, "/hosts/web7/runs/0008?view=log")
	for _, place := range []string{"1", "3", "4", "5", "6", "7", "8"} {
		if !strings.Contains(body, place+shown) {
			t.Errorf("the log lacks %q", place+shown)
		}
	}
	if !strings.Contains(body, `9a\u001b[31m`) || strings.Contains(body, strings.Repeat("é", maxRowBytes/2+1)) {
		t.Error("what is no event is not shown as it came, up to its limit")
	}
	if i := strings.IndexAny(body, "\x1b\x07\x00\r\u202e\u009b\x7f\u200e"); i >= 0 {
		t.Errorf("the log has a control character: %q", body[max(0, i-40):i+10])
	}
	// As one line of the log, too, which has all of the output.
	if body := has(t, p, "/hosts/web7/runs/0008/lines/3"); strings.ContainsAny(body, "\x1b\x07\x00\r\u202e\u009b\x7f\u200e") || !strings.Contains(body, "4"+shown) {
		t.Errorf("the line has a control character:\n%q", body)
	}
}
