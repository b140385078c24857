package states

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/runtime/host"
)

// OutputType is the type of the parts by which a host gives values to others: see Output. No
// source declares such a part by its type, so that Registry.Lookup does not know it.
const OutputType = "output"

// OutputValue is the attribute of such a part that holds the value.
const OutputValue = "value"

// MaxOutput is how many bytes the JSON of an output may have.
const MaxOutput = 64 << 10

// Output is a value that a host gives to others, as the end of a run or plan tells it.
type Output struct {
	Value     any  `json:"value"`               // plain; nil is null
	IsKnown   bool `json:"known"`               // false: only an apply will know it
	Sensitive bool `json:"sensitive,omitempty"` // it is never shown
}

// UnmarshalJSON reads an output, with its numbers as they are written.
func (o *Output) UnmarshalJSON(data []byte) error {
	type plain Output
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode((*plain)(o))
}

// HostOutput is an output of another host, as a run is given it for its expressions.
type HostOutput struct {
	Host   string `json:"host"`
	Name   string `json:"name"`
	Output Output `json:"output"`
	// IsLate says that the value was not known when the plan of this run was shown: whether the
	// plan holds is found out without it.
	IsLate bool `json:"late,omitempty"`
}

// outputPart is a part of that type.
type outputPart struct {
	Name  string          `state:"name,key" doc:"The name of the output."`
	Value json.RawMessage `state:"value" doc:"The value; null if it is not given."`
}

var outputModule = sync.OnceValue(func() *Module {
	return named(OutputType, Define(Type[outputPart]{
		Name: "part_of_output", Doc: "A value that the host gives to others.",
		Example:  "output \"port\" {\n  value = 8080\n}\n",
		NoAbsent: "it leaves nothing behind",
		Validate: func(o outputPart) error {
			var compact Output // without the escapes that one encoder writes and another does not
			if err := compact.UnmarshalJSON([]byte(`{"value":` + cmp.Or(string(o.Value), "null") + "}")); err != nil {
				return err
			}
			text, err := plainjson.Marshal(compact.Value)
			if err == nil && len(text) > MaxOutput {
				err = InvalidAttribute(OutputValue, fmt.Sprintf("an output may have %d KiB, and this one has %d", MaxOutput>>10, (len(text)+1023)>>10),
					"hand on where the data lies, or less of it")
			}
			return err
		},
		Read: func(_ context.Context, _ host.Host, want outputPart) (*outputPart, error) { return &want, nil },
		Write: func(context.Context, host.Host, *outputPart, outputPart) error {
			return errors.New("an output is never written")
		},
	}))
})

// named gives a module a name that no module of a source can have.
func named(name string, m *Module) *Module {
	m.Name = name
	return m
}

// ModuleOf gives the module of a part of a run, or nil.
func (r *Registry) ModuleOf(typ string) *Module {
	switch typ {
	case OutputType:
		return outputModule()
	case ComparisonType:
		return comparisonModule()
	}
	return r.modules[typ]
}

// Outputs lists the parts of a run that are outputs.
func (r *StateRun) Outputs() (parts []*Part) {
	for i := range r.Invocations {
		for k := range r.Invocations[i].Parts {
			if p := &r.Invocations[i].Parts[k]; p.Type == OutputType {
				parts = append(parts, p)
			}
		}
	}
	return parts
}

// OutputRefs lists the nodes that name outputs of other hosts, in the order of the names of the expressions.
func OutputRefs(list map[string]*Expr) (found []*Expr) {
	for _, x := range sortedExprs(list) {
		x.walk(func(n *Expr) {
			if n.Kind == ExprOutput {
				found = append(found, n)
			}
		})
	}
	return found
}

// HostOutputs lists the outputs of other hosts that expressions of a run name, each once, in the
// order in which they are named.
func (r *StateRun) HostOutputs() (names []*Expr) {
	known := map[[2]string]bool{}
	add := func(list map[string]*Expr) {
		for _, n := range OutputRefs(list) {
			if key := [2]string{n.Host, n.Name}; !known[key] {
				known[key] = true
				names = append(names, n)
			}
		}
	}
	for _, list := range [][]Invocation{r.Invocations, r.Handlers} {
		for i := range list {
			for _, g := range list[i].Guards {
				add(g.Results)
			}
			for k := range list[i].Parts {
				add(list[i].Parts[k].Results)
				for _, g := range list[i].Parts[k].Guards {
					add(g.Results)
				}
			}
		}
	}
	return names
}

// GivenOutput gives the output of another host that the run was given; nil: none.
func (r *StateRun) GivenOutput(host, name string) *HostOutput {
	for i := range r.Given {
		if g := &r.Given[i]; g.Host == host && g.Name == name {
			return g
		}
	}
	return nil
}
