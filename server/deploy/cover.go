package deploy

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/internal/ui/grouping"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/states"
)

// GroupedPlan is what many hosts would do, as a person looks at it.
type GroupedPlan struct {
	Digest trust.Digest `json:"digest"` // of the site, its revision, and all rows: an approval names it
	Key    trust.Digest `json:"key"`    // of the plans that are in it
	Hosts  []string     `json:"hosts"`  // which have planned; rows name them by their index
	// Rows are kept beside the deployment, and read when they are needed. A former version of the server has kept them here.
	Rows []grouping.Row `json:"rows,omitempty"`
	// Text is the digest of the rows as they are kept; zero: they are not kept yet.
	Text trust.Digest `json:"text,omitzero"`

	read  func() []grouping.Row // of what is kept; nil: Rows are there
	again func() []grouping.Row // what read has been, so that they can be forgotten; nil: they cannot
	fault error                 // of reading them
	index map[rowKey][]int      // of Rows; nil: not made yet
}

// rowKey is what rows that cover one another have in common.
type rowKey struct{ kind, address, part string }

func rowKeyOf(e *states.Event) rowKey { return rowKey{e.Type, e.Address, e.Part} }

// maxPlan is how many bytes the rows of all hosts may take together: they are shown as one answer.
const maxPlan = 32 << 20

// planKey tells whether plans are those of before.
func planKey(d *Deployment, plans map[string]*HostPlan) trust.Digest {
	var text bytes.Buffer
	for _, h := range d.Hosts {
		if p := plans[h.Name]; p != nil {
			fmt.Fprintf(&text, "%s %s %s\n", h.Name, p.Identity, p.At)
		}
	}
	return trust.DigestOf(text.Bytes())
}

// groupPlans puts the plans of hosts together, in the order of the hosts.
func groupPlans(d *Deployment, plans map[string]*HostPlan) (*GroupedPlan, error) {
	g := &GroupedPlan{Key: planKey(d, plans)}
	var all [][]states.Event
	for _, h := range d.Hosts {
		if p := plans[h.Name]; p != nil {
			g.Hosts, all = append(g.Hosts, h.Name), append(all, essence(p.Rows))
		}
	}
	var err error
	if g.Rows, err = grouping.Group(all); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = plainjson.NewEncoder(&text).Encode(struct {
		Site, Revision string
		Hosts          []string
		Rows           []grouping.Row
	}{d.Site, string(d.Revision), g.Hosts, g.Rows})
	if err == nil && text.Len() > maxPlan {
		return nil, tooLarge(d, plans, text.Len())
	}
	g.Digest = trust.DigestOf(text.Bytes())
	return g, err
}

// tooLarge names the host whose plan takes the most.
func tooLarge(d *Deployment, plans map[string]*HostPlan, size int) error {
	name, most := "", 0
	for _, h := range d.Hosts {
		if p := plans[h.Name]; p != nil {
			if text, err := plainjson.Marshal(p.Rows); err != nil || len(text) > most {
				name, most = h.Name, len(text)
			}
		}
	}
	return fmt.Errorf("they take %d MiB together, and %d are allowed; that of %s is the largest, with %.1f MiB", size>>20, maxPlan>>20, name, float64(most)/(1<<20))
}

// essence is what rows say, without what differs in each plan.
func essence(rows []states.Event) []states.Event {
	out := slices.Clone(rows)
	for i := range out {
		out[i].Seq, out[i].Time, out[i].Duration, out[i].Host, out[i].Run = 0, time.Time{}, 0, "", ""
	}
	return out
}

// Covers reports whether each row of another plan is among those of this one: the same, word by word, but for values that differ
// among the hosts of this one, too. No plan covers nothing.
func (g *GroupedPlan) Covers(rows []states.Event) bool {
	if g == nil {
		return false
	}
	g.prepare()
	return !slices.ContainsFunc(essence(rows), func(row states.Event) bool {
		return !slices.ContainsFunc(g.index[rowKeyOf(&row)], func(i int) bool { return covers(&g.Rows[i], row) })
	})
}

// prepare reads the rows, and finds them by what they are about.
func (g *GroupedPlan) prepare() {
	if g.read != nil {
		g.Rows, g.read = g.read(), nil
	}
	if g.index != nil {
		return
	}
	g.index = map[rowKey][]int{}
	for i := range g.Rows {
		key := rowKeyOf(&g.Rows[i].Row)
		g.index[key] = append(g.index[key], i)
	}
}

// covers reports whether a row is one of the hosts' that another one stands for. Both have the same key.
func covers(r *grouping.Row, row states.Event) bool {
	both, err := grouping.Group([][]states.Event{{r.Row}, {row}})
	if err != nil || len(both) != 1 {
		return false
	}
	return !slices.ContainsFunc(both[0].Fields, func(f grouping.Field) bool {
		return !slices.ContainsFunc(r.Fields, func(known grouping.Field) bool { return known.Path == f.Path })
	})
}
