package runtime

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tenetcm/tenet/rules"
	"github.com/tenetcm/tenet/states"
)

// A former document is taken for what was there, in the place of what is remembered. What it says is remembered before anything is done, so that
// whatever ends the run, the next one goes on from there.

// has reports whether an address is that of a node of the document, or of what belongs to no rule.
func (d *document) has(address string) bool { return address == d.name || d.ruleOf(address) >= 0 }

// formerNodes are the nodes of the former document as if they were remembered, and what belongs to no rule.
func (d *document) formerNodes() map[string]remembered {
	out := map[string]remembered{d.name: {stored: rules.Stored{ID: d.name, Node: d.former.Rest}}}
	for _, n := range d.former.Nodes {
		out[d.address(n.Rule, &n.Hit)] = remembered{stored: n.Store()}
	}
	return out
}

// digestFormer gives the secrets of the former document their digests.
func (e *engine) digestFormer(d *document) error {
	key, err := e.digestKey()
	d.former.Rest = rules.Digested(d.former.Rest, key)
	for _, n := range d.former.Nodes {
		err = cmp.Or(err, e.digestNode(n))
	}
	return err
}

// recordFormer remembers what the former document says, and nothing else of its rules.
func (e *engine) recordFormer(f *finding) error {
	if e.planning() || f.former == nil {
		return nil
	}
	known, err := e.rememberedNodes()
	if err != nil {
		return err
	}
	for _, address := range slices.Sorted(maps.Keys(known)) {
		if _, was := f.last[address]; f.has(address) && !was {
			e.recorder.emit(states.Event{Type: states.EventNode, Address: address, Outcome: states.Changed})
		}
	}
	for _, address := range slices.Sorted(maps.Keys(f.last)) {
		last, isKnown := known[address]
		if now := f.last[address].stored; f.has(address) && (!isKnown || last.isUnknown || !isRememberedAs(last.stored, now)) {
			e.recordAs(address, now)
		}
	}
	return nil
}
