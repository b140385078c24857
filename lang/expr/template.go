package expr

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tenetcm/tenet/lang/diag"
)

// template is a parsed template file.
type template struct {
	expr  hclsyntax.Expression
	diags hcl.Diagnostics
	// indexed says that it holds an index whose key is computed.
	indexed bool
	// functions are those of its own directory.
	functions map[string]function.Function
}

// TemplateError is what is wrong within a template file, with the positions
// there.
type TemplateError struct{ List diag.List }

// Error gives the first mistake.
func (e *TemplateError) Error() string { return e.List[0].Error() }

// parse reads and parses a template file, once. chain holds the templates that
// are being rendered, outermost first.
func (f *Files) parse(dir, name string, chain []string) (*template, error) {
	text, at, err := f.Text(dir, name)
	if err != nil {
		return nil, err
	}
	full := path.Join(f.name, at)
	if slices.Contains(chain, full) {
		return nil, &diag.HintError{
			Message: fmt.Sprintf("the template %q includes itself: %s", full, strings.Join(append(chain, full), " → ")),
			Hint:    "a template may include others, but not in a circle"}
	}
	t := f.templates[at]
	if t == nil {
		t = &template{}
		if err := CheckNesting(full, []byte(text), true, DefaultMaxNesting); err != nil {
			return nil, &TemplateError{List: diag.List{*err}}
		}
		t.expr, t.diags = hclsyntax.ParseTemplate([]byte(text), full, hcl.InitialPos)
		if t.expr != nil {
			t.diags = append(t.diags, NewArithmetic().ReplaceAll(t.expr)...)
			t.indexed = HasIndex(t.expr)
			t.expr = ReplaceHostAttributes(t.expr, func(hcl.Traversal) int { return 1 })
		}
		f.templates[at] = t
	}
	if t.diags.HasErrors() {
		return nil, &TemplateError{List: FromHCL(t.diags)}
	}
	return f.within(t, at, append(slices.Clone(chain), full)), nil
}

// within gives a parsed template with the functions that it has within others: chain, with itself last.
func (f *Files) within(parsed *template, at string, chain []string) *template {
	key := "\x00" + strings.Join(chain, "\x00") // which no path is
	t := f.templates[key]
	if t == nil {
		own := *parsed
		t = &own
		t.functions = f.functions(path.Dir(at), chain)
		f.templates[key] = t
	}
	return t
}

// render evaluates the template file with the variables.
func (f *Files) render(dir, name string, vars map[string]cty.Value, chain []string) (cty.Value, error) {
	t, err := f.parse(dir, name, chain)
	if err != nil {
		return cty.DynamicVal, err
	}
	ctx := &hcl.EvalContext{Variables: vars, Functions: t.functions}
	v, diags := t.expr.Value(ctx)
	if diags.HasErrors() {
		return cty.DynamicVal, &TemplateError{List: templateHints(FromHCL(diags))}
	}
	if t.indexed {
		v = MarkIndexed(t.expr, ctx, v)
	}
	return v, nil
}

// templateHints says where a template's variables come from.
func templateHints(l diag.List) diag.List {
	for i, d := range l {
		if d.Summary == "Unknown variable" {
			l[i].Hint = "a template sees only what the second argument of template() gives it"
		}
	}
	return l
}

// templateFunction makes template(PATH, VARS) for files in dir.
func (f *Files) templateFunction(dir string, chain []string) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{
			fileParameter(),
			{Name: "vars", Type: cty.DynamicPseudoType},
		},
		Type: func(args []cty.Value) (cty.Type, error) {
			if err := checkFile(args[0].Type()); err != nil {
				return cty.String, err
			}
			if t := args[1].Type(); t != cty.DynamicPseudoType && !t.IsObjectType() && !t.IsMapType() {
				return cty.String, function.NewArgErrorf(1, "an object is required, such as { name = var.name }")
			}
			return cty.String, nil
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if !args[1].IsWhollyKnown() {
				return cty.UnknownVal(cty.String), nil
			}
			files, in, name, err := f.file(dir, args[0])
			if err != nil {
				return cty.UnknownVal(cty.String), err
			}
			v, err := files.render(in, name, args[1].AsValueMap(), chain)
			if err != nil {
				return cty.UnknownVal(cty.String), err
			}
			return toString(v)
		},
	})
}

func toString(v cty.Value) (cty.Value, error) {
	switch {
	case v.IsNull():
		return cty.UnknownVal(cty.String), errors.New("the template gives null")
	case v.Type() == cty.String:
		return v, nil
	}
	p, err := Plain(v)
	if err != nil {
		return cty.UnknownVal(cty.String), err
	}
	switch p.(type) {
	case []any, map[string]any:
		return cty.UnknownVal(cty.String), errors.New("the template gives a collection, not text")
	}
	return cty.StringVal(fmt.Sprint(p)), nil
}
