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
	"sync"
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
	prefix int // how many of the names those of its table are
	begin  int // where its first name begins
	value  int // where the value begins
	end    int // behind the value, or the header's last name

	inline int  // the statement whose value is the inline table that it is in; -1: it has a line
	table  bool // its value is an inline table
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
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			s := f.statement(e, nil)
			table, s.header = s.names, true
			// Below a list of tables no name leads: at() finds no map there.
			_, reachable := lookup(f.data, table)
			inList = e.Kind == unstable.ArrayTable || !reachable
			if !inList {
				f.statements = append(f.statements, s)
			}
		case unstable.KeyValue:
			if !inList {
				f.add(e, table, -1)
			}
		}
	}
	return f, p.Error()
}

// statement gives the names of an expression and where they are.
func (f *tomlFile) statement(e *unstable.Node, table []string) tomlStatement {
	s := tomlStatement{names: slices.Clone(table), prefix: len(table), begin: -1, inline: -1}
	for it := e.Key(); it.Next(); {
		n := it.Node()
		s.names = append(s.names, string(n.Data))
		if s.end = int(n.Raw.Offset + n.Raw.Length); s.begin < 0 {
			s.begin = int(n.Raw.Offset)
		}
	}
	return s
}

// add takes in a key with its value, and what is in an inline table.
func (f *tomlFile) add(e *unstable.Node, table []string, inline int) {
	s := f.statement(e, table)
	s.value = s.end + strings.IndexByte(f.text[s.end:], '=') + 1
	for s.value < len(f.text) && (f.text[s.value] == ' ' || f.text[s.value] == '\t') {
		s.value++
	}
	s.end = int(e.Raw.Offset + e.Raw.Length)
	s.inline, s.table = inline, e.Value().Kind == unstable.InlineTable
	f.statements = append(f.statements, s)
	if own := len(f.statements) - 1; s.table {
		for it := e.Value().Children(); it.Next(); {
			f.add(it.Node(), s.names, own)
		}
	}
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
	v, found := lookup(f.data, names)
	return v, found, nil
}

var bareTOML = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]+$`) })

func tomlName(name string) (string, error) {
	if bareTOML().MatchString(name) {
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
