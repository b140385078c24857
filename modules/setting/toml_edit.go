package setting

import (
	"slices"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/lines"
)

// lineEnd is behind the end of the line that an offset is in.
func (f *tomlFile) lineEnd(offset int) int {
	if i := strings.IndexByte(f.text[offset:], '\n'); i >= 0 {
		return offset + i + 1
	}
	return len(f.text)
}

func (f *tomlFile) set(names []string, v any) (string, error) {
	want, err := replaceAt(f.data, names, v)
	if err != nil {
		return "", err
	}
	value, err := renderTOML(v)
	if err != nil {
		return "", err
	}
	for _, s := range f.statements {
		if !s.header && slices.Equal(s.names, names) {
			return f.check(f.text[:s.value]+value+f.text[s.end:], want)
		}
	}
	if _, found := lookup(f.data, names); found {
		return "", errElse // a table
	}
	for _, way := range []func([]string, string) (string, error){f.intoInline, f.intoTable, f.intoDotted, f.newTable, f.intoDottedAbove} {
		text, e := way(names, value)
		if err = e; err != nil || text == "" {
			continue
		}
		if text, err = f.check(text, want); err == nil {
			return text, nil
		}
	}
	return "", err
}

// tomlKey writes names with dots between them.
func tomlKey(names []string) (string, error) {
	parts := make([]string, len(names))
	for i, name := range names {
		var err error
		if parts[i], err = tomlName(name); err != nil {
			return "", err
		}
	}
	return strings.Join(parts, "."), nil
}

// intoInline puts a new key into the inline table that it belongs to; "": there is none.
func (f *tomlFile) intoInline(names []string, value string) (string, error) {
	own := -1
	for i, s := range f.statements {
		if s.table && leadsTo(s.names, names) && (own < 0 || len(s.names) > len(f.statements[own].names)) {
			own = i
		}
	}
	if own < 0 {
		return "", nil
	}
	key, err := tomlKey(names[len(f.statements[own].names):])
	if err != nil {
		return "", err
	}
	last := -1
	for i, s := range f.statements {
		if s.inline == own {
			last = i
		}
	}
	if last >= 0 {
		end := f.statements[last].end
		return f.text[:end] + ", " + key + " = " + value + f.text[end:], nil
	}
	begin := f.statements[own].value + 1 // behind its brace
	tail := f.text[begin:]
	if strings.HasPrefix(tail, "}") {
		tail = " " + tail
	}
	return f.text[:begin] + " " + key + " = " + value + tail, nil
}

// leadsTo reports whether names are below others.
func leadsTo(above, names []string) bool {
	return len(above) < len(names) && slices.Equal(above, names[:len(above)])
}

// insertLine puts a key on a line of its own behind the line of an offset.
func (f *tomlFile) insertLine(offset int, indent string, names []string, value string) (string, error) {
	key, err := tomlKey(names)
	if err != nil {
		return "", err
	}
	head, eol := f.text[:offset], lines.EndAt(f.text, offset)
	if head != "" && !strings.HasSuffix(head, "\n") {
		head += eol
	}
	return head + indent + key + " = " + value + eol + f.text[offset:], nil
}

// intoTable puts a new key into the table that a header begins, or at the top; "": there
// is no such header.
func (f *tomlFile) intoTable(names []string, value string) (string, error) {
	table := names[:len(names)-1]
	offset, indent := -1, ""
	if len(table) == 0 {
		offset = 0
	}
	inside := len(table) == 0
	for _, s := range f.statements {
		if s.header {
			inside = slices.Equal(s.names, table)
		}
		if inside && s.inline < 0 {
			offset, indent = f.lineEnd(s.end), ""
			if !s.header {
				indent = indentAt(f.text, s.begin)
			}
		}
	}
	if offset < 0 {
		return "", nil
	}
	return f.insertLine(offset, indent, names[len(table):], value)
}

// intoDotted puts a new key behind the last one whose dots make its table; "": none does.
func (f *tomlFile) intoDotted(names []string, value string) (string, error) {
	return f.behindDotted(names, len(names)-1, value)
}

// intoDottedAbove does so where dots make a table that is further above.
func (f *tomlFile) intoDottedAbove(names []string, value string) (string, error) {
	for depth := len(names) - 2; depth > 0; depth-- {
		if text, err := f.behindDotted(names, depth, value); text != "" || err != nil {
			return text, err
		}
	}
	return "", errElse
}

func (f *tomlFile) behindDotted(names []string, depth int, value string) (string, error) {
	for _, s := range slices.Backward(f.statements) {
		if !s.header && s.inline < 0 && s.prefix < depth && leadsTo(names[:depth], s.names) {
			return f.insertLine(f.lineEnd(s.end), indentAt(f.text, s.begin), names[s.prefix:], value)
		}
	}
	return "", nil
}

// newTable puts a new table at the end.
func (f *tomlFile) newTable(names []string, value string) (string, error) {
	if len(names) == 1 {
		return "", nil
	}
	header, err := tomlKey(names[:len(names)-1])
	if err != nil {
		return "", err
	}
	key, err := tomlName(names[len(names)-1])
	if err != nil {
		return "", err
	}
	head, eol := f.text, lines.EndAt(f.text, len(f.text))
	if head != "" && !strings.HasSuffix(head, "\n") {
		head += eol
	}
	if head != "" {
		head += eol
	}
	return head + "[" + header + "]" + eol + key + " = " + value + eol, nil
}

func (f *tomlFile) remove(names []string) (string, error) {
	for i, s := range f.statements {
		if s.header || !slices.Equal(s.names, names) {
			continue
		}
		text := ""
		if s.inline >= 0 {
			text = f.withoutInline(i)
		} else {
			begin := strings.LastIndexByte(f.text[:s.begin], '\n') + 1
			text = f.text[:begin] + f.text[f.lineEnd(s.end):]
		}
		return f.check(text, removeAt(f.data, names))
	}
	return "", errElse
}

// withoutInline leaves a key out of its inline table, and the comma that it leaves over.
func (f *tomlFile) withoutInline(i int) string {
	s := f.statements[i]
	before := -1 // the end of the one before it
	for k, other := range f.statements[:i] {
		if other.inline == s.inline && k != i {
			before = other.end
		}
	}
	head, tail := f.text[:s.begin], f.text[s.end:]
	rest := strings.TrimLeft(tail, " \t\r\n")
	switch {
	case strings.HasPrefix(rest, ","):
		tail = strings.TrimLeft(rest[1:], " \t")
		if bare := strings.TrimRight(head, " \t"); strings.HasSuffix(bare, "\n") && strings.HasPrefix(strings.TrimPrefix(tail, "\r"), "\n") {
			head, tail = bare, strings.TrimPrefix(tail, "\r")[1:]
		}
	case before >= 0 && strings.TrimSpace(f.text[before:s.begin]) == ",":
		head = f.text[:before]
	case before < 0 && strings.HasPrefix(rest, "}"):
		head, tail = strings.TrimRight(head, " \t"), strings.TrimLeft(tail, " \t")
	}
	return head + tail
}

// check reads the new text as a whole.
func (f *tomlFile) check(text string, want any) (string, error) {
	d, err := parseTOML(text)
	if err == nil && !isSame(prune(d.(*tomlFile).data), prune(want)) {
		err = errElse
	}
	return text, err
}
