package ui_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// showPlans shows plans: that of host i is rows(i).
func showPlans(t *testing.T, o ui.FleetOptions, hosts int, rows func(i int) []states.Event) string {
	t.Helper()
	var out bytes.Buffer
	o.Out, o.Err, o.Plan, o.Saved = &out, &out, true, true
	for i := range hosts {
		o.Hosts = append(o.Hosts, fmt.Sprintf("web%04d", i))
	}
	f := ui.NewFleet(o)
	var outcomes []fleet.Outcome
	for i, name := range o.Hosts {
		f.Prepared(name, &machine.Job{Run: &states.StateRun{}})
		for _, ev := range rows(i) {
			f.Event(name, ev)
		}
		end := fleet.Outcome{Machine: name, Status: fleet.Done, Result: &machine.Result{Counts: states.Counts{Changed: 1}}}
		f.Ended(name, end)
		outcomes = append(outcomes, end)
	}
	if err := f.Close(outcomes); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// fileRow would write a text into a file.
func fileRow(path, text string) states.Event {
	return states.Event{Type: states.EventPart, Address: fmt.Sprintf("file[%q]", path), Invocation: fmt.Sprintf("file[%q]", path), ID: text, Part: "file", Key: path,
		Action: states.Update, Certain: new(true), Changes: []states.Change{{Attribute: "content", From: "x", To: text, Diff: "@@ -1 +1 @@\n-old\n+" + strings.ReplaceAll(text, "\n", "\n+") + "\n"}}}
}

// likePlaceholders is what placeholders begin with, so that it can be mistaken for one.
const likePlaceholders = "⟦0·0⟧ ⟨…⟩"

func TestThousandHostsFitOnAScreen(t *testing.T) {
	rows := func(i int) []states.Event {
		return []states.Event{fileRow("/etc/motd", "A machine of the shop."), fileRow("/etc/shop.conf", fmt.Sprintf("[shop] "+likePlaceholders+"\nlisten = 10.0.%d.%d port 80", i/256, i%256)),
			{Type: states.EventPart, Address: "service.shop", Part: "service", Action: states.Update, Certain: new(true), Changes: []states.Change{{Attribute: "running", From: false, To: true}}}}
	}
	text := showPlans(t, ui.FleetOptions{}, 1000, rows)
	height := 0
	for line := range strings.Lines(text) {
		height += 1 + (len([]rune(line))-2)/80
	}
	if height > 24 {
		t.Errorf("it takes %d lines:\n%s", height, text)
	}
	want := `all 1000 hosts:
  ~ file["/etc/motd"]
      content
        @@ -1 +1 @@
        -old
        +A machine of the shop.
  ~ file["/etc/shop.conf"]
      content
        @@ -1 +1 @@
        -old
        +[shop] ` + likePlaceholders + `
        +listen = ⟨…⟩ port 80
          web0000: 10.0.0.0; web0001: 10.0.0.1; web0002: 10.0.0.2; web0003: 10.0.0.3; and 996 more (-v shows all)
  ~ service.shop
      running false → true
  3 update

1000 hosts: 3000 update
`
	if text != want {
		t.Errorf("it is\n%s", text)
	}
	text = showPlans(t, ui.FleetOptions{Verbose: true}, 1000, rows)
	for i := range 1000 {
		if line := fmt.Sprintf("web%04d: 10.0.%d.%d\n", i, i/256, i%256); !strings.Contains(text, " "+line) {
			t.Fatalf("%q is not in it", line)
		}
	}
	text = showPlans(t, ui.FleetOptions{Summary: true}, 1000, rows)
	if n := strings.Count(text, "  3 update\n"); n != 1000 || strings.Count(text, "\n") != 1001 {
		t.Errorf("%d hosts have a line in\n%s", n, text)
	}
}

// Whatever differs, and however much: a row remains a few lines, and -v shows all.
func TestPlansThatDifferMuch(t *testing.T) {
	shape := func(i int) []states.Event { return []states.Event{fileRow("/etc/hosts", strings.Repeat("line\n", i))} }
	text := showPlans(t, ui.FleetOptions{}, 500, shape)
	if !strings.Contains(text, `~ file["/etc/hosts"]  in 497 other ways (-v shows each)`) || strings.Count(text, "\n") > 40 {
		t.Errorf("500 ways:\n%s", text)
	}
	if text := showPlans(t, ui.FleetOptions{Verbose: true}, 500, shape); strings.Count(text, "~ file") != 500 {
		t.Errorf("500 ways with -v: %d", strings.Count(text, "~ file"))
	}
	keys := func(i int) []states.Event {
		return []states.Event{fileRow("/etc/keys", strings.Repeat(fmt.Sprintf("key%d\n", i), 50))}
	}
	text = showPlans(t, ui.FleetOptions{}, 500, keys)
	if !strings.Contains(text, "(-v shows the values of this line and of those below)") || strings.Count(text, "\n") > 70 {
		t.Errorf("50 lines:\n%s", text)
	}
	long := func(i int) []states.Event {
		return []states.Event{fileRow("/etc/long", strings.Repeat(fmt.Sprint(i%2), 1000))}
	}
	if text := showPlans(t, ui.FleetOptions{}, 500, long); len(text) > 2000 {
		t.Errorf("a long value:\n%s", text)
	}
	if text := showPlans(t, ui.FleetOptions{Verbose: true}, 500, long); strings.Count(text, strings.Repeat("1", 1000)) != 1 {
		t.Errorf("a long value with -v:\n%.3000s", text)
	}
}

// Values that are no texts, and words of which only a part is the same.
func TestValuesThatDiffer(t *testing.T) {
	for _, c := range []struct {
		from, to [2]any
		want     string
	}{
		{[2]any{1, 2}, [2]any{3, 3}, "x ⟨…⟩ → 3\n        web0000: 1; web0001: 2\n"},
		{[2]any{"a", "b"}, [2]any{true, false}, "x ⟨…⟩ → ⟨…⟩\n        web0000: a; web0001: b\n        web0000: true; web0001: false\n"},
		{[2]any{"of web1 here", "of web2 here"}, [2]any{"z", "z"}, "x \"of ⟨…⟩ here\" → z\n        web0000: web1; web0001: web2\n"},
		{[2]any{"web-1a", "web-2a"}, [2]any{"", "q"}, "x ⟨…⟩ → ⟨…⟩\n        web0000: web-1a; web0001: web-2a\n        web0000: \"\"; web0001: q\n"},
		{[2]any{"aa", "aaa"}, [2]any{"ü", "ö"}, "x ⟨…⟩ → ⟨…⟩\n        web0000: aa; web0001: aaa\n        web0000: ü; web0001: ö\n"},
		{[2]any{"\x1b[2J", "\x07"}, [2]any{"z", "z"}, "x ⟨…⟩ → z\n        web0000: ^[[2J; web0001: ^G\n"},
		{[2]any{[]any{"a", "b"}, []any{"a", "c"}}, [2]any{"z", "z"}, "x [a, ⟨…⟩] → z\n        web0000: b; web0001: c\n"},
	} {
		text := showPlans(t, ui.FleetOptions{}, 2, func(i int) []states.Event {
			return []states.Event{{Type: states.EventPart, Address: "part", Action: states.Update, Certain: new(true), Changes: []states.Change{{Attribute: "x", From: c.from[i], To: c.to[i]}}}}
		})
		if !strings.Contains(text, c.want) {
			t.Errorf("%v → %v is\n%swant\n%s", c.from, c.to, text, c.want)
		}
	}
}
