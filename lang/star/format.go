package star

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"

	"github.com/bazelbuild/buildtools/build"
	starsyntax "go.starlark.net/syntax"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
)

// Format rewrites a script in the canonical layout, which is that of buildifier:
// white space and line breaks, and nothing that has a meaning. A script that
// does not parse is returned as it is, with the reasons.
func Format(name string, src []byte) ([]byte, diag.List) {
	f := &file{name: name, src: src, lines: diag.LineStarts(src)}
	before, list := f.layout()
	if list.HasErrors() {
		return src, list
	}
	if len(bytes.TrimSpace(src)) == 0 {
		return nil, nil
	}
	out, err := layOut(name, src)
	if err == nil {
		err = sameMeaning(name, before, out)
	}
	if err != nil {
		return src, diag.List{{Severity: diag.Error, Summary: "the script cannot be laid out: " + err.Error(), Range: diag.Range{File: name},
			Hint: "leave its layout to yourself, or split it to find what the formatter does not know"}}
	}
	return out, nil
}

// layout parses the script, with its comments.
func (f *file) layout() (*starsyntax.File, diag.List) {
	if err := expr.CheckUTF8(f.name, f.src); err != nil {
		return nil, diag.List{*err}
	}
	if err := checkNesting(f, expr.DefaultMaxNesting); err != nil {
		return nil, diag.List{*err}
	}
	tree, err := dialect().Parse(f.name, f.src, starsyntax.RetainComments)
	if err != nil {
		return nil, diag.List{f.syntaxError(err)}
	}
	return tree, nil
}

// layOut lays the source out. One pass may leave what a second one would
// change, such as white space between comments.
func layOut(name string, src []byte) ([]byte, error) {
	for range 4 {
		next, err := buildify(name, src)
		if err != nil || bytes.Equal(next, src) {
			return next, err
		}
		src = next
	}
	return nil, fmt.Errorf("its layout does not settle")
}

func buildify(name string, src []byte) (out []byte, err error) {
	defer func() { // the library's parser is for other files than these
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	tree, err := build.ParseDefault(name, src)
	if err != nil {
		return nil, err
	}
	return build.FormatWithoutRewriting(tree), nil
}

// sameMeaning is an error unless the output parses to the same tree, with the
// same comments.
func sameMeaning(name string, before *starsyntax.File, out []byte) error {
	f := &file{name: name, src: out, lines: diag.LineStarts(out)}
	after, list := f.layout()
	if list.HasErrors() {
		return list.Err()
	}
	if !slices.Equal(comments(before), comments(after)) {
		return fmt.Errorf("a comment would be lost")
	}
	if !sameNode(reflect.ValueOf(before.Stmts), reflect.ValueOf(after.Stmts)) {
		return fmt.Errorf("its meaning would change")
	}
	return nil
}

// comments lists the texts of all comments of a script, sorted.
func comments(f *starsyntax.File) []string {
	var all []string
	starsyntax.Walk(f, func(n starsyntax.Node) bool {
		if n == nil || n.Comments() == nil {
			return true
		}
		c := n.Comments()
		for _, list := range [][]starsyntax.Comment{c.Before, c.Suffix, c.After} {
			for _, comment := range list {
				all = append(all, string(bytes.TrimRight([]byte(comment.Text), " \t\r")))
			}
		}
		return true
	})
	slices.Sort(all)
	return all
}

// sameNode compares syntax trees, but for positions, comments, and the
// parentheses around a whole expression.
func sameNode(a, b reflect.Value) bool {
	a, b = unwrap(a), unwrap(b)
	if a.IsValid() != b.IsValid() || a.IsValid() && a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !sameNode(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Pointer:
		return sameNode(a.Elem(), b.Elem())
	case reflect.Struct:
		return sameFields(a, b)
	}
	if !a.CanInterface() {
		return true
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

// sameFields compares the fields of a node that have a meaning.
func sameFields(a, b reflect.Value) bool {
	literal, isLiteral := a.Addr().Interface().(*starsyntax.Literal)
	if isLiteral {
		other := b.Addr().Interface().(*starsyntax.Literal)
		return literal.Token == other.Token && reflect.DeepEqual(literal.Value, other.Value)
	}
	for i := range a.NumField() {
		field := a.Type().Field(i)
		switch {
		case field.Type == reflect.TypeFor[starsyntax.Position](), field.Name == "commentsRef", !field.IsExported(),
			field.Name == "Binding", field.Name == "Function", field.Name == "Module" && field.Type.Kind() == reflect.Interface:
			continue
		}
		if !sameNode(a.Field(i), b.Field(i)) {
			return false
		}
	}
	return true
}

// unwrap takes an expression out of its interface, and out of its parentheses.
func unwrap(v reflect.Value) reflect.Value {
	for v.IsValid() && v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if v.IsValid() && v.Kind() == reflect.Pointer && v.IsNil() {
		return reflect.Value{}
	}
	if v.IsValid() && v.CanInterface() {
		if paren, ok := v.Interface().(*starsyntax.ParenExpr); ok {
			return unwrap(reflect.ValueOf(paren.X))
		}
	}
	return v
}
