package setting

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/tenetcm/tenet/modules/internal/lines"
)

// propertiesFile is a file as java.util.Properties reads it.
type propertiesFile struct {
	lines     lines.Text
	separator string
}

func parseProperties(text, separator string) *propertiesFile {
	return &propertiesFile{lines.Parse(text), separator}
}

// logical is a line with those that go on with it: rows from, up to before to.
type logical struct {
	from, to    int
	name, value string
}

// settings lists the logical lines that set something.
func (f *propertiesFile) settings() []logical {
	var out []logical
	for i := 0; i < len(f.lines); i++ {
		line := strings.TrimLeft(f.lines[i].Line, " \t\f")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		l := logical{from: i}
		for goesOn(line) && i+1 < len(f.lines) {
			i++
			line = line[:len(line)-1] + strings.TrimLeft(f.lines[i].Line, " \t\f")
		}
		if goesOn(line) { // at the file's end
			line = line[:len(line)-1]
		}
		l.to = i + 1
		l.name, l.value = splitProperty(line)
		out = append(out, l)
	}
	return out
}

// goesOn reports whether a line ends with an odd number of backslashes.
func goesOn(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// splitProperty takes a logical line apart.
func splitProperty(line string) (name, value string) {
	i := 0
	for i < len(line) && !strings.ContainsRune("=: \t\f", rune(line[i])) {
		if line[i] == '\\' {
			i++
		}
		i++
	}
	i = min(i, len(line))
	name = unescape(line[:i])
	rest := strings.TrimLeft(line[i:], " \t\f")
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], " \t\f")
	}
	return name, unescape(rest)
}

// unescape resolves backslashes.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var out []byte
	var units []uint16
	flush := func() {
		out = append(out, string(utf16.Decode(units))...)
		units = nil
	}
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			flush()
			out = append(out, s[i])
			continue
		}
		i++
		if s[i] == 'u' && i+4 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+5], 16, 16); err == nil {
				units = append(units, uint16(n))
				i += 4
				continue
			}
		}
		flush()
		if k := strings.IndexByte("tnrf", s[i]); k >= 0 {
			out = append(out, "\t\n\r\f"[k])
		} else {
			out = append(out, s[i])
		}
	}
	flush()
	return string(out)
}

// escape is the inverse of unescape, in ASCII.
func escape(s string, name bool) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\\':
			b.WriteString(`\\`)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\f':
			b.WriteString(`\f`)
		case r == ' ' && (name || i == 0), name && strings.ContainsRune("=:#!", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r > '~':
			for _, u := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04X`, u)
			}
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func (f *propertiesFile) find(name string) (*logical, error) {
	var found *logical
	for _, l := range f.settings() {
		if l.name != name {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("the lines %d and %d both set %s", found.from+1, l.from+1, name)
		}
		found = &l
	}
	return found, nil
}

func (f *propertiesFile) get(names []string) (any, bool, error) {
	l, err := f.find(names[0])
	if err != nil || l == nil {
		return nil, false, err
	}
	return textOnly(l.value), true, nil
}

func (f *propertiesFile) set(names []string, v any) (string, error) {
	l, err := f.find(names[0])
	if err != nil {
		return "", err
	}
	value := escape(scalar(v), false)
	if l == nil {
		last := len(f.lines)
		return f.lines.Insert(last, escape(names[0], true)+f.separator+value).String(), nil
	}
	line := f.lines[l.from].Line
	begin := valueAt(line)
	sep := ""
	if begin == len(line) && !strings.ContainsAny(line, "=:") {
		sep = f.separator
	}
	kept := slices.Clone(f.lines)
	end := kept[l.to-1].End
	kept[l.from].Line, kept[l.from].End = strings.TrimSuffix(line[:begin], `\`)+sep+value, end
	return append(kept[:l.from+1:l.from+1], kept[l.to:]...).String(), nil
}

// valueAt is where the value begins in a line.
func valueAt(line string) int {
	i := len(line) - len(strings.TrimLeft(line, " \t\f"))
	for i < len(line) && !strings.ContainsRune("=: \t\f", rune(line[i])) {
		if line[i] == '\\' {
			i++
		}
		i++
	}
	i = min(i, len(line))
	skip := func() {
		for i < len(line) && strings.ContainsRune(" \t\f", rune(line[i])) {
			i++
		}
	}
	skip()
	if i < len(line) && (line[i] == '=' || line[i] == ':') {
		i++
		skip()
	}
	return i
}

func (f *propertiesFile) remove(names []string) (string, error) {
	l, err := f.find(names[0])
	if err != nil || l == nil {
		return f.lines.String(), err
	}
	var rows []int
	for i := l.from; i < l.to; i++ {
		rows = append(rows, i)
	}
	return f.lines.Without(rows, -1).String(), nil
}
