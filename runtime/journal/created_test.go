package journal_test

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// begins is a part that is about to be created.
func begins(seq int64, key string) states.Event {
	return states.Event{
		Seq: seq, Type: states.EventBegin, Address: address(key), Part: "file", Key: key, Action: states.Create,
		Resource: map[string]any{"path": key}, Requires: []string{"state.base"},
	}
}

func ends(seq int64, key string, outcome states.Outcome) states.Event {
	return states.Event{Seq: seq, Type: states.EventPart, Address: address(key), Part: "file", Key: key, Ensure: states.Present, Outcome: outcome}
}

func gone(seq int64, key string, outcome states.Outcome) states.Event {
	ev := ends(seq, key, outcome)
	ev.Ensure = states.Absent
	return ev
}

func address(key string) string { return "state.s#2.file." + strings.TrimPrefix(key, "/") }

// keys lists what a site holds, by creation; claims in parentheses.
func keys(h *journal.Holding) string {
	var out []string
	for _, c := range h.Entries() {
		key := c.Key
		if c.Claim {
			key = "(" + key + ")"
		}
		out = append(out, key)
	}
	return strings.Join(out, " ")
}

func TestHolding(t *testing.T) {
	for name, c := range map[string]struct {
		events []states.Event
		want   string
	}{
		"created":                {[]states.Event{begins(1, "/a"), ends(2, "/a", states.Changed)}, "/a"},
		"found in place":         {[]states.Event{ends(2, "/a", states.Unchanged), ends(3, "/b", states.Changed)}, ""},
		"failed":                 {[]states.Event{begins(1, "/a"), ends(2, "/a", states.Failed)}, ""},
		"unknown":                {[]states.Event{begins(1, "/a"), ends(2, "/a", states.Unknown)}, "/a"},
		"not ended":              {[]states.Event{begins(1, "/a")}, "/a"},
		"not ended, and resumed": {[]states.Event{begins(1, "/a"), {Type: states.EventResume}, ends(2, "/a", states.Unchanged)}, "/a"},
		"removed":                {[]states.Event{begins(1, "/a"), ends(2, "/a", states.Changed), gone(3, "/a", states.Changed)}, ""},
		"absent already":         {[]states.Event{begins(1, "/a"), ends(2, "/a", states.Changed), gone(3, "/a", states.Unchanged)}, ""},
		"not removed":            {[]states.Event{begins(1, "/a"), ends(2, "/a", states.Changed), gone(3, "/a", states.Failed)}, "/a"},
		"made anew": {[]states.Event{begins(1, "/a"), ends(2, "/a", states.Changed), begins(3, "/b"), ends(4, "/b", states.Changed),
			begins(5, "/a"), ends(6, "/a", states.Changed)}, "/b /a"},
		"forgotten": {[]states.Event{begins(1, "/a"), ends(2, "/a", states.Changed), {Type: states.EventForgotten, Part: "file", Key: "/a"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := journal.NewHolding("shop")
			for i := range c.events {
				h.Add("1", &c.events[i])
			}
			h.End("1")
			if got := keys(h); got != c.want {
				t.Errorf("holds %q, want %q", got, c.want)
			}
		})
	}
}

func TestFailedThoughMade(t *testing.T) {
	h := journal.NewHolding("shop")
	begin, end := begins(1, "/a"), ends(2, "/a", states.Failed)
	end.Resource = begin.Resource // the engine saw that it is there now
	h.Add("1", &begin)
	h.Add("1", &end)
	if keys(h) != "/a" {
		t.Errorf("holds %q", keys(h))
	}
}

// What a block had created is gone once the block is put back; what it had only
// changed is the site's still.
func TestWhatIsPutBackIsNotHeld(t *testing.T) {
	h := journal.NewHolding("shop")
	add := func(run string, list ...states.Event) {
		for i := range list {
			h.Add(run, &list[i])
		}
	}
	of := func(ev states.Event, id string) states.Event {
		ev.ID = id
		return ev
	}
	add("1", of(begins(1, "/old"), "1"), of(ends(2, "/old", states.Changed), "1"))
	add("2", of(ends(1, "/old", states.Changed), "1"), of(begins(2, "/new"), "2"), of(ends(3, "/new", states.Changed), "2"),
		of(begins(4, "/late"), "3"), of(ends(5, "/late", states.Changed), "3"),
		states.Event{Type: states.EventRestored, Key: "/new", ID: "2"}, states.Event{Type: states.EventRestored, Key: "/old", ID: "1"})
	if got := keys(h); got != "/old /late" {
		t.Errorf("holds %q", got)
	}
	add("3", states.Event{Type: states.EventRestored, Key: "/late", ID: "3", Run: "2"})
	if got := keys(h); got != "/old" {
		t.Errorf("holds %q", got)
	}
}

func TestHoldingIsRenamed(t *testing.T) {
	h := journal.NewHolding("shop")
	begin, end := begins(1, "/a"), ends(2, "/a", states.Changed)
	h.Add("1", &begin)
	h.Add("1", &end)
	if c := h.Entry("file", "/a"); c.Address != "state.s.file.a" || c.Run != "1" || c.Requires[0] != "state.base" || c.Values["path"] != "/a" {
		t.Errorf("%+v", c)
	}
	h.Moved([]states.Moved{{From: "state.s", To: "state.t"}})
	if c := h.Entry("file", "/a"); c.Address != "state.t.file.a" {
		t.Errorf("%+v", c)
	}
	again := ends(1, "/a", states.Unchanged)
	again.Address = "state.u.file.b"
	h.Add("2", &again)
	if c := h.Entry("file", "/a"); c.Address != "state.u.file.b" || c.Run != "1" {
		t.Errorf("%+v", c)
	}
}

func TestClaims(t *testing.T) {
	shop, blog := journal.NewHolding("shop"), journal.NewHolding("blog")
	for i, key := range []string{"/a", "/b"} {
		begin, end := begins(int64(2*i), key), ends(int64(2*i+1), key, states.Changed)
		shop.Add("1", &begin)
		shop.Add("1", &end)
	}
	declares := func(keys ...string) func(*journal.Created) bool {
		return func(c *journal.Created) bool { return strings.Contains(strings.Join(keys, " "), c.Key) }
	}
	blog.Claim([]*journal.Holding{shop}, declares("/b", "/c"))
	if keys(blog) != "(/b)" {
		t.Errorf("claims %q", keys(blog))
	}
	shop.Claim([]*journal.Holding{blog}, declares("/b")) // a claim is claimed by nobody
	if keys(shop) != "/a /b" {
		t.Errorf("holds %q", keys(shop))
	}
	blog.Claim([]*journal.Holding{shop}, declares("/c"))
	if keys(blog) != "" {
		t.Errorf("claims %q", keys(blog))
	}
}
