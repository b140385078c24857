package moduletest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// settingEntry is a setting of a file as a program understands it; rows are its lines.
type settingEntry struct {
	section, name, value string
	rows                 []int
}

func (e settingEntry) String() string { return fmt.Sprintf("[%s] %q = %q", e.section, e.name, e.value) }

// readINI is what a program makes of a file: Python's configparser for "indent" (see
// RawConfigParser._read), systemd's config_parse for "backslash", and a plain reader of
// lines for "none". It has nothing in common with the module.
func readINI(text, continuation string) (out []settingEntry) {
	section, deep, goes := "", -1, false
	var blank []int
	for row, line := range strings.Split(strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n"), "\n") {
		bare := strings.TrimSpace(line)
		at := strings.Index(line, bare)
		last := len(out) - 1
		switch {
		case strings.HasPrefix(bare, "#"), strings.HasPrefix(bare, ";"):
		case bare == "":
			blank, goes = append(blank, row), false
		case continuation == "indent" && deep >= 0 && at > deep, goes:
			out[last].value += strings.Repeat("\n", len(blank)+1) + bare
			out[last].rows = append(append(out[last].rows, blank...), row)
			blank, goes = nil, continuation == "backslash" && strings.HasSuffix(bare, `\`)
		case bare[0] == '[':
			section, deep, blank = bare[1:strings.IndexByte(bare, ']')], -1, nil
		default:
			name, value, _ := strings.Cut(bare, "=")
			out, deep, blank = append(out, settingEntry{section, strings.TrimSpace(name), strings.TrimSpace(value), []int{row}}), at, nil
			goes = continuation == "backslash" && strings.HasSuffix(bare, `\`)
		}
	}
	return out
}

// drawINI makes a file, line by line with their ends, that a program of this kind reads.
// With full, no value begins with an empty line.
func drawINI(t *rapid.T, continuation string, full bool) []string {
	var out []string
	end := rapid.SampledFrom([]string{"\n", "\r\n", "mixed"}).Draw(t, "ends")
	add := func(line string) {
		e := end
		if e == "mixed" {
			e = rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")
		}
		out = append(out, line+e)
	}
	noise := func() {
		for range rapid.IntRange(0, 2).Draw(t, "noise") {
			add(rapid.SampledFrom([]string{"", "# a = b", "  ; c", "#[x]"}).Draw(t, "line"))
		}
	}
	word := rapid.StringMatching(`[a-zäß/.,"-]{1,4}`)
	settings := func(section int) {
		for i := range rapid.IntRange(0, 4).Draw(t, "settings") {
			name := fmt.Sprintf("%s%d", rapid.SampledFrom([]string{"k", "Name[de]", "a b"}).Draw(t, "name"), i)
			space := rapid.SampledFrom([]string{"", "\t", "  "}).Draw(t, "indent")
			value := ""
			if full || rapid.Bool().Draw(t, "first") {
				value = word.Draw(t, "value")
			}
			more := 0
			if continuation != "none" && rapid.Bool().Draw(t, "several") {
				more = rapid.IntRange(1, 3).Draw(t, "more")
			}
			mark := ""
			if continuation == "backslash" {
				mark = ` \`
			}
			for k := range more + 1 {
				line := space + "    " + value
				if k == 0 {
					line = space + name + rapid.SampledFrom([]string{"=", " = "}).Draw(t, "sign") + value
				}
				if k < more {
					line += mark
				}
				add(line)
				value = word.Draw(t, "value")
				if rapid.Bool().Draw(t, "assignment") {
					value = fmt.Sprintf("k%d = %s", rapid.IntRange(0, 4).Draw(t, "k"), value)
				}
				if k < more && rapid.IntRange(0, 3).Draw(t, "between") == 0 {
					add(space + "     # a comment")
				}
			}
			noise()
		}
	}
	noise()
	settings(0)
	for i := range rapid.IntRange(0, 3).Draw(t, "sections") {
		add(fmt.Sprintf("[%s%d]%s", rapid.SampledFrom([]string{"s", "program:x", `remote "a`}).Draw(t, "section"), i, rapid.SampledFrom([]string{"", " ", " # [y]"}).Draw(t, "tail")))
		noise()
		settings(i + 1)
	}
	if n := len(out); n > 0 && rapid.Bool().Draw(t, "no last end") {
		out[n-1] = strings.TrimRight(out[n-1], "\r\n")
	}
	if len(out) > 0 && rapid.Bool().Draw(t, "BOM") {
		out[0] = "\ufeff" + out[0]
	}
	return out
}

// Whatever a file holds, for each of the three kinds of programs: where a value is set,
// added or removed, that program sees just this; and other lines keep every byte. Where
// nobody tells what kind it is, the same holds, or it is refused as ambiguous.
func TestSettingINIForAProgram(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		continuation := rapid.SampledFrom([]string{"indent", "backslash", "none"}).Draw(t, "continuation")
		known := rapid.Bool().Draw(t, "known")
		how := map[string]any{"continuation": continuation}
		if !known {
			delete(how, "continuation")
		}
		text := strings.Join(drawINI(t, continuation, !known && continuation != "indent"), "")
		model := readINI(text, continuation)
		e := settingEntry{section: rapid.SampledFrom([]string{"", "s1", "program:y", "new"}).Draw(t, "section"), name: "k7"}
		at := rapid.IntRange(-1, len(model)-1).Draw(t, "which")
		if at >= 0 {
			e = model[at]
		}
		var value any
		if at < 0 || rapid.Bool().Draw(t, "set") {
			e.value = drawINIValue(t, continuation)
			value = e.value
		}
		after, err := editSetting(t, "ini", text, entryKey(e), value, how)
		if err != nil && !known && strings.Contains(err.Error(), "continuation = ") {
			return // it can be read in two ways
		}
		if err != nil {
			t.Fatalf("%s in %q: %v", entryKey(e), text, err)
		}
		is := readINI(after, continuation)
		k := slices.IndexFunc(is, func(x settingEntry) bool { return x.section == e.section && x.name == e.name })
		var gone, added []int
		if at >= 0 {
			gone = e.rows
			model = slices.Delete(model, at, at+1)
		}
		if value != nil {
			if k < 0 || at >= 0 && k != at || is[k].value != value {
				t.Fatalf("%s: %q became %q: %q", e, text, after, is)
			}
			added = is[k].rows
			is = slices.Delete(is, k, k+1)
		}
		if fmt.Sprint(is) != fmt.Sprint(model) {
			t.Fatalf("%s: %q became %q: %q, want %q", e, text, after, is, model)
		}
		sameElsewhere(t, text, gone, after, added, "["+e.section+"]")
	})
}

func drawINIValue(t *rapid.T, continuation string) string {
	lines := rapid.SliceOfN(rapid.StringMatching(`[a-z=:\[\]]{1,5}( [a-z]{1,3})?`), 1, 3).Draw(t, "value")
	if continuation == "none" {
		return lines[0]
	}
	if continuation == "backslash" {
		return strings.Join(lines, " \\\n")
	}
	return strings.Join(lines, "\n")
}

func entryKey(e settingEntry) string {
	if e.section == "" {
		return fmt.Sprintf("%q", e.name)
	}
	return fmt.Sprintf("%q.%q", e.section, e.name)
}

// sameElsewhere fails unless the lines of two texts are the same bytes, but for those
// that have gone, those that were added, and a new section at the end.
func sameElsewhere(t *rapid.T, before string, gone []int, after string, added []int, header string) {
	rest := func(text string, rows []int) []string {
		mark, text := text[:len(text)-len(strings.TrimPrefix(text, "\ufeff"))], strings.TrimPrefix(text, "\ufeff")
		out := []string{mark}
		for i, line := range strings.SplitAfter(text, "\n") {
			if !slices.Contains(rows, i) && line != "" {
				out = append(out, line)
			}
		}
		return out
	}
	a, b := rest(before, gone), rest(after, added)
	if n := len(b); n > len(a) && strings.TrimSpace(b[n-1]) == header {
		if b = b[:n-1]; n > 2 {
			b = b[:n-2]
		}
	}
	// A file whose last line has no end keeps that habit, unless a blank line is the last.
	bare := func(s string) bool { return s != "" && s != "\ufeff" && !strings.HasSuffix(s, "\n") }
	blank := len(a) > 1 && strings.TrimSpace(a[len(a)-1]) == ""
	if bare(before) && len(a) > 1 && len(b) > 1 && !blank {
		a[len(a)-1], b[len(b)-1] = strings.TrimRight(a[len(a)-1], "\r\n"), strings.TrimRight(b[len(b)-1], "\r\n")
	}
	if slices.Equal(a, b) && (bare(before) == bare(after) || after == "" || after == "\ufeff" || blank) {
		return
	}
	t.Fatalf("other lines changed: %q became %q", before, after)
}
