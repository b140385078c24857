package custom

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/tenetcm/tenet/states"
)

// names are what a module may use beside Starlark's own.
func names() starlark.StringDict {
	return starlark.StringDict{
		"attr":    starlark.NewBuiltin("attr", newAttribute),
		"fail":    starlark.NewBuiltin("fail", fail),
		"json":    jsonModule(),
		"print":   starlark.NewBuiltin("print", noPrint),
		"search":  starlark.NewBuiltin("search", search),
		"seconds": starlark.NewBuiltin("seconds", seconds),
		"struct":  starlark.NewBuiltin("struct", starlarkstruct.Make),
		"wrong":   starlark.NewBuiltin("wrong", failAttribute),
	}
}

// failure is what a module says by fail: no mistake in the module, but what is
// the matter with the host.
type failure struct{ message string }

func (e *failure) Error() string { return e.message }

func fail(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(kwargs) > 0 {
		return nil, errors.New("fail: unexpected keyword argument")
	}
	var words []string
	for _, v := range args {
		text, err := printable(v)
		if err != nil {
			return nil, err
		}
		words = append(words, text)
	}
	if len(words) == 0 {
		return nil, errors.New("fail: say what is wrong: fail(MESSAGE)")
	}
	return nil, &failure{strings.Join(words, " ")}
}

// failAttribute ends validate with a mistake in one attribute.
func failAttribute(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var e states.AttributeError
	err := starlark.UnpackArgs("wrong", args, kwargs, "attribute", &e.Attribute, "message", &e.Message, "hint?", &e.Hint)
	if err != nil {
		return nil, err
	}
	return nil, &e
}

func noPrint(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
	return nil, errors.New("a module cannot print: fail(VALUE) shows a value, and ends")
}

// The sizes up to which search works in one step.
const (
	maxPattern = 1 << 10
	maxText    = 1 << 20
)

// search looks for a regular expression (RE2), and gives the match and its
// groups, or None.
func search(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var pattern, text string
	if err := starlark.UnpackArgs("search", args, kwargs, "pattern", &pattern, "text", &text); err != nil {
		return nil, err
	}
	if len(pattern) > maxPattern || len(text) > maxText {
		return nil, fmt.Errorf("search: the pattern may have %d bytes, and the text %d", maxPattern, maxText)
	}
	expression, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	found := expression.FindStringSubmatchIndex(text)
	if found == nil {
		return starlark.None, nil
	}
	groups := make(starlark.Tuple, len(found)/2)
	for i := range groups {
		groups[i] = starlark.None
		if from, to := found[2*i], found[2*i+1]; from >= 0 {
			groups[i] = starlark.String(text[from:to])
		}
	}
	return groups, nil
}

// seconds gives how long a duration such as "1m30s" is.
func seconds(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var text string
	if err := starlark.UnpackArgs("seconds", args, kwargs, "duration", &text); err != nil {
		return nil, err
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return nil, fmt.Errorf(`seconds: %q is no duration; write "30s", "5m" or "1h30m"`, text)
	}
	return starlark.Float(d.Seconds()), nil
}
