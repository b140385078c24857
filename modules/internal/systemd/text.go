package systemd

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenetcm/tenet/states"
)

// CheckText finds what systemd would pass over or refuse in the text of a unit's
// file, by the rules of systemd.syntax(7): its form, and its sections.
func CheckText(attribute, unit, text string) error {
	wrong := func(line int, format string, args ...any) error {
		return states.InvalidAttribute(attribute, fmt.Sprintf("line %d: ", line)+fmt.Sprintf(format, args...), "")
	}
	section, continued, sections := "", false, sectionsOf(unit)
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return r != '\t' && unicode.IsControl(r) }) {
			return wrong(number, "it holds what is no text")
		}
		line = strings.TrimSpace(line)
		comment := line == "" || line[0] == '#' || line[0] == ';'
		more := strings.HasSuffix(line, `\`)
		switch {
		case comment && line != "":
			continue
		case continued:
		case line == "":
		case strings.HasPrefix(line, "["):
			name, closed := strings.CutSuffix(line[1:], "]")
			if !closed {
				return wrong(number, "the name of a section ends in ]")
			}
			if !strings.HasPrefix(name, "X-") && !slices.Contains(sections, name) {
				return wrong(number, "%s has no section [%s], only %s", path.Ext(unit), name, strings.Join(sections, ", "))
			}
			section = name
		default:
			key, _, ok := strings.Cut(line, "=")
			if key = strings.TrimSpace(key); !ok || key == "" || strings.ContainsAny(key, " \t") {
				return wrong(number, "it is no setting: KEY=VALUE")
			}
			if section == "" {
				return wrong(number, "it stands before the first section, such as [%s]", sections[0])
			}
		}
		continued = more
	}
	switch {
	case section == "":
		return states.InvalidAttribute(attribute, "it has no section, and so no setting", "begin it with [Unit]")
	case continued:
		return wrong(number, "the last line ends in a backslash, and goes on nowhere")
	}
	return nil
}

// sectionsOf lists the sections of a kind of unit.
func sectionsOf(unit string) []string {
	all := []string{"Unit", "Install"}
	switch kind := path.Ext(unit); kind {
	case ".target", ".device":
		return all
	default:
		return append(all, strings.ToUpper(kind[1:2])+kind[2:])
	}
}

// Quote writes the words of a command as a value of ExecStart, so that systemd
// takes each of them as it is: see "COMMAND LINES" in systemd.service(5).
func Quote(argv []string) string {
	words := make([]string, len(argv))
	for i, word := range argv {
		word = strings.ReplaceAll(quote(word), "$", "$$")
		words[i] = word
	}
	return strings.Join(words, " ")
}

// QuoteWord writes one word of a setting that holds words, such as Environment.
func QuoteWord(word string) string { return quote(word) }

func quote(word string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range word {
		switch {
		case r == '"', r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '%':
			b.WriteString("%%")
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Unquote reads what Quote has written; false: somebody else has.
func Unquote(value string) ([]string, bool) {
	words, ok := UnquoteWords(value)
	for i := range words {
		if strings.Contains(strings.ReplaceAll(words[i], "$$", ""), "$") {
			return nil, false
		}
		words[i] = strings.ReplaceAll(words[i], "$$", "$")
	}
	return words, ok
}

// UnquoteWords reads what QuoteWord has written, word by word.
func UnquoteWords(value string) (words []string, ok bool) {
	for value != "" {
		if value[0] != '"' {
			return nil, false
		}
		word, rest, ok := unquote(value[1:])
		if !ok {
			return nil, false
		}
		words = append(words, word)
		if rest != "" && (rest[0] != ' ' || len(rest) == 1) {
			return nil, false
		}
		value = strings.TrimPrefix(rest, " ")
	}
	return words, true
}

// unquote reads up to the closing quote.
func unquote(text string) (word, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			return b.String(), text[i+1:], true
		case '%':
			if i+1 == len(text) || text[i+1] != '%' {
				return "", "", false
			}
			i++
			b.WriteByte('%')
		case '\\':
			var n byte
			switch {
			case i+1 < len(text) && (text[i+1] == '"' || text[i+1] == '\\'):
				b.WriteByte(text[i+1])
				i++
			case i+3 < len(text) && text[i+1] == 'x':
				if _, err := fmt.Sscanf(text[i+2:i+4], "%02x", &n); err != nil {
					return "", "", false
				}
				b.WriteByte(n)
				i += 3
			default:
				return "", "", false
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}
