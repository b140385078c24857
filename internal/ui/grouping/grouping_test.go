package grouping_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/internal/ui/grouping"
	"github.com/tenetcm/tenet/states"
)

func group(t testing.TB, plans ...[]states.Event) []grouping.Row {
	t.Helper()
	rows, err := grouping.Group(plans)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// motd would be written with a text.
func motd(text string) states.Event {
	return states.Event{Type: states.EventPart, Address: "file.motd", Invocation: "file.motd", Part: "file", Key: "/etc/motd", Action: states.Create, Certain: new(true),
		Changes: []states.Change{{Attribute: "content", From: nil, To: text, Diff: "@@ -0,0 +1,2 @@\n+one\n+" + text + "\n"}, {Attribute: "mode", To: "0644"}}}
}

func TestWhatIsTheSameIsOneRow(t *testing.T) {
	rows := group(t, []states.Event{motd("a")}, nil, []states.Event{motd("a")})
	if len(rows) != 1 || !slices.Equal(rows[0].Hosts, []int{0, 2}) || len(rows[0].Fields) != 0 {
		t.Errorf("%+v", rows)
	}
}

func TestWhatDiffersInValuesIsOneRow(t *testing.T) {
	rows := group(t, []states.Event{motd("a")}, []states.Event{motd("b")}, []states.Event{motd("a")})
	if len(rows) != 1 || !slices.Equal(rows[0].Hosts, []int{0, 1, 2}) {
		t.Fatalf("%+v", rows)
	}
	for i, want := range []string{"changes.0.diff.2 [+a +b +a]", "changes.0.to [a b a]"} {
		f := rows[0].Fields[i]
		if got := fmt.Sprint(f.Path, " ", f.Values); got != want {
			t.Errorf("it differs in %s, want %s", got, want)
		}
	}
	if ev, err := rows[0].Of(1); err != nil || ev.Changes[0].Diff != motd("b").Changes[0].Diff {
		t.Errorf("the second one is %+v, %v", ev, err)
	}
	ev, err := rows[0].With(func(*grouping.Field) any { return "…" })
	if err != nil || ev.Changes[0].Diff != "@@ -0,0 +1,2 @@\n+one\n…\n" || ev.Changes[1].To != "0644" {
		t.Errorf("with others it is %+v, %v", ev, err)
	}
}

// What would be something else with the same part is a row of its own, about the same.
func TestWhatWouldBeDoneDoesNotDiffer(t *testing.T) {
	base := motd("a")
	for name, change := range map[string]func(*states.Event){
		"action":           func(ev *states.Event) { ev.Action = states.Update },
		"outcome":          func(ev *states.Event) { ev.Outcome = states.Failed },
		"certainty":        func(ev *states.Event) { ev.Certain = new(false) },
		"attribute":        func(ev *states.Event) { ev.Changes[1].Attribute = "owner" },
		"one more":         func(ev *states.Event) { ev.Changes = ev.Changes[:1] },
		"something before": func(ev *states.Event) { ev.Changes[1].From = "0600" },
		"a number":         func(ev *states.Event) { ev.Changes[1].To = 420 },
		"a line more":      func(ev *states.Event) { ev.Changes[0].Diff += "+three\n" },
		"a line removed":   func(ev *states.Event) { ev.Changes[0].Diff = "@@ -0,0 +1,2 @@\n-one\n+a\n" },
		"no line":          func(ev *states.Event) { ev.Changes[0].Diff = "s\nl\"l\n" },
		"a count":          func(ev *states.Event) { ev.Attempt = 2 },
		"a code":           func(ev *states.Event) { ev.Error = &states.Failure{Code: "x"} },
	} {
		other := motd("a")
		change(&other)
		rows := group(t, []states.Event{base}, []states.Event{other})
		if len(rows) != 2 || rows[0].Subject != rows[1].Subject {
			t.Errorf("%s: %+v", name, rows)
		}
	}
	other := motd("a")
	other.Address = "file.other"
	if rows := group(t, []states.Event{base}, []states.Event{other}); len(rows) != 2 || rows[0].Subject == rows[1].Subject {
		t.Errorf("another part: %+v", rows)
	}
}

// Rows stand in the order of the plans, as far as these agree.
func TestOrder(t *testing.T) {
	plan := func(addresses ...string) (rows []states.Event) {
		for _, a := range addresses {
			rows = append(rows, states.Event{Type: states.EventPart, Address: a})
		}
		return rows
	}
	var got []string
	for _, r := range group(t, plan("a", "c"), plan("a", "b", "c", "d"), plan("d", "e"), plan("c", "a"), plan("a", "a")) {
		got = append(got, r.Row.Address)
	}
	if want := []string{"a", "a", "b", "c", "d", "e"}; !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
}

// events are rows of any kind, with few addresses and texts, so that many are alike.
func events() *rapid.Generator[states.Event] {
	word := rapid.SampledFrom([]string{"", "a", "b", "10.0.0.1", "two\nlines", "one\ntwo\nthree", "l", `s"`, "(sensitive)"})
	value := rapid.OneOf(rapid.Just[any](nil), rapid.Map(word, func(s string) any { return s }), rapid.Map(rapid.IntRange(0, 2), func(n int) any { return n }),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }), rapid.Map(rapid.SliceOfN(word, 0, 2), func(l []string) any {
			out := []any{}
			for _, s := range l {
				out = append(out, s)
			}
			return out
		}), rapid.Map(rapid.MapOfN(rapid.SampledFrom([]string{"x", "x.y", "0"}), word, 0, 2), func(m map[string]string) any { return m }))
	return rapid.Custom(func(t *rapid.T) states.Event {
		ev := states.Event{
			Type:    rapid.SampledFrom([]string{states.EventPart, states.EventOrphan, states.EventStart}).Draw(t, "type"),
			Address: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "address"), Key: word.Draw(t, "key"), Reason: word.Draw(t, "reason"),
			Action: rapid.SampledFrom([]states.Action{"", states.Create, states.Update}).Draw(t, "action"), Output: word.Draw(t, "output"),
		}
		for range rapid.IntRange(0, 2).Draw(t, "changes") {
			ev.Changes = append(ev.Changes, states.Change{Attribute: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "attribute"),
				From: value.Draw(t, "from"), To: value.Draw(t, "to"), Diff: rapid.SampledFrom([]string{"", "@@\n-a\n+b\n", "@@\n-a\n+c\n", "@@\n+a\n+b", "l\nl", "\n\n"}).Draw(t, "diff")})
		}
		if rapid.Bool().Draw(t, "fails") {
			ev.Error = &states.Failure{Code: word.Draw(t, "code"), Message: word.Draw(t, "message"), Source: word.Draw(t, "source")}
		}
		for range rapid.IntRange(0, 2).Draw(t, "debts") {
			ev.Owed = append(ev.Owed, states.Debt{Run: word.Draw(t, "run"), Since: time.Unix(int64(rapid.IntRange(0, 2).Draw(t, "since")), 0).UTC()})
		}
		if rapid.Bool().Draw(t, "resource") {
			ev.Resource = map[string]any{"x.y": value.Draw(t, "dotted"), "x": map[string]any{"y": value.Draw(t, "nested")}}
		}
		return ev
	})
}

// Whatever hosts say: what is put together comes apart again as it was, also from its JSON, each row is of each host
// once, and no two rows of a subject could be one.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plans := rapid.SliceOfN(rapid.SliceOfN(events(), 0, 5), 1, 5).Draw(t, "plans")
		rows, err := grouping.Group(plans)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(text(t, rows)), &rows); err != nil {
			t.Fatal(err)
		}
		back, err := grouping.Ungroup(rows, len(plans))
		if err != nil {
			t.Fatal(err)
		}
		for i := range plans {
			if got, want := text(t, back[i]), text(t, plans[i]); got != want && len(plans[i]) > 0 {
				t.Fatalf("host %d: %s, want %s", i, got, want)
			}
		}
		whole := map[string]bool{}
		for _, r := range rows {
			for _, f := range r.Fields {
				if len(f.Values) != len(r.Hosts) || !slices.ContainsFunc(f.Values, func(v any) bool { return v != f.Values[0] }) {
					t.Fatalf("it differs in %+v, and does not", f)
				}
			}
			if one := fmt.Sprint(r.Subject, text(t, r.Row)); whole[one] {
				t.Fatalf("%s stands there twice", one)
			} else {
				whole[one] = true
			}
		}
	})
}

// What somebody sends in place of rows of plans is refused, and takes no memory.
func TestForgedRows(t *testing.T) {
	for _, data := range []string{
		`[{"row": {"address": "a"}, "hosts": [0], "at": []}]`,
		`[{"row": {"address": "a"}, "hosts": [7], "at": [0]}]`,
		`[{"row": {"address": "a"}, "hosts": [-1], "at": [0]}]`,
		`[{"row": {"address": "a"}, "hosts": [0], "at": [1]}]`,
		`[{"row": {"address": "a"}, "hosts": [0], "at": [1000000000000]}]`,
		`[{"row": {"address": "a"}, "hosts": [0], "at": [-1]}]`,
		`[{"row": {"address": "a"}, "hosts": [0], "at": [0], "fields": [{"path": "reason", "values": ["x"]}]}]`,
		`[{"row": {"address": "a", "reason": "r"}, "hosts": [0], "at": [0], "fields": [{"path": "reason", "values": []}]}]`,
		`[{"row": {"address": "a", "reason": "r"}, "hosts": [0], "at": [0], "fields": [{"path": "reason", "values": [{"deep": 1}]}]}]`,
	} {
		var rows []grouping.Row
		err := json.Unmarshal([]byte(data), &rows)
		if err == nil {
			_, err = grouping.Ungroup(rows, 1)
		}
		if err == nil {
			t.Errorf("%s is taken for rows", data)
		}
	}
}

func text(t interface{ Fatal(...any) }, v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
