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

// Names gives the names of the hosts that a pattern names; none of one that is wrong.
func (l *HostLists) Names(pattern string) (names []string) {
	list, err := l.find(pattern)
	if err != nil {
		return nil
	}
	for _, h := range list.AsValueSlice() {
		names = append(names, h.GetAttr("name").AsString())
	}
	return names
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

// AsksForRecords reports whether what a call of hosts() gives depends on what is recorded: with options
// it may, but for facts alone.
func AsksForRecords(call *hclsyntax.FunctionCallExpr) bool {
	if call.Name != "hosts" || len(call.Args) < 2 {
		return false
	}
	options, ok := call.Args[1].(*hclsyntax.ObjectConsExpr)
	if !ok {
		return true
	}
	for _, item := range options.Items {
		name, diags := item.KeyExpr.Value(nil)
		if diags.HasErrors() || !name.RawEquals(cty.StringVal("facts")) {
			return true
		}
	}
	return false
}

// HostsFunction makes hosts(PATTERN): name, address and labels of the hosts of
// a site. While get gives nil, nothing is known of them. With { outputs = "last" } each has its outputs,
// too, as last gives them; with { facts = "now" } its facts are those of now.
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
			return withOptions(found, args[1].AsValueMap(), last)
		},
	})
}

// checkHostOptions refuses options that hosts() does not have.
func checkHostOptions(options []cty.Value) error {
	const hint = `write hosts(PATTERN, { outputs = "last" }) or hosts(PATTERN, { facts = "now" })`
	if len(options) > 1 {
		return &diag.HintError{Message: "it takes a pattern and options", Hint: hint}
	}
	o := options[0]
	if !o.IsWhollyKnown() || o.ContainsMarked() || o.IsNull() || !o.Type().IsObjectType() && !o.Type().IsMapType() || o.LengthInt() == 0 {
		return &diag.HintError{Message: "its options are an object of what is known", Hint: hint}
	}
	words := map[string]string{"outputs": "last", "facts": "now"}
	for name, v := range o.AsValueMap() {
		word, known := words[name]
		switch {
		case !known:
			return &diag.HintError{Message: fmt.Sprintf("there is no option %q", name), Hint: hint}
		case v.Type() != cty.String || v.IsNull() || v.AsString() != word:
			return &diag.HintError{Message: fmt.Sprintf("the option %s can be %q alone", name, word), Hint: hint}
		}
	}
	return nil
}

// withOptions gives hosts with their outputs, or as those whose facts are asked for now: a tuple, since each
// may have other outputs. Facts that are looked up have an attribute that holds none of them.
func withOptions(list cty.Value, options map[string]cty.Value, last func(host string) (cty.Value, error)) (cty.Value, error) {
	var all []cty.Value
	for _, h := range list.AsValueSlice() {
		attributes := h.AsValueMap()
		if _, ok := options["facts"]; ok {
			attributes["facts"] = cty.EmptyObjectVal
		}
		if _, ok := options["outputs"]; ok {
			var err error
			if attributes["outputs"], err = last(attributes["name"].AsString()); err != nil {
				return cty.DynamicVal, err
			}
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
