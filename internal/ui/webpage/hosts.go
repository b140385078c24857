package webpage

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/tenetcm/tenet/internal/ui"
)

// maxNames is how many hosts are named where they do not matter most.
const maxNames = 3

// hostsOf says on which hosts a row is; empty: on all.
type hostsOf struct {
	Ranges string // of their numbers
	Text   string // for people
	Link   string // to the list of them, where Text is none
}

// hostSet is a list of hosts that rows are of.
type hostSet struct{ Anchor, Title, Names string }

// on names hosts, or leads to the list of them, which is on the page once.
func (b *builder) on(hosts []int) hostsOf {
	if len(hosts) == len(b.hosts) {
		return hostsOf{}
	}
	o := hostsOf{Ranges: ranges(hosts)}
	if len(hosts) <= maxNames {
		o.Text = "on " + b.names(hosts, maxNames)
		return o
	}
	o.Text = fmt.Sprintf("on %d of %d hosts", len(hosts), len(b.hosts))
	i, known := b.sets[o.Ranges]
	if !known {
		i = len(b.HostSets)
		b.sets[o.Ranges] = i
		b.HostSets = append(b.HostSets, hostSet{"hosts" + strconv.Itoa(i+1), fmt.Sprint(len(hosts), " hosts"), b.names(hosts, len(hosts))})
	}
	o.Link = b.HostSets[i].Anchor
	return o
}

// hostView is a host, and what would be done there.
type hostView struct {
	Anchor, Name, Sum string
	Problem, Hint     string
	Class             string
	Rows              []hostRow
	SameAs, SameName  string // a host with the same rows, which has them
}

// hostRow leads to a row.
type hostRow struct {
	Anchor, Class, Mark, Address string
	at                           int // in the plan
}

// addHosts lists the hosts. What several of them have alike is listed with the first.
func (b *builder) addHosts(sums []ui.PlanRows) {
	first := map[string]*hostView{}
	b.Hosts = make([]hostView, len(b.hosts))
	for i := range b.hosts {
		h, v := &b.hosts[i], &b.Hosts[i]
		*v = hostView{Anchor: "host" + strconv.Itoa(i), Name: clean(h.Name), Sum: clean(ui.Sum(sums[i]))}
		if h.Problem != nil {
			v.Class, v.Sum = "failed", clean(h.Status)
			v.Problem, v.Hint = clean(h.Problem.Message), clean(h.Problem.Hint)
		} else if h.Status != "" && h.Status != "done" {
			v.Class = "failed"
		}
		rows := b.links[i]
		slices.SortFunc(rows, func(a, b hostRow) int { return cmp.Compare(a.at, b.at) })
		key := ""
		for _, r := range rows {
			key += r.Anchor + " "
		}
		if other := first[key]; other != nil && len(rows) > 0 {
			v.SameAs, v.SameName = other.Anchor, other.Name
			continue
		}
		first[key], v.Rows = v, rows
	}
}
