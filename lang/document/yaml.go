package document

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/tenetcm/tenet/lang/diag"
)

// yamlReader makes nodes of YAML 1.2.
type yamlReader struct {
	builder
	aliasDepth int // aliases that are being followed
	aliased    int // nodes that aliases have given again
}

var yamlFault = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)
})

func readYAML(text *diag.Text) (*Node, error) {
	list, err := readStream(text, 1)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return &Node{Range: text.Span(0, 0)}, nil
	}
	return list[0], nil
}

// readStream reads the documents of a stream; more than so many are an error, unless that is 0.
func readStream(text *diag.Text, most int) (list []*Node, err error) {
	d, r := yaml.NewDecoder(bytes.NewReader(text.Data)), &yamlReader{builder: builder{text: text}}
	for {
		var document yaml.Node
		if err := d.Decode(&document); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			line, why := 1, err.Error()
			if m := yamlFault().FindStringSubmatch(why); m != nil {
				why = m[2]
				if n, err := strconv.Atoi(m[1]); err == nil {
					line = max(n, 1)
				}
			}
			return nil, wrong(text.Line(line), "look at the lines around it: the indent, a colon, a quote", "this is no YAML: %s", why)
		}
		if most > 0 && len(list) == most {
			return nil, wrong(text.Line(document.Line), "a file is one document", "there is more than one document")
		}
		n, err := r.convert(&document, 0)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
}

func (r *yamlReader) convert(y *yaml.Node, depth int) (*Node, error) {
	n := &Node{Range: r.place(y)}
	if err := r.add(n.Range, depth); err != nil {
		return nil, err
	}
	if r.aliasDepth > 0 {
		if r.aliased++; r.aliased > maxAliased {
			return nil, wrong(n.Range, "write the values out", "the document's aliases stand for more than %d values", maxAliased)
		}
	}
	var err error
	switch y.Kind {
	case yaml.DocumentNode:
		return r.convert(y.Content[0], depth)
	case yaml.AliasNode:
		r.aliasDepth++
		n, err = r.convert(y.Alias, depth+1)
		r.aliasDepth--
	case yaml.SequenceNode:
		n.Kind = List
		err = r.checkTag(y, "!!seq")
		for i := 0; err == nil && i < len(y.Content); i++ {
			var e *Node
			e, err = r.convert(y.Content[i], depth+1)
			n.Items = append(n.Items, e)
		}
	case yaml.MappingNode:
		n.Kind = Map
		if err = r.checkTag(y, "!!map"); err == nil {
			err = r.fields(n, y, depth)
		}
	default:
		if n.Value, err = r.scalar(y, n.Range); err == nil {
			err = checkNumber(n)
		}
	}
	return n, err
}

// place is where a value begins; a scalar in one line ends where it does.
func (r *yamlReader) place(y *yaml.Node) diag.Range {
	at := r.text.Character(max(y.Line, 1), max(y.Column, 1))
	if y.Kind == yaml.ScalarNode && y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		_, end := r.text.Bounds(at.Start.Line)
		width := len(y.Value)
		if y.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
			width += 2
		}
		at = r.text.Span(at.Start.Byte, max(at.End.Byte, min(at.Start.Byte+width, end)))
	}
	return at
}

func (r *yamlReader) checkTag(y *yaml.Node, want string) error {
	if y.Style&yaml.TaggedStyle == 0 || y.ShortTag() == want {
		return nil
	}
	return wrong(r.place(y), "leave the tag out", "a document has no values of the kind %s", y.Tag)
}

func (r *yamlReader) fields(n *Node, y *yaml.Node, depth int) error {
	index := map[string]diag.Range{}
	var merges []*Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		key := y.Content[i]
		value, err := r.convert(y.Content[i+1], depth+1)
		if err != nil {
			return err
		}
		if key.Kind == yaml.ScalarNode && key.Tag == "!!merge" {
			if merges, err = mergeable(merges, value); err != nil {
				return err
			}
			continue
		}
		name, err := r.name(key, depth)
		if err == nil {
			err = put(n, index, name, r.place(key), value)
		}
		if err != nil {
			return err
		}
	}
	for _, m := range merges {
		for _, f := range m.Fields {
			if _, ok := index[f.Name]; !ok {
				if err := put(n, index, f.Name, f.Range, f.Value); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// mergeable adds the maps that "<<" names.
func mergeable(list []*Node, value *Node) ([]*Node, error) {
	maps := []*Node{value}
	if value.Kind == List {
		maps = value.Items
	}
	for _, m := range maps {
		if m.Kind != Map {
			return nil, wrong(m.Range, "write << in quotes if it is a name", "<< takes in the fields of maps, and this is none")
		}
	}
	return append(list, maps...), nil
}

// name gives the name of a field: a text, or another scalar as it is written.
func (r *yamlReader) name(key *yaml.Node, depth int) (string, error) {
	for hops := 0; key.Kind == yaml.AliasNode && hops < maxDepth; hops++ {
		key = key.Alias
	}
	if key.Kind != yaml.ScalarNode {
		return "", wrong(r.place(key), "", "the name of a field is a text")
	}
	if err := r.add(r.place(key), depth); err != nil {
		return "", err
	}
	value, err := r.scalar(key, r.place(key))
	if err != nil {
		return "", err
	}
	if value == nil {
		return "", wrong(r.place(key), "write it in quotes if it is a name", "a field has no name")
	}
	return key.Value, nil
}

// scalar gives a single value, by the core schema of YAML 1.2.
func (r *yamlReader) scalar(y *yaml.Node, at diag.Range) (any, error) {
	quoted := y.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
	if y.Style&yaml.TaggedStyle != 0 {
		switch y.ShortTag() {
		case "!!str", "!":
			return y.Value, nil
		case "!!int", "!!float", "!!bool", "!!null":
		default:
			return nil, wrong(at, "leave the tag out", "a document has no values of the kind %s", y.Tag)
		}
	} else if quoted {
		return y.Value, nil
	}
	value := plain(y.Value)
	if _, isText := value.(string); isText && y.Style&yaml.TaggedStyle != 0 {
		return nil, wrong(at, "", "%q is no %s", y.Value, y.ShortTag())
	}
	if infinite().MatchString(y.Value) {
		return nil, wrong(at, "write it in quotes if it is a text", "a document holds no infinite numbers, and none that are not numbers")
	}
	return value, nil
}

// plain gives what a plain scalar stands for.
func plain(text string) any {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return nil
	case "true", "True", "TRUE":
		return true
	case "false", "False", "FALSE":
		return false
	}
	switch {
	case decimal().MatchString(text) || based().MatchString(text):
		return integer(text)
	case decimals().MatchString(text):
		return fraction(text)
	}
	return text
}
