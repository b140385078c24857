package states

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/tenetcm/tenet/runtime/host"
)

// ComparisonType is the type of the parts that compare the wanted data with what is there, for the rules of that data. No
// source declares such a part by its type, so that Registry.Lookup does not know it.
const ComparisonType = "comparison"

// NodesResult is the result of such a part: what differs, as a Differing by the addresses of nodes.
const NodesResult = "nodes"

// DocumentRule is what a host has to know of a rule in order to compare.
type DocumentRule struct {
	Address string `json:"address"` // rule.NAME
	Select  string `json:"select"`
	Ordered bool   `json:"ordered,omitempty"`
	// Retrieves names the rule whose retrieve tells what is there; none: what was last converged does.
	Retrieves string `json:"retrieves,omitempty"`
	Creates   bool   `json:"creates,omitempty"`
	Updates   bool   `json:"updates,omitempty"`
	Deletes   bool   `json:"deletes,omitempty"`
	// Purges: what is found and not wanted is deleted, whoever has made it.
	Purges bool `json:"purges,omitempty"`
	// Shared: several hosts of the site are this machine, so that what is not wanted here may be another one's.
	Shared bool `json:"shared,omitempty"`
	// Elsewhere: the document has nodes of the rule, and all of them are other hosts'.
	Elsewhere bool `json:"elsewhere,omitempty"`
}

// Comparisons are the parts of a run that compare.
func (r *StateRun) Comparisons() (list []*Part) {
	for i := range r.Invocations {
		for k := range r.Invocations[i].Parts {
			if p := &r.Invocations[i].Parts[k]; p.Type == ComparisonType {
				list = append(list, p)
			}
		}
	}
	return list
}

// Comparison is what such a part has to compare.
type Comparison struct {
	Name      string          `state:"name,key" doc:"The data, as data.NAME."`
	Rules     json.RawMessage `state:"rules" doc:"The rules: a list of DocumentRule."`
	Ignore    []string        `state:"ignore" doc:"Selectors of what is not compared."`
	Wanted    json.RawMessage `state:"wanted" doc:"The wanted data."`
	Former    json.RawMessage `state:"former" doc:"What is taken for what was there, in the place of what is remembered."`
	Retrieved json.RawMessage `state:"retrieved" doc:"What is there, as rules have retrieved it, by their addresses."`
	Verify    *bool           `state:"verify" doc:"It looks whether the acts of the rules have done what they should."`
	Leaves    *bool           `state:"leaves" doc:"The machine has left the cluster that the rules were for: nothing of theirs is wanted."`

	Nodes json.RawMessage `state:"nodes,out" doc:"What differs, by the addresses of nodes."`
}

// Differing is what is done about a node, and what the states that do it may know.
type Differing struct {
	Act    NodeAct `json:"act"`
	Path   any     `json:"path"`
	Around any     `json:"around"` // what was around it, without the nodes in it that rules select; nil: it was not there
	Old    any     `json:"old"`    // nil: it was not there
	Diff   any     `json:"diff"`   // of an update: a list of { path, old, new }
	Why    string  `json:"why"`    // for people
}

// NodeAct is what is done about a node.
type NodeAct string

// The acts.
const (
	CreateNode  NodeAct = "create"
	UpdateNode  NodeAct = "update"
	DeleteNode  NodeAct = "delete"
	ReplaceNode NodeAct = "replace" // it is deleted, and created anew
)

// RuleNode says which node of data an invocation is for.
type RuleNode struct {
	Comparison string `json:"comparison"` // the address of the part that compares
	Rule       string `json:"rule"`       // rule.NAME
	// Address is that of the node; none: the invocation is made into one for each node that is to be deleted.
	Address string `json:"address,omitempty"`
	Deletes bool   `json:"deletes,omitempty"`
	// Verifies: it looks again, if anything was done.
	Verifies bool `json:"verifies,omitempty"`
	Parallel bool `json:"parallel,omitempty"` // those that are made of it go side by side
}

type comparerKey struct{}

// WithComparer lets a comparison compare.
func WithComparer(ctx context.Context, compare func(Comparison) (map[string]Differing, error)) context.Context {
	return context.WithValue(ctx, comparerKey{}, compare)
}

var comparisonModule = sync.OnceValue(func() *Module {
	return named(ComparisonType, Define(Type[Comparison]{
		Name: "part_of_comparison", Doc: "Compares wanted data with what is there.",
		Example:  "rule \"vlan\" {\n  data   = data.network\n  select = \"vlans[id]\"\n}\n",
		NoAbsent: "it leaves nothing behind",
		Effects:  func(Comparison, bool) Effects { return Effects{} },
		Act: func(ctx context.Context, _ host.Host, want Comparison) (bool, Comparison, error) {
			compare, ok := ctx.Value(comparerKey{}).(func(Comparison) (map[string]Differing, error))
			if !ok {
				return false, want, errors.New("nothing can compare here")
			}
			nodes, err := compare(want)
			if err != nil {
				return false, want, err
			}
			want.Nodes, err = json.Marshal(nodes)
			return false, want, err
		},
	}))
})
