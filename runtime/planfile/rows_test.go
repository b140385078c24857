package planfile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/states"
)

func TestHostDiffers(t *testing.T) {
	plan := planfile.Host{Name: "web", Hostname: "web1", Machine: "abc", Root: "/tree"}
	for _, c := range []struct {
		now  planfile.Host
		want string
	}{
		{plan, ""},
		{planfile.Host{Name: "other", Hostname: "web1", Machine: "abc", Root: "/tree/"}, ""},
		{planfile.Host{Hostname: "web2", Machine: "abc", Root: "/tree"}, "web2"},
		{planfile.Host{Hostname: "web1", Machine: "def", Root: "/tree"}, "def"},
		{planfile.Host{Hostname: "web1", Root: "/tree"}, "(none)"},
		{planfile.Host{Hostname: "web1", Machine: "abc"}, "the root /tree, this is (none)"},
	} {
		if got := plan.Differs(c.now); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%v differs in %q, want %q", c.now, got, c.want)
		}
	}
}

// A program that a dead run has left may end by itself, or start others, before the
// plan is applied.
func TestCompareLeftovers(t *testing.T) {
	part := states.Event{Type: states.EventUnknown, Address: "a", Run: "1"}
	left := func(key string) states.Event {
		return states.Event{Type: states.EventCleaned, Address: "a", Run: "1", Key: key}
	}
	planned := []states.Event{part, left("process 7 8")}
	for _, now := range [][]states.Event{{part}, {part, left("process 7 9")}, {part, left("process 7 8"), left("/x/.tenet-1-2")}} {
		if list, err := planfile.Compare(planned, now); err != nil || len(list) > 0 {
			t.Errorf("%v: %v, %v", now, list, err)
		}
	}
	if list, err := planfile.Compare(planned, nil); err != nil || len(list) != 1 || list[0].Address() != "a" {
		t.Errorf("the part itself is missed: %v, %v", list, err)
	}
}

// Rows differ in anything but times and order.
func TestCompare(t *testing.T) {
	base := func() []states.Event {
		return []states.Event{
			{Type: states.EventStart, Address: "state.h", Owed: []states.Debt{{Handler: "state.h", Run: "1", Since: time.Now()}}},
			{Type: states.EventPart, Address: "a", Invocation: "a", Action: states.Update, Certain: new(false), Reason: "r", Changes: []states.Change{{Attribute: "x", From: "1", To: "2", Diff: "d"}}},
			{Type: states.EventOrphan, Part: "file", Key: "/x"}, {Type: states.EventOrphan, Part: "file", Key: "/y"},
			{Type: states.EventUnknown, Address: "a", Run: "1"}, {Type: states.EventUnknown, Address: "a", Run: "1"},
		}
	}
	now := base()
	for i := range now {
		now[i].Seq, now[i].Time, now[i].Duration = 7, time.Now(), 9
	}
	now[0].Owed[0].Since = time.Time{}
	slices.Reverse(now[1:4])
	if diffs, err := planfile.Compare(base(), now); err != nil || len(diffs) > 0 {
		t.Errorf("the same rows differ: %v, %v", diffs, err)
	}
	for name, c := range map[string]struct {
		change func([]states.Event) []states.Event
		same   bool // act
	}{
		"action":    {func(l []states.Event) []states.Event { l[1].Action = states.Create; return l }, false},
		"certainty": {func(l []states.Event) []states.Event { l[1].Certain = new(true); return l }, true},
		"reason":    {func(l []states.Event) []states.Event { l[1].Reason = "other"; return l }, true},
		"value":     {func(l []states.Event) []states.Event { l[1].Changes[0].From = "0"; return l }, false},
		"diff":      {func(l []states.Event) []states.Event { l[1].Changes[0].Diff = "e"; return l }, false},
		"debt":      {func(l []states.Event) []states.Event { l[0].Owed[0].Notifier = "x"; return l }, false},
		"one more": {func(l []states.Event) []states.Event {
			return append(l, states.Event{Type: states.EventUnknown, Address: "a", Run: "1"})
		}, false},
		"one less":   {func(l []states.Event) []states.Event { return l[:5] }, false},
		"another":    {func(l []states.Event) []states.Event { l[2].Key = "/z"; return l }, false},
		"output":     {func(l []states.Event) []states.Event { l[1].Output = "x"; return l }, false},
		"the reason": {func(l []states.Event) []states.Event { l[4].Reason = "x"; return l }, false},
	} {
		diffs, err := planfile.Compare(base(), c.change(base()))
		if err != nil || len(diffs) == 0 {
			t.Errorf("%s: %v, %v", name, diffs, err)
		}
		if same := !slices.ContainsFunc(diffs, func(d machine.Difference) bool { return !planfile.SameAct(d) }); same != c.same {
			t.Errorf("%s: the same act: %t", name, same)
		}
	}
}

// A change of any row is found, and named with its address.
func TestCompareFindsAnyChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := make([]states.Event, rapid.IntRange(1, 20).Draw(t, "rows"))
		for i := range rows {
			rows[i] = states.Event{Type: states.EventPart, Address: fmt.Sprint("a", rapid.IntRange(0, 9).Draw(t, "address")), Action: states.Update}
		}
		other := slices.Clone(rows)
		i := rapid.IntRange(0, len(rows)-1).Draw(t, "which")
		other[i].Action = states.Remove
		diffs, err := planfile.Compare(rows, other)
		if err != nil || len(diffs) != 1 || diffs[0].Address() != rows[i].Address {
			t.Errorf("%v, %v", diffs, err)
		}
	})
}

// The row of a file that would be removed tells one file from another one.
func TestObserve(t *testing.T) {
	h := host.NewMemory()
	observed := func(ev states.Event) string {
		planfile.Observe(&ev, h)
		return fmt.Sprint(ev.Changes)
	}
	row := states.Event{Type: states.EventPart, Address: "file.a", Action: states.Remove, Key: "/a", Changes: []states.Change{{Attribute: "mode", From: "0644"}}}
	if got := observed(row); strings.Contains(got, "bytes") {
		t.Errorf("nothing is there: %s", got)
	}
	if err := h.WriteFile(t.Context(), "/a", host.Text("one"), host.Meta{}); err != nil {
		t.Fatal(err)
	}
	before := observed(row)
	if before != observed(row) || !strings.Contains(before, "3 bytes, changed ") || len(row.Changes) != 1 {
		t.Errorf("a file: %s", before)
	}
	if err := h.WriteFile(t.Context(), "/a", host.Text("three"), host.Meta{}); err != nil {
		t.Fatal(err)
	}
	if after := observed(row); after == before {
		t.Errorf("another file is the same: %s", after)
	}
	row.Action = states.Update
	if got := observed(row); strings.Contains(got, "bytes") {
		t.Errorf("an update: %s", got)
	}
}
