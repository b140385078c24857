// Package eval holds what all front-ends of the language share: values and
// their plain form, references, functions, variables, and the way from
// evaluated options and attributes to declarations. It knows no syntax.
//
// Values are cty values. Two kinds of them carry more than data: a reference
// (see RefValue) and a sensitive value (see Sensitive).
package eval

import "github.com/tenetcm/tenet/lang/diag"

// Target is what a site is evaluated for: one host and what is known of it.
type Target struct {
	// Host is the host's name, which the declarations carry.
	Host string
	// Facts gives the plain value of a top-level fact: "os" gives a map. It is
	// called once for each fact that the site names. Nil: naming a fact is an
	// error.
	Facts func(name string) (any, error)
	// Environment holds the values of TENET_VAR_name, by name. Names that the
	// site does not declare are ignored.
	Environment map[string]string
	// VarFiles are files of "name = value" lines; later ones win.
	VarFiles []VarFile
	// Vars are single values; later ones win.
	Vars []Var
}

// VarFile is the text of a file of variable values.
type VarFile struct {
	Name string // as the user named it; ".json" at its end makes it JSON
	Data []byte
}

// Var is a variable value given as text: the string itself for a variable of
// type string, number, bool or any, otherwise an expression.
type Var struct{ Name, Value string }

// VariableValue is a variable with its value and the ways it was given.
type VariableValue struct {
	Name        string           `json:"name"`
	Value       any              `json:"value"` // plain; nil when sensitive
	Type        string           `json:"type"`
	Description string           `json:"description,omitempty"`
	Sensitive   bool             `json:"sensitive,omitempty"`
	From        VariableSource   `json:"from"`
	Overrode    []VariableSource `json:"overrode,omitempty"` // highest precedence first
	Merged      bool             `json:"merged,omitempty"`   // the value joins From with all in Overrode
}

// VariableSource is one way in which a variable got a value.
type VariableSource struct {
	Level string     `json:"level"` // "default", "site", "environment", "var-file" or "var"
	Value any        `json:"value"` // plain; nil when sensitive
	Range diag.Range `json:"range,omitzero"`
}
