package program

import (
	"slices"
	"strings"

	"github.com/tenetcm/tenet/states"
)

// componentRefs lets references through components name all their instances, and those to a cluster
// all that the host has by it.
type componentRefs struct {
	*evaluation
	addressesOf map[string][]string // the addresses that one without keys means
}

// replace lets references that lead through a component with instances,
// and give no key there, name what is in each of them: component.NAME.state.S
// means that state of all instances. The planner knows full addresses only.
func (c componentRefs) replace() {
	if len(c.hosts.clusters) == 0 && !slices.ContainsFunc(c.out, func(d states.Declaration) bool { return d.Component && d.Address != d.Base }) {
		return
	}
	for i := range c.out {
		d := &c.out[i]
		c.replaceOptions(&d.Options)
		for _, list := range []*[]states.Ref{&d.Members, &d.Rescue, &d.Always} {
			c.replaceList(list)
		}
		for j := range d.Parts {
			c.replaceOptions(&d.Parts[j].Options)
		}
	}
}

func (c componentRefs) replaceOptions(o *states.Options) {
	for _, list := range []*[]states.Ref{&o.Require, &o.Follows, &o.Notify, &o.NotifyFailure, &o.Listen, &o.ListenFailure} {
		c.replaceList(list)
	}
	for i := range o.Guards {
		c.replaceList(&o.Guards[i].WouldChange)
	}
}

// replaceList replaces what names nothing as it is written, and something in each
// instance.
func (c componentRefs) replaceList(list *[]states.Ref) {
	var out []states.Ref
	for i, r := range *list {
		if r.Self || c.bases[r.Address] != nil || c.instances[r.Address] != nil {
			if out != nil {
				out = append(out, r)
			}
			continue
		}
		if out == nil {
			out = slices.Clone((*list)[:i])
		}
		all, ofCluster := c.ofCluster(r.Address)
		if !ofCluster {
			all = c.addresses(r.Address)
		}
		for _, address := range all {
			one := r
			one.Address = address
			out = append(out, one)
		}
		if len(all) == 0 && !ofCluster {
			out = append(out, r) // dangling reports it
		}
	}
	if out != nil {
		*list = out
	}
}

// ofCluster gives what the host has by the cluster that an address names; false: it names none.
func (c componentRefs) ofCluster(address string) (bases []string, ok bool) {
	name, ok := strings.CutPrefix(address, "cluster.")
	if m := c.membership(); ok && m != nil && m.Name == name {
		bases = c.clusterBases()
	}
	return bases, ok
}

// addresses gives the addresses that an address without the keys of components
// means, sorted.
func (c componentRefs) addresses(address string) []string {
	if all, done := c.addressesOf[address]; done {
		return all
	}
	var all []string
	if strings.HasPrefix(address, "component.") {
		for base := range c.bases {
			if states.InEach(address, base) {
				all = append(all, base)
			}
		}
		for _, list := range c.instancesByBase {
			for _, in := range list {
				if states.InEach(address, in.address) {
					all = append(all, in.address)
				}
			}
		}
	}
	slices.Sort(all)
	c.addressesOf[address] = slices.Compact(all)
	return c.addressesOf[address]
}
