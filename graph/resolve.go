package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// decl is a declaration with its names resolved.
type decl struct {
	*states.Declaration
	index int

	lazy      bool          // not invoked by itself
	ensure    states.Ensure // what a part without its own gets
	absent    bool          // takes away all that it names
	isOmitted bool          // left out by its own, its state's or a block's `when`
	runs      []*decl       // states: the runs that invoke it
	state     *decl         // runs: the state

	members, rescue, always []*decl // blocks
	blocks                  []*decl // the blocks that hold it directly
	rescues, finishes       *decl   // runs and blocks: where it stands in such a list
	confirm                 *decl   // blocks: the check of what they changed, see linkConfirms
	confirms                *decl   // that check: the block
	pins                    []pin   // states: the same, one invocation each

	chainRequires []require // what `ordered` adds
	requires      []require // own, of its parts, of its state, of its blocks
	follows       []follow  // likewise
	notes         []note    // sorted by handler

	partsByName map[string][]*states.PartDeclaration // see partsNamed

	base       int   // node of the default or requested invocation, of the run or block; -1: none
	waves      []int // nodes that may be merged: waves, and base
	isNotified bool  // something notifies it
	pinNodes   []int // nodes of pins
}

// require is one resolved requirement.
type require struct {
	to        *decl
	at        diag.Range
	component *decl // the component around d that requires it as a whole; nil: another way
}

// note is one resolved notification. Part is empty for the whole.
type note struct {
	handler *decl
	part    string
	on      string
	at      diag.Range
	heard   bool // written as listen
}

// pin is a place in a block's rescue or always list.
type pin struct {
	block    *decl
	finishes bool
}

func (d *decl) isBlock() bool { return d.Kind == states.BlockKind }
func (d *decl) isState() bool { return d.Kind == states.StateKind }

// resolve turns names into declarations and spreads options to whom they hold.
func (p *planner) resolve() (sound bool) {
	p.index()
	p.linkRuns()
	if !p.linkBlocks() {
		return false
	}
	p.linkConfirms()
	for _, d := range p.decls {
		p.markLazy(d)
	}
	for _, d := range p.decls {
		d.isOmitted = p.isOut(d)
		p.settleEnsure(d)
	}
	for _, d := range p.decls {
		p.linkNotes(d)
	}
	for _, d := range p.decls {
		d.chain()
	}
	for _, d := range p.decls {
		d.inheritNotes()
		p.linkRequires(d)
		p.linkFollows(d)
		p.checkFollows(d)
		d.inheritEnsure()
		p.checkParts(d)
	}
	for _, d := range p.decls {
		if d.isBlock() && len(d.rescue)+len(d.always) == 0 {
			below := leaves(d)
			d.absent = len(below) > 0 && !slices.ContainsFunc(below, func(m *decl) bool { return !m.absent })
			if d.confirm != nil {
				d.confirm.absent = d.absent
			}
		}
	}
	return true
}

func (p *planner) index() {
	n := len(p.site.List)
	p.decls = make([]*decl, 0, n)
	p.byAddress = make(map[string]*decl, n)
	p.byBase = make(map[string][]*decl)
	all := make([]decl, n)
	for i := range p.site.List {
		d := &all[i]
		*d = decl{Declaration: &p.site.List[i], index: len(p.decls), base: -1}
		p.decls = append(p.decls, d)
		if d.isBlock() && d.Options.Confirm != nil {
			p.addConfirm(d)
		}
		if first := p.byAddress[d.Address]; first != nil {
			p.diags.Add(diag.Diagnostic{
				Summary: fmt.Sprintf("%s is declared twice", d.Address), Range: d.Range,
				Related: []diag.Related{{Message: "first declared here", Range: first.Range}},
			})
			continue
		}
		p.byAddress[d.Address] = d
		if d.Base != "" && d.Base != d.Address {
			p.byBase[d.Base] = append(p.byBase[d.Base], d)
		}
		p.checkTypes(d)
	}
}

func (p *planner) checkTypes(d *decl) {
	for i := range d.Parts {
		part := &d.Parts[i]
		m := p.registry.ModuleOf(part.Type)
		if m == nil {
			p.diags.Add(diag.Diagnostic{
				Summary: fmt.Sprintf("unknown module %q", part.Type), Range: part.Range,
				Hint: suggest(part.Type, p.registry.Names()),
			})
		}
	}
}

// lookup gives the declarations that a reference names.
func (p *planner) lookup(r states.Ref) []*decl {
	found := p.byBase[r.Address]
	if d := p.byAddress[r.Address]; d != nil {
		found = append([]*decl{d}, found...)
	}
	if len(found) == 0 && !slices.Contains(p.site.Empty, r.Address) {
		p.diags.Add(diag.Diagnostic{
			Summary: fmt.Sprintf("%s is not declared", r.Address), Range: r.Range,
			Hint: suggest(r.Address, p.names()),
		})
	}
	if r.Part == "" {
		return found
	}
	with := slices.DeleteFunc(slices.Clone(found), func(d *decl) bool { return len(listenedParts(d, r.Part)) == 0 })
	// Who is left out may come without its parts.
	out := slices.ContainsFunc(found, func(d *decl) bool {
		return d.isOmitted || slices.ContainsFunc(d.runs, func(r *decl) bool { return r.isOmitted })
	})
	if len(with) == 0 && len(found) > 0 && !out && !slices.Contains(p.site.Empty, r.Address+"."+r.Part) {
		p.diags.Add(diag.Diagnostic{
			Summary: fmt.Sprintf("%s has no part %s", r.Address, r.Part), Range: r.Range,
			Hint:    suggest(r.Part, partNames(found[0])),
			Related: []diag.Related{{Message: r.Address + " is declared here", Range: found[0].Range}},
		})
	}
	return with
}

// units gives the invocations and blocks that a reference means: a state that
// runs invoke is meant as its runs.
func (p *planner) units(r states.Ref) []*decl {
	var out []*decl
	for _, d := range p.lookup(r) {
		if len(d.runs) == 0 {
			out = append(out, d)
			continue
		}
		out = append(out, d.runs...)
	}
	return uniqueDecls(out)
}

// uniqueDecls sorts by declaration and drops repeats.
func uniqueDecls(list []*decl) []*decl {
	if len(list) < 2 {
		return list
	}
	slices.SortFunc(list, func(a, b *decl) int { return cmp.Compare(a.index, b.index) })
	return slices.Compact(list)
}

// partsNamed gives the parts of an address or a base.
func partsNamed(d *decl, name string) []*states.PartDeclaration {
	if len(d.Parts) > manyParts {
		return d.byName()[name]
	}
	var found []*states.PartDeclaration
	for i := range d.Parts {
		if part := &d.Parts[i]; part.Address == name || part.Base == name {
			found = append(found, part)
		}
	}
	return found
}

// manyParts is the number of parts from which they are looked up in an index.
const manyParts = 16

// byName finds parts by address and by base; it is made once.
func (d *decl) byName() map[string][]*states.PartDeclaration {
	if d.partsByName == nil {
		d.partsByName = make(map[string][]*states.PartDeclaration, len(d.Parts))
		for i := range d.Parts {
			part := &d.Parts[i]
			d.partsByName[part.Address] = append(d.partsByName[part.Address], part)
			if part.Base != part.Address {
				d.partsByName[part.Base] = append(d.partsByName[part.Base], part)
			}
		}
	}
	return d.partsByName
}

func partNames(d *decl) []string {
	var names []string
	for i := range d.Parts {
		names = append(names, d.Parts[i].Address)
	}
	return names
}

func (p *planner) linkRuns() {
	for _, d := range p.decls {
		if d.Kind != states.RunKind || d.State == "" || d.confirms != nil {
			continue
		}
		for _, s := range p.lookup(states.Ref{Address: d.State, Range: d.Range}) {
			if !s.isState() {
				p.diags.Add(diag.Diagnostic{
					Summary: fmt.Sprintf("%s is no state", d.State), Range: d.Range,
					Hint: "a run names the state that it invokes",
				})
				continue
			}
			if d.state == nil {
				d.state = s
			}
			s.runs = append(s.runs, d)
		}
	}
}

// markLazy finds out whether a declaration is invoked by itself; being named
// in another's list was noted before.
func (p *planner) markLazy(d *decl) {
	if !d.isState() {
		return
	}
	if d.Lazy || d.Defer || len(d.Options.Listen)+len(d.Options.ListenFailure) > 0 {
		d.lazy = true
	}
	for i := range d.Parts {
		o := &d.Parts[i].Options
		d.lazy = d.lazy || len(o.Listen)+len(o.ListenFailure) > 0
	}
	if d.TopLevel && len(d.Parts) > 0 {
		m := p.registry.ModuleOf(d.Parts[0].Type)
		d.lazy = d.lazy || m != nil && m.Handler
	}
}

func (p *planner) isOut(d *decl) bool {
	if d.Options.LeftOut || d.state != nil && d.state.Options.LeftOut {
		return true
	}
	// A top-level part may carry the option itself.
	if d.TopLevel && len(d.Parts) == 1 && d.Parts[0].Options.LeftOut {
		return true
	}
	if d.confirms != nil {
		return p.isOut(d.confirms)
	}
	return slices.ContainsFunc(ancestors(d.blocks), func(b *decl) bool { return b.Options.LeftOut })
}

// ancestors gives blocks and all that hold them, outer ones first.
func ancestors(blocks []*decl) []*decl {
	if len(blocks) == 0 {
		return nil
	}
	var out []*decl
	for _, b := range blocks {
		for _, a := range append(ancestors(b.blocks), b) {
			if !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	return out
}

// settleEnsure finds the condition that d gives its parts: its own, its
// state's, or that of the nearest block that has one.
func (p *planner) settleEnsure(d *decl) {
	d.ensure = d.Options.Ensure
	if d.ensure == "" && d.state != nil {
		d.ensure = d.state.Options.Ensure
	}
	whole := false
	for _, b := range slices.Backward(slices.Concat(d.declaredIn(), ancestors(d.blocks))) {
		if d.ensure == "" {
			d.ensure, whole = b.Options.Ensure, b.Component
		}
	}
	if d.ensure == states.Absent {
		p.leaveOutRetained(d, whole)
	}
}

// declaredIn gives the components, outer ones first, of a state that stands in
// lists of blocks in them, which are no members: they make what it makes, too.
func (d *decl) declaredIn() []*decl {
	var out []*decl
	for _, pin := range d.pins {
		for _, b := range ancestors([]*decl{pin.block}) {
			if b.Component && strings.HasPrefix(d.Address, b.Address+".") && !slices.Contains(out, b) {
				out = append(out, b)
			}
		}
	}
	return out
}

// inheritEnsure finds out whether all that d names is taken away.
func (d *decl) inheritEnsure() {
	d.absent = false
	if d.Node != nil { // rules say what comes first
		return
	}
	for i := range d.Parts {
		if part := &d.Parts[i]; !part.Options.LeftOut {
			d.absent = d.ensureOf(part) == states.Absent
			if !d.absent {
				return
			}
		}
	}
}

// leaveOutRetained leaves out the parts that stay though what holds them is taken
// away: those that are to be retained, and in a whole component those that cannot
// be absent, such as acts, which leave nothing to be removed.
func (p *planner) leaveOutRetained(d *decl, whole bool) {
	stays := func(part *states.PartDeclaration) bool {
		m := p.registry.ModuleOf(part.Type)
		return part.Options.Ensure == "" && !part.Options.LeftOut &&
			(part.Options.Retain == states.RetainAll || whole && m != nil && m.NoAbsent != "")
	}
	left := 0
	for i := range d.Parts {
		if part := &d.Parts[i]; !part.Options.LeftOut && !stays(part) {
			left++
		}
	}
	if left == len(d.Parts) {
		return
	}
	d.isOmitted = d.isOmitted || left == 0
	own := *d.Declaration // the caller's stays as it is
	own.Parts = slices.Clone(own.Parts)
	for i := range own.Parts {
		if stays(&own.Parts[i]) {
			own.Parts[i].Options.LeftOut = true
		}
	}
	d.Declaration = &own
}

// ensureOf gives the condition that a part of d is wanted in.
func (d *decl) ensureOf(part *states.PartDeclaration) states.Ensure {
	return cmp.Or(part.Options.Ensure, d.ensure, states.Present)
}
