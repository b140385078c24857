package testcase

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
)

// block is a block of a case's file, checked against its shape.
type block struct {
	word   string
	label  string
	at     diag.Range // of the header
	fields map[string]field
	blocks []*block
}

// field is an attribute that is given, with a value of its kind.
type field struct {
	value any
	at    diag.Range // of the value
	name  diag.Range
}

// item is an element of a list or an object that has a place of its own.
type item struct {
	key   string
	at    diag.Range
	value any
	items []item
}

// get gives the value of an attribute, and whether it is given.
func get[T any](b *block, name string) (T, bool) {
	v, ok := b.fields[name].value.(T)
	return v, ok
}

// the gives the value of an attribute, or the zero value.
func the[T any](b *block, name string) T {
	v, _ := get[T](b, name)
	return v
}

// blocksOf lists the blocks of one word within the block.
func (b *block) blocksOf(word string) []*block {
	var out []*block
	for _, inner := range b.blocks {
		if inner.word == word {
			out = append(out, inner)
		}
	}
	return out
}

// single gives the block of a word that stands once, or nil.
func (b *block) single(word string) *block {
	for _, inner := range b.blocksOf(word) {
		return inner
	}
	return nil
}

// decoder turns the syntax of one file into blocks.
type decoder struct {
	file string
	src  []byte
	ctx  *hcl.EvalContext
	list diag.List
}

func (d *decoder) errorf(at hcl.Range, hint, format string, args ...any) {
	d.list.Add(diag.Diagnostic{Summary: fmt.Sprintf(format, args...), Hint: hint, Range: expr.Range(at)})
}

// parse reads a file. Nil: it is no HCL, and the list says why.
func (d *decoder) parse() *hclsyntax.Body {
	if err := expr.CheckUTF8(d.file, d.src); err != nil {
		d.list.Add(*err)
		return nil
	}
	if err := expr.CheckNesting(d.file, d.src, false, expr.DefaultMaxNesting); err != nil {
		d.list.Add(*err)
		return nil
	}
	parsed, diags := expr.ParseConfig(d.src, d.file, hcl.InitialPos)
	d.list.Add(expr.FromHCL(diags)...)
	if diags.HasErrors() || parsed == nil {
		return nil
	}
	return parsed.Body.(*hclsyntax.Body)
}

// body decodes what stands in a block of the shape.
func (d *decoder) body(from *hclsyntax.Body, s *shape, into *block) {
	into.fields = map[string]field{}
	for _, a := range inOrder(from.Attributes) {
		k, known := s.fields[a.Name]
		if s.open {
			k, known = anyValue, true
		}
		if !known {
			d.unknownAttribute(a, s)
			continue
		}
		if value, ok := d.value(a.Expr, k); ok {
			into.fields[a.Name] = field{value, expr.Range(a.Expr.Range()), expr.Range(a.NameRange)}
		}
	}
	seen := map[string]diag.Range{}
	for _, b := range from.Blocks {
		inside, known := s.blocks[b.Type]
		if !known {
			d.unknownBlock(b, s)
			continue
		}
		inner := &block{word: b.Type, at: expr.Range(b.DefRange())}
		if !d.labels(b, inside, inner) {
			continue
		}
		if before, twice := seen[b.Type]; twice && !inside.mayRepeat {
			d.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("%s stands twice", b.Type), Range: inner.at,
				Hint: "write all into one block", Related: []diag.Related{{Message: "here first", Range: before}}})
			continue
		}
		seen[b.Type] = inner.at
		if inside.what == "locals" {
			continue // see locals
		}
		d.body(b.Body, inside, inner)
		into.blocks = append(into.blocks, inner)
	}
}

func (d *decoder) labels(b *hclsyntax.Block, s *shape, into *block) bool {
	switch {
	case len(b.Labels) > s.labels:
		d.errorf(b.LabelRanges[s.labels], `write "\"" for a quotation mark in a label`, "%s takes %d labels", b.Type, s.labels)
		return false
	case len(b.Labels) < s.labels && !s.bare:
		d.errorf(b.TypeRange, fmt.Sprintf("write %s \"NAME\" { … }", b.Type), "%s needs a label", b.Type)
		return false
	case len(b.Labels) == 1:
		into.label = b.Labels[0]
	}
	return true
}

func (d *decoder) unknownAttribute(a *hclsyntax.Attribute, s *shape) {
	hint := cmp.Or(s.elsewhere[a.Name], diag.DidYouMean(a.Name, s.names()))
	if _, isBlock := s.blocks[a.Name]; isBlock {
		hint = fmt.Sprintf("it is a block: write %s { … } without \"=\"", a.Name)
	}
	if hint == "" {
		hint = knows(s)
	}
	d.errorf(a.NameRange, hint, "%s has no attribute %q", s.what, a.Name)
}

func (d *decoder) unknownBlock(b *hclsyntax.Block, s *shape) {
	hint := cmp.Or(s.elsewhere[b.Type], diag.DidYouMean(b.Type, s.words()))
	if _, isAttribute := s.fields[b.Type]; isAttribute {
		hint = fmt.Sprintf("it is an attribute: write %s = …", b.Type)
	}
	if hint == "" {
		hint = knows(s)
	}
	d.errorf(b.TypeRange, hint, "%s has no block %q", s.what, b.Type)
}

// knows lists what may stand in a block.
func knows(s *shape) string {
	var parts []string
	if names := s.names(); len(names) > 0 {
		parts = append(parts, "the attributes "+strings.Join(names, ", "))
	}
	if words := s.words(); len(words) > 0 {
		parts = append(parts, "the blocks "+strings.Join(words, ", "))
	}
	if len(parts) == 0 {
		return "nothing can stand here"
	}
	return "there are " + strings.Join(parts, " and ")
}

// inOrder lists attributes as they stand in the source.
func inOrder(attributes hclsyntax.Attributes) []*hclsyntax.Attribute {
	var out []*hclsyntax.Attribute
	for _, a := range attributes {
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b *hclsyntax.Attribute) int {
		return cmp.Compare(a.SrcRange.Start.Byte, b.SrcRange.Start.Byte)
	})
	return out
}
