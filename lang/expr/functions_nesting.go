package expr

import (
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// limitDepth is a function that decodes a text, for texts that do not nest deeper
// than sources may: the decoders recurse, and cannot be stopped.
func limitDepth(f function.Function, depth func(text string) int) function.Function {
	check := func(args []cty.Value) error {
		text, _ := args[0].Unmark()
		if text.IsKnown() && !text.IsNull() && depth(text.AsString()) > DefaultMaxNesting {
			return fmt.Errorf("the text nests deeper than %d levels", DefaultMaxNesting)
		}
		return nil
	}
	return function.New(&function.Spec{
		Description: f.Description(),
		Params:      f.Params(),
		Type: func(args []cty.Value) (cty.Type, error) {
			if err := check(args); err != nil {
				return cty.DynamicPseudoType, err
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f.Call(args) },
	})
}

// JSONDepth is how deep brackets nest in JSON.
func JSONDepth(text string) int {
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
			deepest = max(deepest, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	return deepest
}

// yamlDepth is at least how deep collections nest in YAML: brackets, wherever
// they stand, and indentation with the marks of sequences and keys that open a
// level of their own.
func yamlDepth(text string) int {
	deepest, flow := 0, 0
	var indents []int
	for line := range strings.Lines(text) {
		rest := strings.TrimLeft(line, " ")
		column := len(line) - len(rest)
		if strings.TrimSpace(rest) == "" {
			continue
		}
		for len(indents) > 0 && indents[len(indents)-1] >= column {
			indents = indents[:len(indents)-1]
		}
		indents = append(indents, column)
		marks := 0
		for len(rest) > 1 && strings.ContainsRune("-?:", rune(rest[0])) && (rest[1] == ' ' || rest[1] == '\t') {
			marks++
			rest = strings.TrimLeft(rest[1:], " \t")
		}
		deepest = max(deepest, len(indents)+marks+flow)
		for i := 0; i < len(rest); i++ {
			switch rest[i] {
			case '[', '{':
				flow++
			case ']', '}':
				flow = max(flow-1, 0)
			}
			deepest = max(deepest, len(indents)+marks+flow)
		}
	}
	return deepest
}
