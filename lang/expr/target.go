// Package expr holds what all front-ends of the language share: values and
// their plain form, references, functions, variables, and the way from
// evaluated options and attributes to declarations. It knows no syntax.
//
// Values are cty values. Two kinds of them carry more than data: a reference
// (see RefValue) and a sensitive value (see Sensitive).
package expr

import (
	"context"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

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
	// Secrets gives the value of a secret, the text that secret(NAME) stands
	// for. It is called once for each name that is used. An error that is or
	// wraps a diag.Diagnostic or diag.List is reported at its own place. Nil:
	// naming a secret is an error.
	Secrets func(name string) (string, error)
	// SecretsHidden leaves all secrets unknown, for checks that must not need
	// a key: Secrets is called to hear whether there is such a secret, and what
	// it gives is not used. What is computed from one is marked Withheld, and
	// the declarations are good for nothing but to be checked.
	SecretsHidden bool
	// Inventory runs the program of an inventory block, in the site's directory, and
	// gives what it prints. It is called once for each program while a site is
	// loaded. Nil: such a block is an error.
	Inventory func(ctx context.Context, argv []string) ([]byte, error)
	// InventoryHidden leaves the hosts unknown that programs tell of, for checks that
	// must run nothing: a host that is not declared is then taken for one of them, in
	// no group of theirs, and what hosts(PATTERN) gives is unknown.
	InventoryHidden bool
	// Review adds warnings of what is right, and most likely not meant: for who checks a site.
	Review bool
	// Vars are single values; later ones win.
	Vars []Var
	// Data replaces documents of the site's own data; later ones win.
	Data []DataFile
	// Former are documents that rules take for what was there, in the place of what the host remembers. One without a name is for the only data with rules.
	Former []DataFile
	// LastOutputs gives the outputs of a host as they were recorded last, by name. Nil: none were.
	LastOutputs func(host string) (map[string]states.Output, error)
	// Clusters are the hosts that have joined each cluster, by its name; a host that has not gets nothing of it.
	// Nil: all members of all clusters have.
	Clusters map[string][]string
	// HostFacts gives facts of the hosts that the site declares. Nil: naming one is an error.
	HostFacts *HostFacts
	// Hook is what is run around a batch of a rollout; nil: nothing is. Its state is then
	// declared with these params, as one that only who names it runs.
	Hook *HookRun
}

// HookRun is one turn of a hook of a rollout.
type HookRun struct {
	State  string         // its address
	Params map[string]any // plain data
	Batch  []string       // for the param of that name, if the state has it
	Failed []string       // likewise
}

// VarFile is the text of a file of variable values.
type VarFile struct {
	Name string // as the user named it; ".json" at its end makes it JSON
	Data []byte
}

// DataFile is the text of a document in the place of that of data "NAME".
type DataFile struct {
	Name string // of the data
	File string // as the user named it
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
	Overridden  []VariableSource `json:"overrode,omitempty"` // highest precedence first
	Merged      bool             `json:"merged,omitempty"`   // the value joins From with all in Overridden
}

// VariableSource is one way in which a variable got a value.
type VariableSource struct {
	Level     string     `json:"level"`               // "default", "site", "environment", "var-file" or "var"
	Value     any        `json:"value"`               // plain; nil when sensitive
	Sensitive bool       `json:"sensitive,omitempty"` // it is, and the variable's value is not
	Range     diag.Range `json:"range,omitzero"`
}

// OutputValue is what a component gives to who uses it.
type OutputValue struct {
	Name      string `json:"name"`
	Value     any    `json:"value"` // plain; nil when sensitive, or not known
	Known     bool   `json:"known"` // false: it depends on a result
	Sensitive bool   `json:"sensitive,omitempty"`
}
