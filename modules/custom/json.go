package custom

import (
	"errors"
	"fmt"

	"go.starlark.net/lib/json"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/sandbox"
)

// jsonModule is Starlark's json with limits: what it makes is hardly larger
// than what it is given, and the parser recurses.
func jsonModule() starlark.Value {
	members := starlark.StringDict{}
	for name, check := range map[string]func(starlark.Value) error{
		"encode": sandbox.CheckValue, "decode": checkJSON, "indent": checkJSON,
	} {
		original := json.Module.Members[name].(*starlark.Builtin)
		members[name] = starlark.NewBuiltin("json."+name, func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			for _, v := range args {
				if err := check(v); err != nil {
					return nil, err
				}
			}
			v, err := original.CallInternal(thread, args, kwargs)
			if err != nil {
				return nil, err
			}
			return v, sandbox.Admit(thread, v)
		})
	}
	return &starlarkstruct.Module{Name: "json", Members: members}
}

// The limits on a text of JSON.
const (
	maxJSON      = 1 << 20
	maxJSONDepth = 250
)

// checkJSON refuses a text that is too large or nests too deep.
func checkJSON(v starlark.Value) error {
	text, ok := starlark.AsString(v)
	if !ok {
		return nil // and json says so
	}
	if len(text) > maxJSON {
		return fmt.Errorf("a text of JSON has at most %d bytes", maxJSON)
	}
	if expr.JSONDepth(text) > maxJSONDepth {
		return errors.New("the text nests too deep")
	}
	return nil
}
