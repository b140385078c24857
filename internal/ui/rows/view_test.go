package rows

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/internal/ui/grouping"
	"github.com/tenetcm/tenet/states"
)

// fleet is the plan of so many hosts: rows of every second one, and one row with a value of each host's own.
func fleet(hosts, rows int) (names []string, list []grouping.Row) {
	var half, all, at []int
	var values []any
	for i := range hosts {
		names, values = append(names, fmt.Sprintf("web%05d", i)), append(values, fmt.Sprintf("own %d", i))
		if all, at = append(all, i), append(at, 0); i%2 == 0 {
			half = append(half, i)
		}
	}
	for n := range rows {
		address := fmt.Sprintf("file.f%d", n)
		list = append(list, grouping.Row{Row: states.Event{Type: states.EventPart, Address: address, Invocation: address, Action: states.Create}, Subject: n, Hosts: half, At: at[:len(half)]})
	}
	own := grouping.Row{Subject: rows, Hosts: all, At: at, Fields: []grouping.Field{{Path: "reason", Values: values}},
		Row: states.Event{Type: states.EventPart, Address: "file.own", Invocation: "file.own", Action: states.Update, Reason: "own 0"}}
	var read grouping.Row // as the API has it
	if text, err := json.Marshal(own); err != nil || json.Unmarshal(text, &read) != nil {
		panic("a row is not read as it was written")
	}
	return names, append(list, read)
}

// A page that has no list of hosts is not made by one, and names some of each set and some values of each gap.
func TestOfVast(t *testing.T) {
	names, list := fleet(50_000, 70)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	v := Of(names, list)
	runtime.ReadMemStats(&after)
	const most = 200 << 20
	if got := after.TotalAlloc - before.TotalAlloc; got > most {
		t.Errorf("the page takes %d MiB", got>>20)
	}
	if v.Hosts != nil || len(v.HostSets) != 1 || v.Acts != 71 {
		t.Fatalf("the page has %d hosts, %d sets and %d rows", len(v.Hosts), len(v.HostSets), v.Acts)
	}
	if set := v.HostSets[0]; set.Title != "25000 hosts" || !strings.HasSuffix(set.Names, "and 24800 more") || !strings.HasPrefix(set.Names, "web00000, web00002, ") {
		t.Errorf("the set is %s: %.60s … %s", set.Title, set.Names, set.Names[max(0, len(set.Names)-40):])
	}
	last := v.Groups[len(v.Groups)-1].Rows
	own := last[len(last)-1]
	if len(own.Values) != 1 || own.Values[0].Title != "50000 values on 50000 hosts" || strings.Count(own.Values[0].List, "\n") != maxValues+1 || !strings.HasSuffix(own.Values[0].List, "and 49000 values more\n") {
		t.Errorf("the values are %+.300v", own.Values)
	}
}

// A page that is searched by hosts has them all, and what several have alike once.
func TestWithHosts(t *testing.T) {
	names, list := fleet(2*maxOfSet+2, 2)
	v := WithHosts(names, list)
	if len(v.Hosts) != len(names) || len(v.Hosts[0].Rows) != 3 || v.Hosts[2].SameName != names[0] || len(v.Hosts[1].Rows) != 1 || v.Hosts[3].SameName != names[1] {
		t.Errorf("the hosts are %+.600v", v.Hosts)
	}
	if len(v.HostSets) != 1 || strings.Contains(v.HostSets[0].Names, "more") || v.Groups[0].Rows[0].On.Ranges == "" {
		t.Errorf("the sets are %+.300v", v.HostSets)
	}
}
