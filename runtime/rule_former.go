package runtime

import (
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

// hideFormer makes secrets of what the former document says where the wanted one has them.
func (e *engine) hideFormer(d *document) error {
	for _, n := range d.former.Nodes {
		if wanted := d.byAddress[d.address(n.Rule, &n.Hit)]; wanted != nil {
			n.Hit.Node, n.Content, n.Hit.Around = e.hideLike(n.Hit.Node, wanted.Hit.Node, false), e.hideLike(n.Content, wanted.Hit.Node, false), e.hideLike(n.Hit.Around, wanted.Hit.Around, false)
		}
		if !rules.HasSecret(n.Hit.Node) && !rules.HasSecret(n.Hit.Around) {
			continue
		}
		if err := e.digestNode(n); err != nil {
			return err
		}
	}
	if d.former.Rest = e.hideLike(d.former.Rest, d.rest, false); rules.HasSecret(d.former.Rest) {
		key, err := e.digestKey()
		d.former.Rest = rules.Digested(d.former.Rest, key)
		return err
	}
	return nil
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
