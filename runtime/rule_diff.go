package runtime

import (
	"fmt"

	"github.com/tenetcm/tenet/rules"
	"github.com/tenetcm/tenet/states"
)

// DataChange is what rules would do about a node.
type DataChange struct {
	Address string         `json:"address"`
	Act     states.NodeAct `json:"act"`
	Why     string         `json:"why"`
}

// DataDiff is what rules would do if data became other data.
type DataDiff struct {
	Changes []DataChange `json:"changes"` // in the order in which they would be done
	Kept    []string     `json:"kept"`    // nodes that are wanted no more, and that nothing deletes
	Wrong   []string     `json:"wrong"`   // what the rules cannot do
	Rest    []string     `json:"rest"`    // what differs, and belongs to no rule
}

// DiffData tells what the rules of a comparison, which is a part of a run, would do if old became the new data: both are plain data.
// The error is about documents that do not fit the rules.
func DiffData(p *states.Part, old, now any) (*DataDiff, error) {
	if p.Type != states.ComparisonType {
		return nil, fmt.Errorf("%s compares nothing", p.Address)
	}
	d, err := documentOfPart(p)
	if err != nil {
		return nil, err
	}
	was, err := d.divide(old, false)
	if err != nil {
		return nil, err
	}
	wanted, err := d.divide(now, true)
	if err != nil {
		return nil, err
	}
	d.want(wanted)
	f := &finding{document: d, last: map[string]remembered{}, nodes: map[string]states.Differing{}}
	for _, n := range was.Nodes {
		f.last[d.address(n.Rule, &n.Hit)] = remembered{}
	}
	changes := rules.CompareNodes(d.list, was.Nodes, wanted.Nodes)
	for i := range changes {
		f.add(&changes[i])
	}
	out := &DataDiff{Changes: []DataChange{}, Kept: f.kept, Wrong: f.wrong, Rest: differencesOf(rules.Differences(was.Rest, wanted.Rest))}
	for _, list := range []*[]string{&out.Kept, &out.Wrong, &out.Rest} {
		if *list == nil {
			*list = []string{}
		}
	}
	for i := range changes {
		address := d.address(changes[i].Rule, &changes[i].Hit)
		if one, differs := f.nodes[address]; differs {
			out.Changes = append(out.Changes, DataChange{address, one.Act, one.Why})
			delete(f.nodes, address)
		}
	}
	return out, nil
}

// checkAnswer refuses what a rule has retrieved where it is not in the shape of the document: nodes would seem to be missing that are there.
func (d *document) checkAnswer(by string, plain any) error {
	for i, r := range d.rules {
		if r.Retrieves != by {
			continue
		}
		if err := d.list[i].Selector.CheckAnswer(plain); err != nil {
			return err
		}
	}
	return nil
}

// divide gives each rule its nodes of a document.
func (d *document) divide(plain any, isNew bool) (*rules.Division, error) {
	if divided, err := rules.Divide(d.list, plain, isNew); err != nil || len(d.ignore) == 0 {
		return divided, err
	}
	kept, err := rules.Without(plain, d.ignore)
	if err != nil {
		return nil, err
	}
	return rules.Divide(d.list, kept, isNew)
}
