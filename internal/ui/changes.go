package ui

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/states"
)

// changes shows the attributes that differ, content as a unified diff.
func (t *text) changes(changes []states.Change) {
	for _, c := range changes {
		t.print("    ", c.Attribute)
		if c.Diff != "" {
			t.print("\n")
			t.diff(c.Diff)
			continue
		}
		switch {
		case c.From == nil:
			t.print(" = ", value(c.To))
			if c.WhenMade {
				t.print(t.dim(" " + WhenMade))
			}
		case c.To == nil:
			t.print(" was ", value(c.From))
		case isHidden(c.From) && isHidden(c.To):
			t.print(" ", hiddenValue)
		default:
			t.print(" ", value(c.From), t.dim(" → "), value(c.To))
		}
		t.print("\n")
	}
}

// WhenMade stands behind a value that is given only when the resource is made.
const WhenMade = "(when made)"

// hiddenValue stands where a sensitive value was.
const hiddenValue = "(sensitive)"

func isHidden(v any) bool {
	s, ok := v.(string)
	return ok && s == hiddenValue
}

// diff shows a unified diff, indented.
func (t *text) diff(diff string) {
	for line := range strings.SplitAfterSeq(diff, "\n") {
		if line == "" {
			continue
		}
		text := "      " + clean(strings.TrimSuffix(line, "\n"))
		switch line[0] {
		case '+':
			text = t.green(text)
		case '-':
			text = t.red(text)
		case '@', '\\':
			text = t.dim(text)
		}
		t.print(text, "\n")
	}
}

// value shows a plain value: strings as they are where that is clear.
func value(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		if v == "" || strings.ContainsAny(v, " \t\n\"") && v != hiddenValue && v != states.KnownAfterApply && !strings.Contains(v, ", sha256:") {
			return clean(fmt.Sprintf("%q", v))
		}
		return clean(v)
	case []any:
		words := make([]string, len(v))
		for i, e := range v {
			words[i] = value(e)
		}
		return "[" + strings.Join(words, ", ") + "]"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return clean(fmt.Sprint(v))
	}
	return clean(string(text))
}

// Value shows a plain value as Text does.
func Value(v any) string { return value(v) }

// indent puts a prefix before each line, and a newline at the end.
func indent(text, prefix string) string {
	text = strings.TrimRight(text, "\n")
	return prefix + strings.ReplaceAll(text, "\n", "\n"+prefix) + "\n"
}
