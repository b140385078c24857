package rows

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxNames is how many hosts are named where they do not matter most.
const maxNames = 3

// maxOfSet is how many hosts of a set, or with one value, are named where not all have to be, and maxValues how many values of a gap are listed.
const (
	maxOfSet  = 200
	maxValues = 1000
)

// On says on which hosts a row is; empty: on all.
type On struct {
	Ranges string // of their numbers, for a page that has the hosts
	Text   string // for people
	Link   string // to the list of them, where Text is none
}

// HostSet is a list of hosts that rows are of.
type HostSet struct{ Anchor, Title, Names string }

// on names hosts, or leads to the list of them, which is on the page once.
func (b *builder) on(hosts []int) On {
	if len(hosts) == len(b.names) {
		return On{}
	}
	var o On
	if b.links != nil {
		o.Ranges = ranges(hosts)
	}
	if len(hosts) <= maxNames {
		o.Text = "on " + b.nameAll(hosts, maxNames)
		return o
	}
	o.Text = fmt.Sprintf("on %d of %d hosts", len(hosts), len(b.names))
	key := ranges(hosts)
	i, known := b.sets[key]
	if !known {
		i = len(b.HostSets)
		b.sets[key] = i
		b.HostSets = append(b.HostSets, HostSet{"hosts" + strconv.Itoa(i+1), fmt.Sprint(len(hosts), " hosts"), b.nameAll(hosts, b.most)})
	}
	o.Link = b.HostSets[i].Anchor
	return o
}

// Host is a host, and what would be done there.
type Host struct {
	Anchor, Name     string
	Sum              string // for people: the page that has it sets it
	Problem, Hint    string // likewise
	Class            string // likewise: failed, or none
	Rows             []HostRow
	SameAs, SameName string // a host with the same rows, which has them
}

// HostRow leads to a row.
type HostRow struct {
	Anchor, Class, Mark, Address string
	at                           int // in the plan
}

// addHosts lists the hosts. What several of them have alike is listed with the first.
func (b *builder) addHosts() {
	first := map[string]*Host{}
	b.Hosts = make([]Host, len(b.names))
	for i, name := range b.names {
		v := &b.Hosts[i]
		*v = Host{Anchor: "host" + strconv.Itoa(i), Name: Clean(name)}
		rows := b.links[i]
		slices.SortFunc(rows, func(a, b HostRow) int { return cmp.Compare(a.at, b.at) })
		var anchors strings.Builder
		for _, r := range rows {
			anchors.WriteString(r.Anchor + " ")
		}
		key := anchors.String()
		if other := first[key]; other != nil && len(rows) > 0 {
			v.SameAs, v.SameName = other.Anchor, other.Name
			continue
		}
		first[key], v.Rows = v, rows
	}
}
