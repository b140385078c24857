package graph

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// namespace is the UUID under which parts get theirs; it never changes.
var namespace = uuid.MustParse("8f0d3c52-6a5e-4d0b-9a43-1d1c7e2b6f10")

// build writes the StateRun.
func (p *planner) build() *Result {
	r := &Result{
		Run: &states.StateRun{Format: states.Format, Site: p.site.Site, Host: p.site.Host, Secrets: p.site.Secrets, SecretFiles: p.site.SecretFiles,
			Prune: p.site.Prune, Reconcile: p.site.Reconcile, Cluster: p.site.Cluster, Telemetry: p.site.Telemetry, Partial: p.site.Partial, Moved: p.site.Moved},
		Sources: make(map[string]diag.Range, 2*len(p.decls)),
	}
	r.Run.Invocations = make([]states.Invocation, 0, len(p.finals))
	sorted := p.sortFinals()
	p.address(sorted)
	p.nameJoins(r.Run, sorted)
	for _, i := range sorted {
		if i >= len(p.finals) {
			continue
		}
		f := p.finals[i]
		r.Sources[f.address] = f.d.Range
		if f.d.isBlock() {
			continue
		}
		r.Run.Invocations = append(r.Run.Invocations, p.invocation(r, i))
	}
	for i, f := range p.finals {
		if f.d.isBlock() {
			r.Run.Blocks = append(r.Run.Blocks, p.block(i))
		}
	}
	for _, d := range p.decls {
		if d.isIdle() {
			r.Sources[d.Address] = d.Range
			r.Run.Handlers = append(r.Run.Handlers, p.idleHandler(r, d))
		}
	}
	r.Run.LeftOut = p.leftOut(func(d *decl) bool { return d.isInvoked() || d.isIdle() })
	r.Run.Revision = Revision(r.Run)
	return r
}

// address numbers the waves of each state in their order.
func (o *outline) address(sorted []int) {
	waves := make(map[*decl]int)
	for _, i := range sorted {
		if i < len(o.finals) {
			f := o.finals[i]
			waves[f.d]++
			f.wave = waves[f.d]
		}
	}
	for _, f := range o.finals {
		f.address = f.d.Address
		if waves[f.d] > 1 {
			f.address += "#" + strconv.Itoa(f.wave)
		}
	}
}

// nameJoins lists the joins in their order. No declaration can have such an
// address.
func (o *outline) nameJoins(run *states.StateRun, sorted []int) {
	names := make(map[int]string)
	for _, i := range sorted {
		if i >= len(o.finals) {
			names[i] = fmt.Sprintf("join#%d", len(names)+1)
			run.Joins = append(run.Joins, states.Join{Address: names[i]})
		}
	}
	o.joinNames = names
	next := 0
	for _, i := range sorted {
		if i >= len(o.finals) {
			run.Joins[next].After = o.addresses(o.joins[i-len(o.finals)].after)
			next++
		}
	}
}

// addresses gives the addresses of finals and joins, in the order of the run.
func (o *outline) addresses(list []int) []string {
	if len(list) == 0 {
		return nil
	}
	list = o.soft.inPosition(slices.Clone(list))
	list = slices.Compact(list)
	out := make([]string, len(list))
	for k, i := range list {
		if i >= len(o.finals) {
			out[k] = o.joinNames[i]
		} else {
			out[k] = o.finals[i].address
		}
	}
	return out
}

// PartID gives the id of a part on a host: the UUIDv5 (RFC 9562) of both, with the
// address of a first wave as if it had no number.
func PartID(host, address string) string {
	return uuid.NewSHA1(namespace, []byte(host+"\n"+address)).String()
}

func (p *planner) invocation(r *Result, i int) states.Invocation {
	f := p.finals[i]
	d := f.d
	inv := p.describe(r, d, i, f.address, max(f.wave, 1), p.nodes.blockAround(f)...)
	inv.Handler = f.handler
	inv.Always = !f.handler && d.isState() && p.nodes[f.nodes[0]].pin == nil && (d.lazy || d.isNotified)
	if d.confirms != nil { // it checks what is there, whatever holds for those that made it
		inv.Confirms, inv.Guards = d.confirms.Address, nil
		inv.Options.Locks = nil
	}
	inv.Node = d.Node
	f.requires = append(f.requires, p.withinOf(d)...)
	inv.Requires = p.addresses(f.requires)
	for _, n := range f.causes {
		inv.NotifiedBy = append(inv.NotifiedBy, p.notification(n))
	}
	f.predecessors = slices.DeleteFunc(f.predecessors, func(a int) bool {
		return slices.Contains(f.requires, a) ||
			slices.ContainsFunc(f.causes, func(n notificationCause) bool { return n.from == a })
	})
	inv.After = p.addresses(f.predecessors)
	inv.Rescues, inv.Finishes = p.nodes.listBlock(f)
	for _, n := range f.joined {
		inv.Joined = append(inv.Joined, states.Follow{Address: n.d.Address, Follows: n.to.Address})
	}
	inv.Joined = uniqueJoined(inv.Joined)
	inv.Next = p.beforeNext(i)
	return inv
}

// withinOf gives the invocations without whose success one of a rule cannot go.
func (p *planner) withinOf(d *decl) (list []int) {
	for _, f := range p.follows(d, d.Within) {
		if f.to.base >= 0 {
			list = append(list, p.finalOf[f.to.base])
		}
	}
	return list
}

// blockAround gives the block in one of whose lists an invocation of a state stands.
func (ns nodeList) blockAround(f *final) []*decl {
	if len(f.nodes) > 0 && ns[f.nodes[0]].pin != nil {
		return []*decl{ns[f.nodes[0]].pin.block}
	}
	return nil
}

// listBlock gives the block in whose rescue or always list an invocation
// stands, itself or by a block that holds it.
func (ns nodeList) listBlock(f *final) (rescues, finishes string) {
	if pin := ns[f.nodes[0]].pin; pin != nil {
		if pin.finishes {
			return "", pin.block.Address
		}
		return pin.block.Address, ""
	}
	around := append(ancestors(f.d.blocks), f.d)
	for _, d := range slices.Backward(around) {
		if d.rescues != nil {
			return d.rescues.Address, ""
		}
		if d.finishes != nil {
			return "", d.finishes.Address
		}
	}
	return "", ""
}

func (o *outline) notification(n notificationCause) states.Notification {
	address := o.finals[n.from].address
	if n.part != "" {
		address += "." + n.part
	}
	return states.Notification{Address: address, On: n.on}
}

func (p *planner) block(i int) states.Block {
	f := p.finals[i]
	d := f.d
	members := p.addresses(p.toFinals(p.nodes.listNodes(d, memberList)))
	if members == nil {
		members = []string{}
	}
	var after []string
	if len(p.nodes.contents(d)) == 0 {
		after = p.addresses(f.predecessors)
	}
	return states.Block{
		Address: f.address, Requires: p.addresses(f.requires), After: after, Members: members,
		Rescue:    p.addresses(p.toFinals(p.nodes.listNodes(d, rescueList))),
		Always:    p.addresses(p.toFinals(p.nodes.listNodes(d, alwaysList))),
		Recovered: d.Recovered, IgnoreFailure: d.Options.IgnoreFailure,
		Confirm: d.Options.Confirm,
	}
}

// idleHandler describes a lazy state that nothing invokes now. What it would
// require is named without waves where that is idle too.
func (p *planner) idleHandler(r *Result, d *decl) states.Invocation {
	inv := p.describe(r, d, -1, d.Address, 1)
	inv.Handler = true
	var known []int
	var idle []string
	for _, req := range effectiveRequires(d.requires) {
		if req.to.base < 0 {
			idle = append(idle, req.to.Address)
			continue
		}
		known = append(known, p.finalOf[req.to.base])
		known = append(known, p.toFinals(p.settledWaves(req.to.base))...)
	}
	slices.Sort(known)
	inv.Requires = append(p.addresses(known), idle...)
	inv.Notifies = notifies(d)
	for _, f := range p.effectiveFollows(d, d.requires, d.follows) {
		if f.to.isIdle() {
			inv.After = append(inv.After, f.to.Address)
		}
	}
	return inv
}

// describe fills in what does not depend on the graph.
func (p *planner) describe(r *Result, d *decl, at int, address string, wave int, around ...*decl) states.Invocation {
	state := d
	if d.state != nil {
		state = d.state
	}
	inv := states.Invocation{
		Address: address, State: state.Address, Defer: d.Defer, Parallel: d.Parallel || state.Parallel,
		Guards:  p.invocationGuards(d, at, address, around...),
		Options: invocationOptions(d, around...),
		Parts:   make([]states.Part, 0, len(d.Parts)),
	}
	for _, g := range inv.Guards {
		r.place(g.Scope, g.Results)
	}
	plain := address
	if wave == 1 {
		plain = d.Address
	}
	for part := range d.parts() {
		x := p.part(d, part, around...)
		x.Address = partAddress(d, address, part)
		x.ID = PartID(p.site.Host, partAddress(d, plain, part))
		x.Guards = p.partGuards(d, at, part, x.Address, address)
		if len(part.Results) > 0 {
			x.Results = p.results(d, at, address, part.Results)
			r.place(x.Address, x.Results)
		}
		for _, g := range x.Guards {
			r.place(x.Address, g.Results)
		}
		if inv.Parallel {
			x.Requires, x.After = d.partRequires(part, address), d.ownAddresses(part.Options.Follows, address)
		}
		r.Sources[x.Address] = part.Range
		inv.Parts = append(inv.Parts, x)
	}
	if !inv.Parallel && d.isReversed() {
		slices.Reverse(inv.Parts)
	}
	return inv
}
