package expr

import (
	"fmt"
	"sync"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/site"
)

// hostType is the type of each host in such a list.
func hostType() cty.Type {
	return cty.Object(map[string]cty.Type{"name": cty.String, "address": cty.String, "labels": cty.Map(cty.String)})
}

// HostLists gives what hosts(PATTERN) does. The hosts are those of all hosts' evaluations,
// each of which may ask many times: a pattern is looked for once. Several evaluations may
// use it at once.
type HostLists struct {
	hosts      []site.Host
	groups     []string
	incomplete bool

	mu           sync.Mutex
	objects      []cty.Value // of the hosts; nil: nobody has asked yet
	lists        map[string]hostList
	cacheSize    int // hosts in these lists
	computations int // lists, for tests
}

type hostList struct {
	value cty.Value
	err   error
}

// maxCachedHosts bounds how many hosts the lists that are kept may hold in all: a pattern may be
// another one for each host.
const maxCachedHosts = 1 << 20

// NewHostLists takes the hosts of a site and the names of their groups. Open says that there
// may be more of them; then a pattern that fits none is no error.
func NewHostLists(hosts []site.Host, groups []string, open bool) *HostLists {
	return &HostLists{hosts: hosts, groups: groups, incomplete: open, lists: map[string]hostList{}}
}

// find gives the hosts that a pattern names, as a value.
func (l *HostLists) find(pattern string) (cty.Value, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.lists[pattern]; ok {
		return known.value, known.err
	}
	list, n := l.compute(pattern)
	l.computations++
	if l.cacheSize += n + 1; l.cacheSize <= maxCachedHosts {
		l.lists[pattern] = list
	}
	return list.value, list.err
}

// compute makes such a list, and says how many hosts are in it.
func (l *HostLists) compute(pattern string) (list hostList, n int) {
	if l.objects == nil {
		for _, h := range l.hosts {
			l.objects = append(l.objects, cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal(h.Name),
				"address": cty.StringVal(h.Address), "labels": LabelsValue(h.Labels)}))
		}
	}
	found, err := site.SelectIndexes(l.hosts, l.groups, pattern)
	if l.incomplete {
		err = nil // whom it names may be among the others
	}
	if err != nil || len(found) == 0 {
		return hostList{cty.ListValEmpty(hostType()), err}, 0
	}
	values := make([]cty.Value, len(found))
	for i, k := range found {
		values[i] = l.objects[k]
	}
	return hostList{value: cty.ListVal(values)}, len(found)
}

// HasHostOptions reports whether a call is one of hosts() with options: what it gives depends on
// what is recorded.
func HasHostOptions(call *hclsyntax.FunctionCallExpr) bool {
	return call.Name == "hosts" && len(call.Args) > 1
}

// HostsFunction makes hosts(PATTERN): name, address and labels of the hosts of
// a site. While get gives nil, nothing is known of them. With { outputs = "last" } each has its outputs,
// too, as last gives them.
func HostsFunction(get func() *HostLists, last func(host string) (cty.Value, error)) function.Function {
	return function.New(&function.Spec{
		Description: "the declared hosts that a pattern such as \"web*,!web3,@db\" names: a list of name, address and labels",
		Params:      []function.Parameter{{Name: "pattern", Type: cty.String}},
		VarParam:    &function.Parameter{Name: "options", Type: cty.DynamicPseudoType},
		Type: func(args []cty.Value) (cty.Type, error) {
			if len(args) > 1 {
				return cty.DynamicPseudoType, checkHostOptions(args[1:])
			}
			return cty.List(hostType()), nil
		},
		Impl: func(args []cty.Value, t cty.Type) (cty.Value, error) {
			lists := get()
			if lists == nil {
				return cty.UnknownVal(t), nil
			}
			found, err := lists.find(args[0].AsString())
			if err != nil || len(args) == 1 {
				return found, err
			}
			return withOutputs(found, last)
		},
	})
}

// checkHostOptions refuses options that hosts() does not have.
func checkHostOptions(options []cty.Value) error {
	const hint = `write hosts(PATTERN, { outputs = "last" })`
	if len(options) > 1 {
		return &diag.HintError{Message: "it takes a pattern and options", Hint: hint}
	}
	o := options[0]
	if !o.IsWhollyKnown() || o.ContainsMarked() || o.IsNull() || !o.Type().IsObjectType() && !o.Type().IsMapType() || o.LengthInt() != 1 {
		return &diag.HintError{Message: "its options are an object of what is known", Hint: hint}
	}
	for name, v := range o.AsValueMap() {
		if name != "outputs" {
			return &diag.HintError{Message: fmt.Sprintf("there is no option %q", name), Hint: hint}
		}
		if v.Type() != cty.String || v.IsNull() || v.AsString() != "last" {
			return &diag.HintError{Message: `the option outputs can be "last" alone`, Hint: hint}
		}
	}
	return nil
}

// withOutputs gives hosts with their outputs: a tuple, since each may have others.
func withOutputs(list cty.Value, last func(host string) (cty.Value, error)) (cty.Value, error) {
	var all []cty.Value
	for _, h := range list.AsValueSlice() {
		attributes := h.AsValueMap()
		var err error
		if attributes["outputs"], err = last(attributes["name"].AsString()); err != nil {
			return cty.DynamicVal, err
		}
		all = append(all, cty.ObjectVal(attributes))
	}
	return cty.TupleVal(all), nil
}

// LabelsValue makes a map of strings.
func LabelsValue(labels map[string]string) cty.Value {
	if len(labels) == 0 {
		return cty.MapValEmpty(cty.String)
	}
	values := map[string]cty.Value{}
	for name, text := range labels {
		values[name] = cty.StringVal(text)
	}
	return cty.MapVal(values)
}
