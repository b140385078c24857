package eval

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tenetcm/tenet/lang/diag"
)

// DefaultMaxNesting is how deep brackets, unary operators and conditionals may
// nest: the parsers recurse, and cannot be stopped.
const DefaultMaxNesting = 250

// CheckNesting refuses a source in native syntax, or a template, that nests
// deeper than limit. It looks at tokens alone, so that no parser has to run.
func CheckNesting(file string, src []byte, isTemplate bool, limit int) *diag.Diagnostic {
	lex := hclsyntax.LexConfig
	if isTemplate {
		lex = hclsyntax.LexTemplate
	}
	// What is wrong with the tokens is reported by the parser.
	tokens, _ := lex(src, file, hcl.InitialPos)
	var n nesting
	for i, t := range tokens {
		n.enter(t)
		if t.Type == hclsyntax.TokenTemplateControl && i+1 < len(tokens) {
			n.control(string(tokens[i+1].Bytes))
		}
		if n.depth > limit {
			return tooDeep(Range(t.Range), limit)
		}
	}
	return nil
}

// nesting counts how deep the parser's recursion is.
type nesting struct {
	depth     int // open brackets, operators and template directives
	operators int // unary and conditional operators since the innermost bracket
	open      []level
}

type level struct {
	bracket   hclsyntax.TokenType
	operators int // of the level outside
}

func (n *nesting) enter(t hclsyntax.Token) {
	switch t.Type {
	case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenOQuote,
		hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
		n.open = append(n.open, level{t.Type, n.operators})
		n.operators = 0
		n.depth++
	case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCQuote,
		hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
		n.endExpression()
		if last := len(n.open) - 1; last >= 0 {
			n.operators, n.open = n.open[last].operators, n.open[:last]
			n.depth--
		}
	case hclsyntax.TokenComma:
		n.endExpression()
	case hclsyntax.TokenNewline:
		// Within parentheses and lists a newline ends nothing.
		if last := len(n.open) - 1; last < 0 || n.open[last].bracket == hclsyntax.TokenOBrace {
			n.endExpression()
		}
	case hclsyntax.TokenBang, hclsyntax.TokenMinus, hclsyntax.TokenQuestion:
		n.operators++
		n.depth++
	}
}

func (n *nesting) endExpression() {
	n.depth -= n.operators
	n.operators = 0
}

// control counts the directives of templates, which end far from where they
// begin.
func (n *nesting) control(keyword string) {
	switch keyword {
	case "if", "for":
		n.depth++
	case "endif", "endfor":
		n.depth--
	}
}

func tooDeep(at diag.Range, limit int) *diag.Diagnostic {
	return &diag.Diagnostic{Severity: diag.Error,
		Summary: fmt.Sprintf("the source nests deeper than %d levels", limit),
		Detail:  "Brackets, operators and conditionals within one another are limited.",
		Hint:    "give parts of the expression names, in locals", Range: at}
}

// CheckJSONNesting is CheckNesting for JSON. Its strings are checked when they
// are read as templates.
func CheckJSONNesting(file string, src []byte, limit int) *diag.Diagnostic {
	depth, line, column, quoted := 0, 1, 0, false
	for i := 0; i < len(src); i++ {
		if src[i]&0xc0 != 0x80 { // not within a character
			column++
		}
		switch c := src[i]; {
		case c == '\n':
			line, column = line+1, 0
		case quoted && c == '\\':
			i++
			column++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if depth > limit {
			at := diag.Range{File: file, Start: diag.Pos{Line: line, Column: column, Byte: i}}
			at.End = diag.Pos{Line: line, Column: column + 1, Byte: i + 1}
			return tooDeep(at, limit)
		}
	}
	return nil
}
