package expr

import (
	"fmt"
	"io/fs"
	"path"
	"reflect"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tenetcm/tenet/lang/diag"
)

// SourceType is the type of what source() gives: one file or directory of a site or component.
// Whoever is given the value may read it from another folder, and nothing else there.
var SourceType = cty.CapsuleWithOps("source", reflect.TypeFor[source](), &cty.CapsuleOps{
	GoString:     func(v any) string { return v.(*source).text() },
	TypeGoString: func(reflect.Type) string { return "expr.SourceType" },
	RawEquals:    isSameSource,
	Equals:       func(a, b any) cty.Value { return cty.BoolVal(isSameSource(a, b)) },
	HashKey:      func(v any) string { return v.(*source).text() },
})

// source is a file or a directory.
type source struct {
	site fs.FS
	name string // the path of site among all that a run opens
	at   string // the path within site
}

// text is how messages and lists of values name it.
func (s *source) text() string { return fmt.Sprintf("source(%q)", path.Join(s.name, s.at)) }

func isSameSource(a, b any) bool { return a.(*source).text() == b.(*source).text() }

// sourceOf gives the source that a value is, if it is one.
func sourceOf(v cty.Value) (*source, bool) {
	if !v.Type().Equals(SourceType) || !v.IsKnown() || v.IsNull() {
		return nil, false
	}
	return v.EncapsulatedValue().(*source), true
}

// SourceText is how a value of SourceType is written for readers. It is known, and has no marks.
func SourceText(v cty.Value) string { return v.EncapsulatedValue().(*source).text() }

// HoldsSource reports whether a value of the type is a source, or may have one in it.
func HoldsSource(t cty.Type) bool { return holdsType(t, SourceType) }

// display is Plain for readers: sources are shown by their texts.
func display(v cty.Value) (any, error) {
	if !HoldsSource(v.Type()) {
		return Plain(v)
	}
	v, err := cty.Transform(v, func(_ cty.Path, e cty.Value) (cty.Value, error) {
		switch s, ok := sourceOf(e); {
		case ok:
			return cty.StringVal(s.text()), nil
		case e.Type().Equals(SourceType):
			return cty.NullVal(cty.String), nil
		}
		return e, nil
	})
	if err != nil {
		return nil, err
	}
	return Plain(v)
}

// encoder is a function that writes data, which sources and references are not.
func encoder(f function.Function) function.Function {
	return checkArguments(f, func(args []cty.Value) error {
		return cty.Walk(args[0], func(_ cty.Path, v cty.Value) (bool, error) {
			if v.Type().IsCapsuleType() && isPresent(v) {
				_, err := Plain(v)
				return false, err
			}
			return true, nil
		})
	})
}

// errSourceAsValue is why a source is refused where its value would be needed.
func errSourceAsValue(s *source) error {
	return &diag.HintError{Message: s.text() + " stands where text or data is needed",
		Hint: "a source is for the attribute source, and for read(), template() and exists(); read() gives its text"}
}

// sourceFunction makes source(PATH) for files in dir.
func (f *Files) sourceFunction(dir string) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}},
		Type:   function.StaticReturnType(SourceType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			name := args[0].AsString()
			at, err := f.Locate(dir, name)
			if err != nil {
				return cty.UnknownVal(SourceType), err
			}
			info, err := fs.Stat(f.site, at)
			switch {
			case err != nil:
				return cty.UnknownVal(SourceType), f.explainMissing(name, at, err)
			case !info.IsDir() && !info.Mode().IsRegular():
				return cty.UnknownVal(SourceType), fmt.Errorf("%q is no regular file, and no directory", name)
			}
			return cty.CapsuleVal(SourceType, &source{site: f.site, name: f.name, at: at}), nil
		},
	})
}

// of gives the files among which a source is.
func (f *Files) of(s *source) *Files {
	if s.name == f.name {
		return f
	}
	other := f.others[s.name]
	if other == nil {
		other = NewFilesOf(s.site, s.name)
		other.vault, other.lookIntoHost = f.vault, f.lookIntoHost
		if f.others == nil {
			f.others = map[string]*Files{}
		}
		f.others[s.name] = other
	}
	return other
}

// fileParameter is the parameter of a function that takes a path or a source.
func fileParameter() function.Parameter {
	return function.Parameter{Name: "path", Type: cty.DynamicPseudoType}
}

// checkFile refuses what is neither a path nor a source.
func checkFile(t cty.Type) error {
	if t == cty.String || t == cty.DynamicPseudoType || t.Equals(SourceType) || convert.GetConversion(t, cty.String) != nil {
		return nil
	}
	return function.NewArgErrorf(0, "a path or a source is required, not %s", Article(t.FriendlyName()))
}

// file gives what the argument of a function for files in dir names: among which files, in which
// directory and by which name.
func (f *Files) file(dir string, argument cty.Value) (files *Files, in, name string, err error) {
	if s, ok := sourceOf(argument); ok {
		return f.of(s), ".", s.at, nil
	}
	text, err := convert.Convert(argument, cty.String)
	if err != nil {
		return nil, "", "", err
	}
	return f, dir, text.AsString(), nil
}
