package setting

import (
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/lines"
)

// iniIndex says where in a file its settings are.
type iniIndex struct {
	settings []iniSetting
	headers  map[string]int // the row behind the last header of a section
	doubts   []iniDoubt
}

// iniSetting is a setting and the lines of its value.
type iniSetting struct {
	section, name string
	row, begin    int   // of its first line, and where the value begins there
	furtherRows   []int // the rows of further lines of the value
	bare          bool  // it is a name alone

	// Where the line has ":" before "=", the name that ends at "=".
	longName  string
	longBegin int
}

// last is the row of the value's last line.
func (s *iniSetting) last() int {
	if n := len(s.furtherRows); n > 0 {
		return s.furtherRows[n-1]
	}
	return s.row
}

// iniDoubt is a line that goes on with the value above for some programs, and is a
// setting or a section of its own for others.
type iniDoubt struct {
	row, of       int
	section, name string
	header        string
}

func (d iniDoubt) err() error {
	return fmt.Errorf(`line %d can be read as one of its own, or as going on with the value of line %d (give continuation = "indent", "backslash" or "none", as the program reads its file)`, d.row+1, d.of+1)
}

// isComment reports whether a line says nothing.
func isComment(line string) bool {
	bare := strings.TrimSpace(line)
	return bare == "" || bare[0] == '#' || bare[0] == ';'
}

func indentOf(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }

// iniHeader gives the section that a line begins.
func iniHeader(line string) (string, bool) {
	bare := strings.TrimSpace(line)
	if !strings.HasPrefix(bare, "[") {
		return "", false
	}
	end := headerEnd(bare, true)
	if end < 0 {
		end = headerEnd(bare, false)
	}
	if end < 0 {
		end = strings.LastIndexByte(bare, ']')
	}
	if end < 1 {
		return "", false
	}
	name := strings.TrimSpace(bare[1:end])
	return name, name != ""
}

// headerEnd is the first bracket behind which nothing but a comment stands, which may
// hold brackets, too; -1: there is none. With quotes, those between them do not count.
func headerEnd(bare string, quotes bool) int {
	quoted := false
	for i := 1; i < len(bare); i++ {
		switch {
		case quotes && bare[i] == '"':
			quoted = !quoted
		case bare[i] == ']' && !quoted && isComment(bare[i+1:]):
			return i
		}
	}
	return -1
}

// iniLine takes a line apart that sets something.
func iniLine(line, delimiter string) (s iniSetting, ok bool) {
	if isComment(line) || strings.HasPrefix(strings.TrimSpace(line), "[") {
		return s, false
	}
	i := strings.IndexAny(line, "=:")
	if i < 0 {
		return iniSetting{name: strings.TrimSpace(line), begin: len(line), bare: true}, true
	}
	s.name, s.begin = strings.TrimSpace(line[:i]), behindSpace(line, i+1)
	if k := strings.IndexByte(line, '='); line[i] == ':' && k > i && delimiter != ":" && isLongName(strings.TrimSpace(line[:k])) {
		s.longName, s.longBegin = strings.TrimSpace(line[:k]), behindSpace(line, k+1)
		if delimiter == "=" {
			s.name, s.begin, s.longName = s.longName, s.longBegin, ""
		}
	}
	return s, s.name != ""
}

// isLongName reports whether a text may be a name with a colon within, such as
// "default:pushurl", rather than a name and the begin of its value.
func isLongName(s string) bool {
	return !strings.ContainsAny(s, " \t\"'") && !strings.Contains(s, "//") && !strings.HasSuffix(s, ":")
}

// behindSpace is where something begins in a line at or behind i.
func behindSpace(line string, i int) int {
	return i + len(line[i:]) - len(strings.TrimLeft(line[i:], " \t"))
}

// indexINI finds all settings.
func indexINI(text lines.Text, d iniDialect) iniIndex {
	x := iniIndex{headers: map[string]int{}}
	section := ""
	var above *iniSetting // whose value may go on
	var blank []int       // since its last line
	goes := false         // its last line ends with a backslash
	for i, l := range text {
		line := l.Line
		if isComment(line) {
			if strings.TrimSpace(line) == "" {
				blank, goes = append(blank, i), false
			}
			continue
		}
		if above != nil && !above.bare {
			first := text[above.row].Line
			deeper := d.continuation != "backslash" && d.continuation != "none" && len(indentOf(line)) > len(indentOf(first))
			behind := d.continuation != "indent" && d.continuation != "none" && goes
			if deeper || behind {
				empty := strings.TrimSpace(first[above.begin:]) == ""
				if d.continuation == "" && deeper != behind && (behind || !empty) {
					x.doubt(i, above, line)
				}
				above.furtherRows = append(append(above.furtherRows, blank...), i)
				blank, goes = nil, goesOn(line)
				continue
			}
		}
		above, blank, goes = nil, nil, false
		if name, ok := iniHeader(line); ok {
			section = name
			x.headers[name] = i + 1
		} else if s, ok := iniLine(line, d.delimiter); ok {
			s.section, s.row = section, i
			x.settings = append(x.settings, s)
			above, goes = &x.settings[len(x.settings)-1], goesOn(line)
		}
	}
	return x
}

// doubt notes a line that goes on with a value, if it might be one of its own.
func (x *iniIndex) doubt(row int, above *iniSetting, line string) {
	d := iniDoubt{row: row, of: above.row, section: above.section}
	if name, ok := iniHeader(line); ok {
		d.header = name
	} else if s, ok := iniLine(line, ""); ok && !s.bare && isAssignment(line) {
		d.name = s.name
	} else {
		return
	}
	x.doubts = append(x.doubts, d)
}

// isAssignment reports whether the first "=" or ":" of a line is no part of a longer
// operator or of a URL, such as in "six>=1.0" and "http://".
func isAssignment(line string) bool {
	i := strings.IndexAny(line, "=:")
	before, behind := line[:i], line[i+1:]
	return strings.TrimRight(before, "<>!~") == before && !strings.HasPrefix(behind, line[i:i+1]) && !strings.HasPrefix(line[i:], "://")
}
