package expr

import (
	"sync"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

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

// HostsFunction makes hosts(PATTERN): name, address and labels of the hosts of
// a site. While get gives nil, nothing is known of them.
func HostsFunction(get func() *HostLists) function.Function {
	return function.New(&function.Spec{
		Description: "the declared hosts that a pattern such as \"web*,!web3,@db\" names: a list of name, address and labels",
		Params:      []function.Parameter{{Name: "pattern", Type: cty.String}},
		Type:        function.StaticReturnType(cty.List(hostType())),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			lists := get()
			if lists == nil {
				return cty.UnknownVal(cty.List(hostType())), nil
			}
			return lists.find(args[0].AsString())
		},
	})
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
