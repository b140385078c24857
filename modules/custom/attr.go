package custom

import (
	"errors"
	"fmt"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// attribute is what attr gives: an attribute without its name. Mistakes are
// told when all of the schema is there, so that all are told at once.
type attribute struct {
	states.Attribute
	at       syntax.Position
	mistakes []mistake
}

type mistake struct{ summary, hint string }

// String is for errors.
func (a *attribute) String() string { return fmt.Sprintf("attr(%q)", string(a.Kind)) }

// Type is the type's name in Starlark.
func (a *attribute) Type() string { return "attr" }

// Freeze does nothing: an attribute never changes.
func (a *attribute) Freeze() {}

// Truth is always true.
func (a *attribute) Truth() starlark.Bool { return true }

// Hash refuses to make a key of it.
func (a *attribute) Hash() (uint32, error) { return 0, errors.New("unhashable type: attr") }

func (a *attribute) fail(hint, format string, args ...any) {
	a.mistakes = append(a.mistakes, mistake{fmt.Sprintf(format, args...), hint})
}

// newAttribute is attr(kind, doc = …, FLAG = True …).
func newAttribute(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	a := &attribute{at: thread.CallFrame(1).Pos}
	flags := map[string]*bool{
		"key": &a.Key, "required": &a.Required, "present": &a.Present, "input": &a.In, "out": &a.Out,
		"path": &a.Path, "sensitive": &a.Sensitive, "widens": &a.Widens,
	}
	if len(args) > 1 {
		a.fail(`write attr("KIND", doc = "…")`, "attr takes one value without a name, its kind")
	}
	if len(args) > 0 {
		a.setKind(args[0])
	}
	for _, pair := range kwargs {
		name, _ := starlark.AsString(pair[0])
		switch flag := flags[name]; {
		case flag != nil:
			b, ok := pair[1].(starlark.Bool)
			if !ok {
				a.fail("write "+name+" = True", "%s is True or False, not a value of type %s", name, pair[1].Type())
			}
			*flag = bool(b)
		case name == "kind":
			a.setKind(pair[1])
		case name == "doc":
			a.setDoc(pair[1])
		case name == "default":
			a.setDefault(pair[1])
		case name == "enum":
			a.setEnum(pair[1])
		default:
			names := []string{"key", "required", "present", "input", "out", "path", "sensitive", "widens", "doc", "default", "enum", "kind"}
			hint := diag.DidYouMean(name, names)
			if name == "optional" {
				hint = "what is not required is optional"
			}
			a.fail(hint, "attr knows no %q", name)
		}
	}
	if a.Kind == "" && len(a.mistakes) == 0 {
		a.fail(`write attr("string", …)`, "the attribute has no kind")
	}
	return a, nil
}

func (a *attribute) setKind(v starlark.Value) {
	text, ok := starlark.AsString(v)
	a.Kind = states.Kind(text)
	var kinds []string
	for _, k := range states.Kinds() {
		kinds = append(kinds, string(k))
	}
	switch {
	case !ok:
		a.fail(`write attr("string", …)`, "a kind is a string, not a value of type %s", v.Type())
		a.Kind = states.KindString
	case !slices.Contains(states.Kinds(), a.Kind):
		a.fail(likeKind(text, kinds), "there is no kind %q", text)
		a.Kind = states.KindString
	}
}

// likeKind suggests a kind.
func likeKind(text string, kinds []string) string {
	other := map[string]string{
		"str": "string", "text": "string", "boolean": "bool", "integer": "int", "float": "number", "dict": "map",
		"object": "map", "array": "list", "file": "source", "bytes": "content", "time": "duration",
	}
	if k := other[text]; k != "" {
		return fmt.Sprintf("did you mean %q?", k)
	}
	if hint := diag.DidYouMean(text, kinds); hint != "" {
		return hint
	}
	return fmt.Sprintf("the kinds are %v", kinds)
}

func (a *attribute) setDoc(v starlark.Value) {
	text, ok := starlark.AsString(v)
	if !ok {
		a.fail("", "doc is a string, not a value of type %s", v.Type())
		text = "…"
	}
	a.Doc = text
}

func (a *attribute) setDefault(v starlark.Value) {
	if v == starlark.None {
		return
	}
	plain, err := toPlain(v)
	if err != nil {
		a.fail("", "default: %v", err)
		return
	}
	a.Default = plain
}

func (a *attribute) setEnum(v starlark.Value) {
	plain, err := toPlain(v)
	list, ok := plain.([]any)
	for _, e := range list {
		text, isText := e.(string)
		ok = ok && isText
		a.Enum = append(a.Enum, text)
	}
	if err != nil || !ok || len(list) == 0 {
		a.fail(`write enum = ["one", "other"]`, "enum is a list of strings")
		a.Enum = nil
	}
}
