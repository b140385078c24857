package setting

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/tenetcm/tenet/modules/internal/lines"
)

// yamlFile is one YAML document. The library tells where each key and value begins;
// where they end, the lines tell.
type yamlFile struct {
	lines lines.Text
	root  *yaml.Node // nil: there is nothing
	data  any
}

func parseYAML(text string) (document, error) {
	f := &yamlFile{lines: lines.Parse(text)}
	in := yaml.NewDecoder(strings.NewReader(text))
	var n, more yaml.Node
	switch err := in.Decode(&n); err {
	case nil:
	case io.EOF:
		return f, nil
	default:
		return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if in.Decode(&more) != io.EOF {
		return nil, errors.New("it holds several documents")
	}
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	f.root, f.data = n.Content[0], plainYAML(v)
	return f, nil
}

// plainYAML turns what the library reads into plain data.
func plainYAML(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = plainYAML(e)
		}
		return out
	case map[any]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[fmt.Sprint(name)] = plainYAML(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plainYAML(e)
		}
		return out
	case float64:
		return plainFloat(v)
	case int, int64, uint64:
		return json.Number(fmt.Sprint(v))
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case nil, bool, string:
		return v
	}
	return fmt.Sprint(v)
}

func (f *yamlFile) get(names []string) (any, bool, error) {
	v, found := lookup(f.data, names)
	return v, found, nil
}

// pair is a key with its value, the place of both in the text, and the mapping that
// they are in.
type pair struct {
	in, key, value *yaml.Node
	index          int // of key in in.Content
	last           int // the last row that is theirs
}

// find goes the way of the names. It gives the pairs on it, as far as they are there.
func (f *yamlFile) find(names []string) ([]pair, error) {
	var way []pair
	in, last := f.root, len(f.lines)-1
	for _, name := range names {
		if in == nil || in.Kind != yaml.MappingNode {
			break
		}
		if in.Anchor != "" || in.Style&yaml.FlowStyle != 0 && len(in.Content) > 0 {
			return nil, fmt.Errorf("line %d: what has an anchor, or stands in { … }, is not changed", in.Line)
		}
		found := false
		for i := 0; i+1 < len(in.Content) && !found; i += 2 {
			key, value := in.Content[i], in.Content[i+1]
			if key.Value != name || key.Kind != yaml.ScalarNode {
				continue
			}
			if value.Kind == yaml.AliasNode || value.Anchor != "" {
				return nil, fmt.Errorf("line %d: what has an anchor or an alias is not changed", key.Line)
			}
			p := pair{in: in, key: key, value: value, index: i, last: last}
			if i+2 < len(in.Content) {
				p.last = in.Content[i+2].Line - 2
			}
			p.last = f.trim(p)
			way, found = append(way, p), true
			in, last = value, p.last
		}
		if !found {
			break
		}
	}
	return way, nil
}

// trim leaves out blank lines and comments behind a value.
func (f *yamlFile) trim(p pair) int {
	last := p.last
	text := p.value.Kind == yaml.ScalarNode && p.value.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
	for ; last > p.key.Line-1; last-- {
		line := f.lines[last].Line
		bare := strings.TrimLeft(line, " \t")
		inside := text && len(line)-len(bare) >= p.key.Column
		if bare != "" && (bare[0] != '#' || inside) {
			break
		}
	}
	return last
}

// colon is where the text behind a key's colon begins. A key that does not begin its
// line is none that can be changed.
func (f *yamlFile) colon(key *yaml.Node) (int, error) {
	line := f.lines[key.Line-1].Line
	begin := key.Column - 1
	if begin > len(line) || strings.TrimLeft(line[:begin], " ") != "" || key.Anchor != "" || key.Style&yaml.TaggedStyle != 0 {
		return 0, errElse
	}
	end := begin
	if line[begin:] != "" && strings.ContainsRune(`"'`, rune(line[begin])) {
		if end = quoteEnd(line, begin); end < 0 {
			return 0, errElse
		}
	}
	for i := end; i < len(line); i++ {
		if line[i] == ':' && (i+1 == len(line) || line[i+1] == ' ' || line[i+1] == '\t') {
			return i + 1, nil
		}
	}
	return 0, errElse
}

// quoteEnd is behind the quoted text that begins at an offset, -1 where it does not
// end in this line.
func quoteEnd(line string, begin int) int {
	quote := line[begin]
	for i := begin + 1; i < len(line); i++ {
		switch {
		case line[i] == '\\' && quote == '"':
			i++
		case line[i] == quote && quote == '\'' && i+1 < len(line) && line[i+1] == quote:
			i++
		case line[i] == quote:
			return i + 1
		}
	}
	return -1
}

func (f *yamlFile) set(names []string, v any) (string, error) {
	want, err := replaceAt(f.data, names, v)
	if err != nil {
		return "", err
	}
	way, err := f.find(names)
	if err != nil {
		return "", err
	}
	for k := len(names) - 1; k > len(way); k-- {
		v = map[string]any{names[k]: v}
	}
	in := f.root
	if len(way) > 0 {
		in = way[len(way)-1].value
	}
	switch {
	case len(way) == len(names):
		return f.replace(way[len(way)-1], v, want)
	case in != nil && in.Kind == yaml.MappingNode && len(in.Content) > 0:
		return f.insert(way, in, names[len(way)], v, want)
	case len(way) > 0: // an empty map, or nothing
		return f.replace(way[len(way)-1], map[string]any{names[len(way)]: v}, want)
	case in != nil && in.Kind == yaml.MappingNode:
		return "", errElse // {}
	}
	text, err := f.render(0, names[0], v)
	if err != nil {
		return "", err
	}
	return f.check(f.lines.Insert(len(f.lines), text...).String(), want)
}

// replace gives a key another value.
func (f *yamlFile) replace(p pair, v, want any) (string, error) {
	begin, err := f.colon(p.key)
	if err != nil {
		return "", err
	}
	row := p.key.Line - 1
	line := f.lines[row].Line
	text, err := f.render(p.key.Column-1, "", v)
	if err != nil {
		return "", err
	}
	rest := ""
	if p.last == row && p.value.Kind == yaml.ScalarNode {
		rest = behindScalar(line[begin:])
	}
	text[0] = line[:begin] + text[0] + rest
	rows := make([]int, 0, p.last-row+1)
	for i := row; i <= p.last; i++ {
		rows = append(rows, i)
	}
	return f.check(f.exchange(rows, text), want)
}

// behindScalar is what stands behind a value in its line: space and a comment.
func behindScalar(s string) string {
	i := len(s) - len(strings.TrimLeft(s, " \t"))
	if i < len(s) && (s[i] == '"' || s[i] == '\'') {
		if end := quoteEnd(s, i); end > 0 {
			return s[end:]
		}
	}
	if i < len(s) && s[i] == '#' && i > 0 {
		return s
	}
	if k := strings.Index(s, " #"); k >= 0 {
		return s[len(strings.TrimRight(s[:k], " \t")):]
	}
	return s[len(strings.TrimRight(s, " \t")):]
}

// exchange puts lines in the place of rows, which follow one another.
func (f *yamlFile) exchange(rows []int, text []string) string {
	first := rows[0]
	end := f.lines.End(first)
	out := slices.Clone(f.lines[:first])
	for _, line := range text {
		out = append(out, lines.Row{Line: line, End: end})
	}
	behind := f.lines[rows[len(rows)-1]+1:]
	if len(behind) == 0 && len(out) > 0 {
		out[len(out)-1].End = f.lines[rows[len(rows)-1]].End
	}
	return append(out, behind...).String()
}

// insert puts a new key behind the last one of a mapping.
func (f *yamlFile) insert(way []pair, in *yaml.Node, name string, v, want any) (string, error) {
	if in.Style&yaml.FlowStyle != 0 || in.Anchor != "" {
		return "", fmt.Errorf("line %d: what has an anchor, or stands in { … }, is not changed", in.Line)
	}
	key, value := in.Content[len(in.Content)-2], in.Content[len(in.Content)-1]
	last := len(f.lines) - 1
	if len(way) > 0 {
		last = way[len(way)-1].last
	}
	last = f.trim(pair{key: key, value: value, last: last})
	text, err := f.render(key.Column-1, name, v)
	if err != nil {
		return "", err
	}
	return f.check(f.lines.Insert(last+1, text...).String(), want)
}

func (f *yamlFile) remove(names []string) (string, error) {
	way, err := f.find(names)
	if err != nil {
		return "", err
	}
	if len(way) < len(names) {
		return "", errElse
	}
	want := removeAt(f.data, names)
	p := way[len(way)-1]
	if _, err := f.colon(p.key); err != nil {
		return "", err
	}
	if len(p.in.Content) == 2 && len(way) > 1 {
		return f.replace(way[len(way)-2], map[string]any{}, want)
	}
	var rows []int
	for i := p.key.Line - 1; i <= p.last; i++ {
		rows = append(rows, i)
	}
	return f.check(f.lines.Without(rows, -1).String(), want)
}

// check reads the new text as a whole.
func (f *yamlFile) check(text string, want any) (string, error) {
	d, err := parseYAML(text)
	if err != nil {
		return "", err
	}
	is := d.(*yamlFile).data
	if m, empty := want.(map[string]any); empty && len(m) == 0 && is == nil {
		return text, nil
	}
	if !isSame(is, want) {
		return "", errElse
	}
	return text, nil
}
