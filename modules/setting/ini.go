package setting

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/lines"
)

// iniFile is a file of sections and settings. There is no standard; what is common to
// git, systemd, PHP, MySQL and Python is understood, and what they read differently is
// an error where it matters.
type iniFile struct {
	lines   lines.Text
	dialect iniDialect
	iniIndex
}

// iniDialect says how the program that reads the file does it, as far as a user tells.
type iniDialect struct {
	separator    string // of new settings
	delimiter    string // of a line with ":" before "="; "" is not known
	continuation string // "indent", "backslash" or "none"; "" is not known
}

func (s Setting) iniDialect() iniDialect {
	d := iniDialect{separator: s.separator()}
	if s.Separator != nil {
		d.delimiter = strings.TrimSpace(d.separator)
	}
	if s.Continuation != nil {
		d.continuation = *s.Continuation
	}
	return d
}

// holds reports whether a file can have such names.
func (d iniDialect) holds(section, name string) bool {
	header, ok := iniHeader("[" + section + "]")
	if section != "" && (!ok || header != section) {
		return false
	}
	s, ok := iniLine(name+d.separator+"x", d.delimiter)
	return ok && (s.name == name || s.longName == name)
}

func parseINI(text string, d iniDialect) *iniFile {
	f := &iniFile{lines: lines.Parse(text), dialect: d}
	f.iniIndex = indexINI(f.lines, d)
	return f
}

// split gives section and name.
func split(names []string) (section, name string) {
	if len(names) == 1 {
		return "", names[0]
	}
	return names[0], names[1]
}

// find gives the setting of these names, nil where there is none. Where the file can be
// read in two ways, and they differ about it, that is an error.
func (f *iniFile) find(names []string) (*iniSetting, error) {
	section, name := split(names)
	for _, d := range f.doubts {
		if d.header == "" && d.section == section && d.name == name || d.header != "" && (d.header == section || d.section == section) {
			return nil, d.err()
		}
	}
	var found, short, long *iniSetting
	for i := range f.settings {
		s := &f.settings[i]
		switch {
		case s.section != section:
		case s.longName == name && name != "":
			long = s
		case s.name == name && s.longName != "":
			short = s
		case s.name == name && found != nil:
			return nil, fmt.Errorf("the lines %d and %d both set %s", found.row+1, s.row+1, strings.Join(names, "."))
		case s.name == name:
			found = s
		}
	}
	switch {
	case found == nil && long != nil:
		found = new(*long)
		found.name, found.begin = long.longName, long.longBegin
	case found == nil && short != nil:
		return nil, fmt.Errorf(`line %d can be read as setting %q or %q (give the separator ":" or "=" that the program takes for it)`, short.row+1, short.name, short.longName)
	}
	for _, d := range f.doubts {
		if found != nil && d.of == found.row {
			return nil, d.err()
		}
	}
	return found, nil
}

func (f *iniFile) get(names []string) (any, bool, error) {
	s, err := f.find(names)
	if err != nil || s == nil {
		return nil, false, err
	}
	return textOnly(f.value(s)), true, nil
}

// value is what a setting holds: its lines without the space around them.
func (f *iniFile) value(s *iniSetting) string {
	text := strings.TrimSpace(f.lines[s.row].Line[s.begin:])
	for _, row := range s.furtherRows {
		text += "\n" + strings.TrimSpace(f.lines[row].Line)
	}
	return text
}

func (f *iniFile) set(names []string, v any) (string, error) {
	s, err := f.find(names)
	if err != nil {
		return "", err
	}
	value := scalar(v)
	text := ""
	if s != nil {
		text = f.replace(s, value)
	} else if text, err = f.insert(names, value); err != nil {
		return "", err
	}
	return text, f.compare(text, names, s == nil, &value)
}

// replace gives a setting another value. Comments among the lines of the old one stay.
func (f *iniFile) replace(s *iniSetting, value string) string {
	first, more, _ := strings.Cut(value, "\n")
	line := f.lines[s.row].Line
	head, tail := line[:s.begin], ""
	if s.bare {
		head = strings.TrimRight(line, " \t") + f.dialect.separator
	} else if len(s.furtherRows) == 0 {
		tail = line[s.begin+len(strings.TrimSpace(line[s.begin:])):]
	}
	space := indentOf(line) + "    "
	if len(s.furtherRows) > 0 {
		space = indentOf(f.lines[s.last()].Line)
	}
	out := f.lines.Without(s.furtherRows, -1)
	out = slices.Clone(out)
	out[s.row].Line = head + first + tail
	if value == first {
		return out.String()
	}
	return out.Insert(s.row+1, indentLines(space, more)...).String()
}

// indentLines gives the lines of a value below its name.
func indentLines(space, text string) []string {
	list := strings.Split(text, "\n")
	for i, line := range list {
		if line != "" {
			list[i] = space + line
		}
	}
	return list
}

// insert adds a setting behind those of its section, or a section at the end.
func (f *iniFile) insert(names []string, value string) (string, error) {
	section, name := split(names)
	at, indent := f.end(section)
	var added []string
	if at < 0 {
		at, added = len(f.lines), []string{"[" + section + "]"}
		if at > 0 {
			added = []string{"", added[0]}
		}
	}
	if c := f.dialect.continuation; at > 0 && (c == "" || c == "backslash") && goesOn(f.lines[at-1].Line) && !isComment(f.lines[at-1].Line) {
		return "", fmt.Errorf("a new setting cannot come behind line %d, which ends with a backslash: it may go on in the next line", at)
	}
	first, more, several := strings.Cut(value, "\n")
	added = append(added, strings.TrimRight(indent+name+f.dialect.separator+first, " "))
	if several {
		added = append(added, indentLines(indent+"    ", more)...)
	}
	return f.lines.Insert(at, added...).String(), nil
}

// end is where a new setting of a section comes, and how far in; -1: there is no such
// section.
func (f *iniFile) end(section string) (at int, indent string) {
	at = f.headers[section] // 0 in front of all sections, else behind its header
	if section != "" && at == 0 {
		return -1, ""
	}
	for _, s := range f.settings {
		if s.section == section && s.last() >= at {
			at, indent = s.last()+1, indentOf(f.lines[s.row].Line)
		}
	}
	return at, indent
}

func (f *iniFile) remove(names []string) (string, error) {
	s, err := f.find(names)
	if err != nil || s == nil {
		return f.lines.String(), err
	}
	text := f.lines.Without(append([]int{s.row}, s.furtherRows...), -1).String()
	return text, f.compare(text, names, false, nil)
}

// compare reads a new text as a whole: it holds what the former does, but for the
// setting of these names, which is added or has a new value; nil: it is gone.
func (f *iniFile) compare(text string, names []string, added bool, value *string) error {
	section, name := split(names)
	list := func(f *iniFile, leaveOut bool) (out [][3]string) {
		for _, s := range f.settings {
			if !leaveOut || s.section != section || s.name != name && s.longName != name {
				out = append(out, [3]string{s.section, s.name, f.value(&s)})
			}
		}
		return out
	}
	is := parseINI(text, f.dialect)
	if !slices.Equal(list(f, !added), list(is, value != nil || !added)) {
		return errElse
	}
	got, found, err := is.get(names)
	if err == nil && (found != (value != nil) || found && !isSame(got, *value)) {
		err = errElse
	}
	return err
}
