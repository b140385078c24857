package inventory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/tenetcm/tenet/lang/diag"
)

// yamlReader makes nodes of YAML.
type yamlReader struct {
	*problems
	*diag.Text
	nodes      int
	aliasDepth int // aliases
	aliasNodes int // nodes that aliases gave again
}

var yamlLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)
})

// yaml reads one document of YAML; nil: there is none, or it is wrong, which is
// reported.
func (p *problems) yaml(s *diag.Text) *node {
	d := yaml.NewDecoder(bytes.NewReader(s.Data))
	var doc, more yaml.Node
	err := d.Decode(&doc)
	if err == io.EOF {
		return nil
	}
	if err == nil {
		if err = d.Decode(&more); err == nil {
			err = fmt.Errorf("yaml: line %d: there is more than one document", more.Line)
		} else if err == io.EOF {
			err = nil
		}
	}
	if err != nil {
		m := yamlLine().FindStringSubmatch(err.Error())
		src, why := s.Line(1), err.Error()
		if m != nil {
			number, _ := strconv.Atoi(m[1])
			src, why = s.Line(max(number, 1)), m[2]
		}
		p.errorAt(src, "look at the lines around it: the indent, a colon, a quote", "this is no YAML: %s", why)
		return nil
	}
	r := &yamlReader{problems: p, Text: s}
	n, err := r.convert(&doc, 0)
	if err != nil {
		p.errorAt(s.Line(doc.Line), "write it plainly", "%v", err)
		return nil
	}
	return n
}

func (r *yamlReader) convert(y *yaml.Node, depth int) (*node, error) {
	if r.nodes++; r.nodes > maxNodes {
		return nil, fmt.Errorf("it holds more than %d values", maxNodes)
	}
	if r.aliasDepth > 0 {
		if r.aliasNodes++; r.aliasNodes > maxAliased {
			return nil, fmt.Errorf("its aliases stand for more than %d values", maxAliased)
		}
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("it nests deeper than %d levels", maxDepth)
	}
	n := &node{src: r.Character(y.Line, y.Column)}
	var err error
	switch y.Kind {
	case yaml.DocumentNode:
		return r.convert(y.Content[0], depth)
	case yaml.AliasNode:
		r.aliasDepth++
		n, err := r.convert(y.Alias, depth+1)
		r.aliasDepth--
		return n, err
	case yaml.SequenceNode:
		n.kind = listKind
		for _, e := range y.Content {
			inner, err := r.convert(e, depth+1)
			if err != nil {
				return nil, err
			}
			n.list = append(n.list, inner)
		}
	case yaml.MappingNode:
		n.kind = objectKind
		err = r.mapping(n, y, depth)
	default:
		n.scalar, err = scalar(y)
		n.src.End.Column += len([]rune(y.Value)) - 1
	}
	return n, err
}

func (r *yamlReader) mapping(n *node, y *yaml.Node, depth int) error {
	var merges []*node
	for i := 0; i+1 < len(y.Content); i += 2 {
		k := y.Content[i]
		v, err := r.convert(y.Content[i+1], depth+1)
		if err != nil {
			return err
		}
		if k.Kind == yaml.ScalarNode && k.Tag == "!!merge" {
			if v.kind == listKind {
				merges = append(merges, v.list...)
			} else {
				merges = append(merges, v)
			}
			continue
		}
		name, err := r.keyName(k, depth)
		if err != nil {
			return err
		}
		src := r.Character(k.Line, k.Column)
		if n.put(name, src, v) {
			r.warn(src, "leave one of them out", "%q is given twice; the last counts", name)
		}
	}
	for _, m := range merges {
		for _, k := range m.keys {
			if _, ok := n.values[k.name]; !ok {
				n.put(k.name, k.src, m.values[k.name])
			}
		}
	}
	return nil
}

func (r *yamlReader) keyName(k *yaml.Node, depth int) (string, error) {
	inner, err := r.convert(k, depth+1)
	if err != nil {
		return "", err
	}
	name, ok := keyText(inner.scalar)
	if !ok || inner.kind != scalarKind {
		return "", fmt.Errorf("line %d: a key is text", k.Line)
	}
	if k.Kind == yaml.ScalarNode && inner.scalar != nil {
		if _, isBool := inner.scalar.(bool); !isBool {
			name = k.Value // as it is written: 01 is a name
		}
	}
	return name, nil
}

// scalar gives a single value, as YAML 1.1 has it, which Ansible reads.
func scalar(y *yaml.Node) (any, error) {
	quoted := y.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
	if y.Style&yaml.TaggedStyle == 0 {
		if quoted {
			return y.Value, nil
		}
		return plainScalar(y.Value), nil
	}
	switch y.ShortTag() {
	case "!vault", "!vault-encrypted":
		return isVault, nil
	case "!unsafe", "!!str", "!":
		return y.Value, nil
	case "!!int", "!!float", "!!bool", "!!null":
		return plainScalar(y.Value), nil
	}
	return nil, fmt.Errorf("line %d: there is no tag %s here", y.Line, y.Tag)
}

var (
	yamlInt = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[-+]?(0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+)$`)
	})
	yamlSixty = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[-+]?[1-9][0-9_]*(:[0-5]?[0-9])+$`)
	})
	yamlFloat = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[-+]?([0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)?|\.[0-9][0-9_]*([eE][-+][0-9]+)?)$`)
	})
)

func plainScalar(text string) any {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return nil
	case "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON":
		return true
	case "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF":
		return false
	}
	digits := strings.ReplaceAll(text, "_", "")
	switch {
	case yamlInt().MatchString(text):
		if len(digits) > 1000 {
			return text
		}
		if n, ok := new(big.Int).SetString(strings.TrimPrefix(digits, "+"), 0); ok {
			return json.Number(n.String())
		}
	case yamlSixty().MatchString(text) && len(digits) < 100:
		n := new(big.Int)
		for _, part := range strings.Split(strings.TrimLeft(digits, "+-"), ":") {
			digit, _ := new(big.Int).SetString(part, 10)
			n.Add(n.Mul(n, big.NewInt(60)), digit)
		}
		if digits[0] == '-' {
			n.Neg(n)
		}
		return json.Number(n.String())
	case yamlFloat().MatchString(text):
		if v, ok := floatOf(strings.TrimPrefix(digits, "+")); ok {
			return v
		}
	}
	return text
}
