package moduletest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"pgregory.net/rapid"
)

// settingTree is a plain model of a document: leaves are texts, numbers and booleans.
type settingTree = map[string]any

func drawTree(t *rapid.T, depth int) settingTree {
	out := settingTree{}
	for range rapid.IntRange(0, 3).Draw(t, "members") {
		name := rapid.SampledFrom([]string{"a", "b", "c", "d e", "f.g"}).Draw(t, "name")
		if depth > 0 && rapid.Bool().Draw(t, "below") {
			out[name] = drawTree(t, depth-1)
		} else {
			out[name] = drawLeaf(t)
		}
	}
	return out
}

func drawLeaf(t *rapid.T) any {
	return rapid.OneOf(
		rapid.Just[any](true), rapid.Map(rapid.IntRange(0, 99), func(n int) any { return n }),
		rapid.Map(rapid.StringMatching(`[a-zß#/{},="]{0,5}`), func(s string) any { return s }),
	).Draw(t, "leaf")
}

// drawPath names something that is there, or could be.
func drawPath(t *rapid.T, in settingTree) []string {
	var path []string
	for {
		keys := append(slices.Sorted(maps.Keys(in)), "new")
		keys = slices.DeleteFunc(keys, func(name string) bool { return name == "list" }) // of tables
		name := rapid.SampledFrom(keys).Draw(t, "step")
		path = append(path, name)
		below, ok := in[name].(settingTree)
		if !ok {
			if name == "new" && rapid.IntRange(0, 2).Draw(t, "deeper") == 0 {
				path = append(path, "x", "y")
			}
			return path
		}
		if len(below) == 0 {
			return append(path, "new")
		}
		in = below
	}
}

// changed is the model with another value; nil: without it.
func changed(in settingTree, path []string, value any) settingTree {
	out := maps.Clone(in)
	switch {
	case len(path) > 1:
		below, _ := out[path[0]].(settingTree)
		if below == nil {
			below = settingTree{}
		}
		out[path[0]] = changed(below, path[1:], value)
	case value == nil:
		delete(out, path[0])
	default:
		out[path[0]] = value
	}
	return out
}

// settingPlain is a document in a form that can be compared, less its empty maps.
func settingPlain(t *rapid.T, v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	empty := regexp.MustCompile(`"(a|b|c|d e|f\.g|new|x)":\{\},?|,"(a|b|c|d e|f\.g|new|x)":\{\}`)
	text := string(data)
	for {
		next := strings.ReplaceAll(empty.ReplaceAllString(text, ""), ",}", "}")
		if next == text {
			return text
		}
		text = next
	}
}

// quoted writes a path as a key.
func quoted(path []string) string {
	parts := make([]string, len(path))
	for i, name := range path {
		parts[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(parts, ".")
}

// drawEnds gives each line an end, of one kind or of both.
func drawEnds(t *rapid.T, text string) string {
	kind := rapid.SampledFrom([]string{"\n", "\r\n", "mixed"}).Draw(t, "ends")
	var b strings.Builder
	for line := range strings.SplitAfterSeq(text, "\n") {
		end := kind
		if kind == "mixed" {
			end = rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")
		}
		b.WriteString(strings.Replace(line, "\n", end, 1))
	}
	return rapid.SampledFrom([]string{"", "\ufeff"}).Draw(t, "BOM") + b.String()
}

// linesLost is how many lines of a text are not in another one, in the same order and
// with the same ends.
func linesLost(before, after string) int {
	a, b := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	row := make([]int, len(b)+1)
	for _, line := range a {
		diagonal := 0
		for k := range b {
			above := row[k+1]
			row[k+1] = max(above, row[k])
			if line == b[k] {
				row[k+1] = diagonal + 1
			}
			diagonal = above
		}
	}
	return len(a) - row[len(b)]
}

// sameTree fails unless the new text has just the change, and all other lines.
func sameTree(t *rapid.T, format string, model settingTree, before string, read func(string) (any, error), lost int) {
	path := drawPath(t, model)
	old := any(model)
	for _, name := range path {
		if in, ok := old.(settingTree); ok {
			old = in[name]
		} else {
			old = nil
		}
	}
	value := drawLeaf(t)
	if old != nil && rapid.Bool().Draw(t, "remove") {
		value = nil
	}
	if is, err := read(strings.TrimPrefix(before, "\ufeff")); err != nil || settingPlain(t, is) != settingPlain(t, model) {
		t.Fatalf("the test itself is wrong: %q reads as %v, %v, not %v", before, is, err, model)
	}
	after, err := editSetting(t, format, before, quoted(path), value, nil)
	if err != nil {
		t.Fatalf("%s = %v in %q: %v", quoted(path), value, before, err)
	}
	if value != nil {
		lost = 1 // the line with the value, or the one that gets a comma
	}
	want := changed(model, path, value)
	is, err := read(strings.TrimPrefix(after, "\ufeff"))
	if err != nil || settingPlain(t, is) != settingPlain(t, want) {
		t.Fatalf("%s = %v: %q became %q: %v, %v", quoted(path), value, before, after, is, err)
	}
	if n := linesLost(strings.TrimPrefix(before, "\ufeff"), strings.TrimPrefix(after, "\ufeff")); n > lost {
		t.Fatalf("%s = %v: %d other lines changed: %q became %q", quoted(path), value, n, before, after)
	}
	if strings.HasPrefix(before, "\ufeff") != strings.HasPrefix(after, "\ufeff") || strings.Count(after, "\ufeff") > 1 {
		t.Fatalf("the mark: %q became %q", before, after)
	}
	bare := strings.ReplaceAll(before, "\r\n", "")
	if strings.Contains(before, "\r\n") && !strings.Contains(bare, "\n") && strings.Contains(strings.ReplaceAll(after, "\r\n", ""), "\n") {
		t.Fatalf("mixed line ends: %q became %q", before, after)
	}
}

var comments = regexp.MustCompile(`(?m)//c\d+\r?$|/\*c\d+\*/`)

// readJSON reads JSON with comments of the kind that drawJSON makes.
func readJSON(text string) (v any, err error) {
	text = comments.ReplaceAllString(text, "")
	text = regexp.MustCompile(`,(\s*[}\]])`).ReplaceAllString(text, "$1")
	return v, json.Unmarshal([]byte(text), &v)
}

func drawJSON(t *rapid.T, v any, indent string) string {
	in, ok := v.(settingTree)
	if !ok {
		// No text looks like a comma that is left over.
		return strings.ReplaceAll(settingPlain(t, v), "/", `\/`)
	}
	wide := rapid.IntRange(0, 3).Draw(t, "wide") > 0
	note := func() string {
		if !wide || rapid.Bool().Draw(t, "no comment") {
			return ""
		}
		return fmt.Sprintf(rapid.SampledFrom([]string{" //c%d", " /*c%d*/"}).Draw(t, "comment"), rapid.IntRange(0, 999).Draw(t, "number"))
	}
	eol, deeper := "", ""
	if wide {
		eol, deeper = "\n", indent+rapid.SampledFrom([]string{"  ", "\t"}).Draw(t, "indent")
	}
	text := "{" + note()
	names := slices.Sorted(maps.Keys(in))
	for i, name := range names {
		text += eol + deeper + fmt.Sprintf("%q:", name) + rapid.SampledFrom([]string{"", " "}).Draw(t, "space") + drawJSON(t, in[name], deeper)
		if i+1 < len(names) || rapid.IntRange(0, 3).Draw(t, "comma") == 0 {
			text += ","
		}
		text += note()
	}
	if len(names) == 0 && !strings.Contains(text, "//") {
		return text + "}"
	}
	return text + eol + indent + "}"
}

func TestSettingJSONForAnotherParser(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		model := drawTree(t, 2)
		text := drawJSON(t, model, "") + rapid.SampledFrom([]string{"\n", ""}).Draw(t, "last")
		// The line of a value that goes, and the one that loses its comma.
		sameTree(t, "json", model, drawEnds(t, text), readJSON, 2)
	})
}

func readTOML(text string) (any, error) {
	var v map[string]any
	_, err := toml.Decode(text, &v)
	return v, err
}

// drawTOML writes tables in all the ways that there are: headers, dots and braces.
func drawTOML(t *rapid.T, in settingTree, header []string) string {
	var deferred []string
	text := ""
	line := func(s string) {
		if rapid.IntRange(0, 3).Draw(t, "comment") == 0 {
			text += "# a = 1\n"
		}
		text += s + rapid.SampledFrom([]string{"", " # b"}).Draw(t, "note") + "\n"
	}
	var add func(path []string, in settingTree)
	add = func(path []string, in settingTree) {
		for _, name := range slices.Sorted(maps.Keys(in)) {
			own := append(slices.Clone(path), name)
			below, ok := in[name].(settingTree)
			way := rapid.SampledFrom([]string{"header", "dots", "braces"}).Draw(t, "way")
			switch {
			case !ok:
				line(tomlPath(own) + " = " + tomlLeaf(t, in[name]))
			case way == "header" && len(path) == 0:
				deferred = append(deferred, drawTOML(t, below, append(slices.Clone(header), own...)))
			case way == "dots" && len(below) > 0:
				add(own, below)
			default:
				line(tomlPath(own) + " = " + drawBraces(t, below))
			}
		}
	}
	add(nil, in)
	if len(header) > 0 {
		text = "[" + tomlPath(header) + "] # h\n" + text
	}
	return text + strings.Join(deferred, "")
}

func drawBraces(t *rapid.T, in settingTree) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if below, ok := in[name].(settingTree); ok {
			parts = append(parts, tomlPath([]string{name})+" = "+drawBraces(t, below))
		} else {
			parts = append(parts, tomlPath([]string{name})+"="+tomlLeaf(t, in[name]))
		}
	}
	space := rapid.SampledFrom([]string{"", " "}).Draw(t, "space")
	return "{" + space + strings.Join(parts, ", ") + space + "}"
}

func tomlPath(path []string) string {
	parts := make([]string, len(path))
	for i, name := range path {
		if parts[i] = name; strings.ContainsAny(name, ". ") {
			parts[i] = "'" + name + "'"
		}
	}
	return strings.Join(parts, ".")
}

func tomlLeaf(t *rapid.T, v any) string {
	if s, ok := v.(string); ok && !strings.Contains(s, "'") && rapid.Bool().Draw(t, "literal") {
		return "'" + s + "'"
	}
	return settingPlain(t, v)
}

func TestSettingTOMLForAnotherParser(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		model := drawTree(t, 2)
		text := drawTOML(t, model, nil)
		if rapid.Bool().Draw(t, "list of tables") {
			model["list"] = []any{settingTree{"a": 1}}
			text += "[[list]]\na = 1\n"
		}
		if rapid.Bool().Draw(t, "no last end") {
			text = strings.TrimSuffix(text, "\n")
		}
		sameTree(t, "toml", model, drawEnds(t, text), readTOML, 1)
	})
}
