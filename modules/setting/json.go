package setting

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/modules/internal/lines"
)

// jsonFile is JSON, with comments and commas behind the last value where it has
// them (JWCC).
type jsonFile struct {
	text string
	root hujson.Value
	data any
}

func parseJSON(text string) (document, error) {
	if strings.TrimSpace(text) == "" {
		text = "{}\n"
	}
	root, err := hujson.Parse([]byte(text))
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
	}
	plain := root.Clone()
	plain.Standardize()
	data, err := decodeJSON(plain.Pack())
	return &jsonFile{text, root, data}, err
}

// member finds a member of an object; nil: there is none.
func member(o *hujson.Object, name string) (int, error) {
	found := -1
	for i := range o.Members {
		literal, ok := o.Members[i].Name.Value.(hujson.Literal)
		if !ok || literal.String() != name {
			continue
		}
		if found >= 0 {
			return -1, fmt.Errorf("the key %q is there twice", name)
		}
		found = i
	}
	return found, nil
}

// find gives the deepest object on the way, the member there (-1: none), and how many
// names lead to the object.
func (f *jsonFile) find(names []string) (o *hujson.Object, at, depth int, whole *hujson.Value, err error) {
	value := &f.root
	for depth = 0; ; depth++ {
		var ok bool
		if o, ok = value.Value.(*hujson.Object); !ok {
			return nil, -1, depth, nil, fmt.Errorf("there is no object in which %q could be", names[depth])
		}
		at, err = member(o, names[depth])
		if err != nil || at < 0 || depth == len(names)-1 {
			return o, at, depth, value, err
		}
		value = &o.Members[at].Value
	}
}

func (f *jsonFile) get(names []string) (any, bool, error) {
	v, found := lookup(f.data, names)
	if found {
		_, _, _, _, err := f.find(names)
		return v, true, err
	}
	return nil, false, nil
}

// renderJSON writes a value whose lines after the first begin with indent.
func renderJSON(v any, indent string) (string, error) {
	var b bytes.Buffer
	e := plainjson.NewEncoder(&b)
	e.SetIndent(indent, "  ")
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// indentAt is the space at the beginning of the line of an offset.
func indentAt(text string, offset int) string {
	line := text[strings.LastIndexByte(text[:offset], '\n')+1:]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

func (f *jsonFile) set(names []string, v any) (string, error) {
	o, i, depth, whole, err := f.find(names)
	if err != nil {
		return "", err
	}
	var text string
	if i >= 0 {
		old := o.Members[i].Value
		value, err := renderJSON(v, indentAt(f.text, o.Members[i].Name.StartOffset))
		if err != nil {
			return "", err
		}
		text = f.text[:old.StartOffset] + f.asLines(value, old.StartOffset) + f.text[old.EndOffset:]
	} else if text, err = f.insert(o, whole, names[depth:], v); err != nil {
		return "", err
	}
	return text, f.compare(text, names, v)
}

// insert puts a new member behind the last one.
func (f *jsonFile) insert(o *hujson.Object, whole *hujson.Value, names []string, v any) (string, error) {
	for len(names) > 1 {
		v, names = map[string]any{names[len(names)-1]: v}, names[:len(names)-1]
	}
	name, err := renderJSON(names[0], "")
	if err != nil {
		return "", err
	}
	if len(o.Members) == 0 {
		begin := whole.StartOffset + 1
		at := behindComment(f.text, begin)
		indent := indentAt(f.text, whole.StartOffset)
		value, err := renderJSON(v, indent+"  ")
		if err != nil {
			return "", err
		}
		added, tail := "\n"+indent+"  "+name+": "+value, f.text[at:]
		if strings.HasPrefix(tail, "}") {
			added += "\n" + indent
		}
		return f.text[:at] + f.asLines(added, begin) + tail, nil
	}
	last := o.Members[len(o.Members)-1]
	space, indent := " ", ""
	if before := string(last.Name.BeforeExtra); strings.Contains(before, "\n") || before == "" {
		i := strings.LastIndexByte(before, '\n')
		space, indent = before[i+1:], ""
		if i >= 0 {
			space, indent = "\n"+before[i+1:], before[i+1:]
		}
	}
	value, err := renderJSON(v, indent)
	if err != nil {
		return "", err
	}
	end := last.Value.EndOffset
	head, tail, comma := f.text[:end]+",", f.text[end:], ""
	if at := end + len(last.Value.AfterExtra); at < len(f.text) && f.text[at] == ',' { // behind the last
		head, tail, comma = f.text[:at+1], f.text[at+1:], ","
	}
	at := behindComment(tail, 0) // what is said of the last one stays beside it
	if at > 0 && !strings.HasPrefix(space, "\n") {
		space = "\n" + space
	}
	return head + tail[:at] + f.asLines(space+name+": "+value+comma, end) + tail[at:], nil
}

// asLines gives a new text the line ends that are usual around an offset. No text within
// JSON holds a newline as it is.
func (f *jsonFile) asLines(text string, offset int) string {
	return strings.ReplaceAll(text, "\n", lines.EndAt(f.text, offset))
}

// behindComment is the end of the comments that stand on the same line behind an offset;
// without any it is the offset.
func behindComment(text string, offset int) int {
	for at := offset; ; {
		at += len(text[at:]) - len(strings.TrimLeft(text[at:], " \t"))
		switch rest := text[at:]; {
		case strings.HasPrefix(rest, "//"):
			if i := strings.IndexByte(rest, '\n'); i >= 0 {
				return at + len(strings.TrimSuffix(rest[:i], "\r"))
			}
			return len(text)
		case strings.HasPrefix(rest, "/*"):
			at += strings.Index(rest, "*/") + 2
			offset = at
		default:
			return offset
		}
	}
}

func (f *jsonFile) remove(names []string) (string, error) {
	o, i, _, _, err := f.find(names)
	if err != nil || i < 0 {
		return f.text, err
	}
	m := o.Members[i]
	begin, end := m.Name.StartOffset, m.Value.EndOffset
	comma := end + len(m.Value.AfterExtra)
	text := f.text
	if comma < len(text) && text[comma] == ',' {
		end = comma + 1
	} else if i > 0 { // the last one: the comma before it goes, too
		before := o.Members[i-1].Value
		at := before.EndOffset + len(before.AfterExtra)
		text = text[:at] + text[at+1:]
		begin, end = begin-1, end-1
	}
	head, tail := text[:begin], text[end:]
	bare := strings.TrimRight(head, " \t")
	rest := strings.TrimLeft(tail, " \t")
	switch {
	case strings.HasSuffix(bare, "\n") && strings.HasPrefix(rest, "\n"):
		head, tail = bare, rest[1:]
	case strings.HasSuffix(bare, "\n") && strings.HasPrefix(rest, "\r\n"):
		head, tail = bare, rest[2:]
	}
	text = head + tail
	d, err := parseJSON(text)
	if err == nil && !isSame(d.(*jsonFile).data, removeAt(f.data, names)) {
		err = errElse
	}
	return text, err
}

// compare reads the new text as a whole.
func (f *jsonFile) compare(text string, names []string, v any) error {
	want, err := replaceAt(f.data, names, v)
	if err != nil {
		return err
	}
	d, err := parseJSON(text)
	if err == nil && !isSame(d.(*jsonFile).data, want) {
		err = errElse
	}
	return err
}
