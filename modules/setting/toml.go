package setting

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlFile is a TOML document.
type tomlFile struct {
	text       string
	data       any
	statements []tomlStatement
}

// tomlStatement is a table's header or a key with its value.
type tomlStatement struct {
	names  []string // from the root
	header bool
	value  int // where the value begins
	end    int // behind the value, or the header's last name
}

func parseTOML(text string) (document, error) {
	var data map[string]any
	if err := toml.Unmarshal([]byte(text), &data); err != nil {
		return nil, err
	}
	f := &tomlFile{text: text, data: plainTOML(data)}
	p := unstable.Parser{}
	p.Reset([]byte(text))
	var table []string
	inList := false
	for p.NextExpression() {
		e := p.Expression()
		s := tomlStatement{}
		for it := e.Key(); it.Next(); {
			n := it.Node()
			s.names = append(s.names, string(n.Data))
			s.end = int(n.Raw.Offset + n.Raw.Length)
		}
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table, s.header = s.names, true
			inList = e.Kind == unstable.ArrayTable || inList && len(s.names) > 1
		case unstable.KeyValue:
			s.names = append(slices.Clone(table), s.names...)
			s.value = s.end + strings.IndexByte(text[s.end:], '=') + 1
			for s.value < len(text) && (text[s.value] == ' ' || text[s.value] == '\t') {
				s.value++
			}
			s.end = int(e.Raw.Offset + e.Raw.Length)
		default:
			continue
		}
		if e.Kind == unstable.Table {
			// Below a list of tables no name leads: at() finds no map there.
			_, reachable := at(f.data, s.names)
			inList = !reachable
		}
		if !inList {
			f.statements = append(f.statements, s)
		}
	}
	return f, p.Error()
}

// plainTOML turns what the library reads into plain data.
func plainTOML(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = plainTOML(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plainTOML(e)
		}
		return out
	case int64:
		return json.Number(strconv.FormatInt(v, 10))
	case float64:
		return plainFloat(v)
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case bool, string:
		return v
	}
	return fmt.Sprint(v)
}

// plainFloat is a number, or a text for what is none in JSON.
func plainFloat(f float64) any {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return fmt.Sprint(f)
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}

func (f *tomlFile) get(names []string) (any, bool, error) {
	v, found := at(f.data, names)
	return v, found, nil
}

var bareTOML = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func tomlName(name string) (string, error) {
	if bareTOML.MatchString(name) {
		return name, nil
	}
	return tomlText(name)
}

// tomlText is a basic string: JSON's, but for the character DEL.
func tomlText(s string) (string, error) {
	text, err := renderJSON(s, "")
	return strings.ReplaceAll(text, "\x7f", `\u007F`), err
}

func renderTOML(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return tomlText(v)
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			var err error
			if parts[i], err = renderTOML(e); err != nil {
				return "", err
			}
		}
		return "[" + strings.Join(parts, ", ") + "]", nil
	case map[string]any:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			key, err := tomlName(name)
			if err != nil {
				return "", err
			}
			value, err := renderTOML(v[name])
			if err != nil {
				return "", err
			}
			parts = append(parts, key+" = "+value)
		}
		if len(parts) == 0 {
			return "{}", nil
		}
		return "{ " + strings.Join(parts, ", ") + " }", nil
	}
	return fmt.Sprint(v), nil
}

// lineEnd is behind the end of the line that an offset is in.
func (f *tomlFile) lineEnd(offset int) int {
	if i := strings.IndexByte(f.text[offset:], '\n'); i >= 0 {
		return offset + i + 1
	}
	return len(f.text)
}

func (f *tomlFile) eol() string {
	if strings.Contains(f.text, "\r\n") {
		return "\r\n"
	}
	return "\n"
}

func (f *tomlFile) set(names []string, v any) (string, error) {
	want, err := with(f.data, names, v)
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
	if _, found := at(f.data, names); found {
		return "", errElse // a table, or within an inline one
	}
	return f.insert(names, value, want)
}

// insert puts a new key into its table, or a new table at the end.
func (f *tomlFile) insert(names []string, value string, want any) (string, error) {
	table, name := names[:len(names)-1], names[len(names)-1]
	key, err := tomlName(name)
	if err != nil {
		return "", err
	}
	offset, indent := -1, ""
	if len(table) == 0 {
		offset = 0
	}
	inside := len(table) == 0
	for _, s := range f.statements {
		if s.header {
			inside = slices.Equal(s.names, table)
		}
		if inside {
			offset, indent = f.lineEnd(s.end), ""
			if !s.header {
				indent = indentAt(f.text, s.value)
			}
		}
	}
	eol := f.eol()
	line := indent + key + " = " + value + eol
	if offset < 0 {
		header := make([]string, len(table))
		for i, t := range table {
			if header[i], err = tomlName(t); err != nil {
				return "", err
			}
		}
		offset, line = len(f.text), "["+strings.Join(header, ".")+"]"+eol+line
		if f.text != "" {
			line = eol + line
		}
	}
	head := f.text[:offset]
	if head != "" && !strings.HasSuffix(head, "\n") {
		head += eol
	}
	return f.check(head+line+f.text[offset:], want)
}

func (f *tomlFile) remove(names []string) (string, error) {
	for _, s := range f.statements {
		if s.header || !slices.Equal(s.names, names) {
			continue
		}
		begin := strings.LastIndexByte(f.text[:s.value], '\n') + 1
		return f.check(f.text[:begin]+f.text[f.lineEnd(s.end):], without(f.data, names))
	}
	return "", errElse
}

// check reads the new text as a whole.
func (f *tomlFile) check(text string, want any) (string, error) {
	d, err := parseTOML(text)
	if err == nil && !same(pruned(d.(*tomlFile).data), pruned(want)) {
		err = errElse
	}
	return text, err
}
