package expr

import (
	"fmt"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/site"
)

func manyHosts(n int) []site.Host {
	hosts := make([]site.Host, n)
	for i := range hosts {
		hosts[i] = site.Host{Name: fmt.Sprintf("web%d", i), Address: "192.0.2.1"}
	}
	return hosts
}

// However many parts of however many hosts ask: each pattern is looked for once.
func TestPatternsAreLookedForOnce(t *testing.T) {
	lists := NewHostLists(manyHosts(50), nil, false)
	ask := HostsFunction(func() *HostLists { return lists }, nil)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 400 {
				pattern := fmt.Sprintf("web%d*,!web1", i%10)
				v, err := ask.Call([]cty.Value{cty.StringVal(pattern)})
				found, wrong := site.SelectHosts(lists.hosts, nil, pattern)
				if err != nil || wrong != nil || v.LengthInt() != len(found) {
					t.Errorf("%s: %v, %v", pattern, v, err)
				}
				if _, err := ask.Call([]cty.Value{cty.StringVal("none")}); err == nil {
					t.Error("a host that is not there is none")
				}
			}
		})
	}
	all.Wait()
	if lists.computations != 11 {
		t.Errorf("11 patterns were looked for %d times", lists.computations)
	}
}

// Where each host asks for a pattern of its own, what is kept has a bound.
func TestKeptListsAreBounded(t *testing.T) {
	lists := NewHostLists(manyHosts(2000), nil, false)
	for i := range 1500 {
		v, err := lists.find(fmt.Sprintf("!web%d", i))
		if err != nil || v.LengthInt() != 1999 {
			t.Fatal(v.LengthInt(), err)
		}
	}
	kept := 0
	for _, list := range lists.lists {
		kept += list.value.LengthInt()
	}
	if kept > maxCachedHosts || len(lists.lists) < 500 {
		t.Errorf("%d hosts are kept, in %d lists", kept, len(lists.lists))
	}
}
