package secrets

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/lang/diag"
)

// FormatText writes values as people edit them: NAME = VALUE, with text of
// several lines between <<END and END, and what would not survive that in JSON's
// quotes. ParseText reads it back.
func FormatText(values map[string]string) string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(values)) {
		out.WriteString(name + " =")
		switch value := values[name]; {
		case isLine(value):
			out.WriteString(" " + value)
		case isBlock(value):
			marker := "END"
			for n := 2; slices.Contains(strings.Split(value, "\n"), marker); n++ {
				marker = fmt.Sprintf("END%d", n)
			}
			out.WriteString(" <<" + marker + "\n" + value + marker)
		default:
			out.WriteString(" " + plainjson.Quote(value))
		}
		out.WriteString("\n")
	}
	return out.String()
}

// isLine reports whether a value can stand as it is behind "NAME = ".
func isLine(value string) bool {
	return value != "" && value == strings.TrimSpace(value) && isText(value, "\t") &&
		!strings.HasPrefix(value, `"`) && !strings.HasPrefix(value, "<<")
}

// isBlock reports whether a value can stand between markers.
func isBlock(value string) bool { return strings.HasSuffix(value, "\n") && isText(value, "\t\n") }

// isText reports whether a text holds no control characters but these, and
// nothing that editors take for the end of a line.
func isText(s, but string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		control := r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff
		return control && !strings.ContainsRune(but, r)
	})
}

// ParseText reads what FormatText writes, edited by people: empty lines and
// lines that begin with # count for nothing. Messages show no values.
func ParseText(name string, data []byte) (map[string]string, diag.List) {
	values := map[string]string{}
	var list diag.List
	lines := strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		text := strings.TrimSpace(lines[i])
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		pos := diag.Pos{Line: i + 1, Column: 1}
		wrong := func(summary, hint string) {
			list.Add(diag.Diagnostic{Summary: summary, Hint: hint, Range: diag.Range{File: name, Start: pos, End: pos}})
		}
		key, value, ok := strings.Cut(text, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok || !ValidName(key) {
			wrong("the line is not NAME = VALUE, with a name of letters, digits, \"_\" and \"-\"",
				"put text of several lines between <<END and a line END")
			continue
		}
		if _, twice := values[key]; twice {
			wrong(key+" has a value twice", "remove one of them")
		}
		if marker, block := strings.CutPrefix(value, "<<"); block {
			end := slices.Index(lines[i+1:], marker)
			if !ValidName(marker) || end < 0 {
				wrong(fmt.Sprintf("the text of %s has no end", key), "write NAME = <<END, the text, and a line that is only END")
				return values, list
			}
			value = strings.Join(append(slices.Clone(lines[i+1:i+1+end]), ""), "\n")
			i += 1 + end
		} else if strings.HasPrefix(value, `"`) {
			var quoted string
			if err := json.Unmarshal([]byte(value), &quoted); err != nil {
				wrong(fmt.Sprintf("the value of %s begins with a quote, and is no text in JSON's quotes", key),
					`write "…" with \" and \\ inside; a value that itself begins with a quote needs this too`)
			}
			value = quoted
		}
		values[key] = value
		if err := checkValue(key, value); err != nil {
			for _, d := range diag.From(err) {
				wrong(d.Summary, d.Hint)
			}
		}
	}
	return values, list
}
