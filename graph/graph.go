// Package graph is the planner: it turns what a site declares for one host
// into a StateRun, the directed acyclic graph of everything the host is to do.
//
// Requiring something waits until it has settled: it has ended, and every
// handler that it may notify has settled in its turn. A handler runs in as few
// invocations (waves) as that allows. The planner gives every notification a
// wave of its own first, inserts the waits, and then merges the waves of each
// handler level by level; what touches the same thing on the host is put into
// an order last. Its result depends on the declarations alone.
package graph

import (
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// Options configure Compile.
type Options struct {
	// Registry holds the modules that the declarations use. It is required.
	Registry *states.Registry
}

// Result is a compiled site: the StateRun, and what is known about it beyond
// the plain data.
type Result struct {
	Run *states.StateRun
	// Sources tells where each invocation, block, handler and part was
	// declared, by its address.
	Sources map[string]diag.Range

	declarations *states.Declarations
	options      Options
	demanded     map[string]bool // lazy states that run though nothing asks for them
	plan         *planner
}

// Compile plans the declarations of one host. The list holds warnings and
// errors; the Result is nil when there is an error. All mistakes that can be
// found are reported together.
func Compile(d *states.Declarations, o Options) (*Result, diag.List) {
	return compile(d, o, nil)
}

// compile is Compile with the addresses of lazy states that are invoked though
// nothing requires or notifies them.
func compile(d *states.Declarations, o Options, demanded map[string]bool) (*Result, diag.List) {
	p := &planner{site: d, outline: outline{registry: o.Registry}, demanded: demanded}
	if o.Registry == nil {
		p.registry = states.NewRegistry() // no module is known
	}
	p.check()
	if p.diags.HasErrors() {
		return nil, p.diags.Sorted()
	}
	for _, step := range []func(){
		p.expand,          // a node for each invocation, a wave for each notification
		p.arrange,         // hard edges in a topological order
		p.wait,            // waits for what is notified, as far as they go
		p.merge,           // waves of one handler, level by level
		p.waitMerged,      // for what the merged waves notify
		p.finish,          // invocations, with their direct predecessors
		p.orderImplicitly, // order among what touches the same thing
		p.warnConflicts,   // parts that undo each other
	} {
		step()
		if p.diags.HasErrors() {
			return nil, p.diags.Sorted()
		}
	}
	r := p.build()
	r.declarations, r.options, r.demanded, r.plan = d, o, demanded, p
	return r, p.diags.Sorted()
}

// Check reports what is wrong whatever else is: cycles of requirements, notifications and
// blocks, and attributes that parts lack. It also takes what a site with other mistakes evaluates
// to, so that they can be reported together.
func Check(d *states.Declarations, o Options) diag.List {
	p := &planner{site: d, outline: outline{registry: o.Registry}}
	if o.Registry == nil {
		p.registry = states.NewRegistry() // no module is known
	}
	p.isDoubtful = slices.ContainsFunc(d.List, func(d states.Declaration) bool { return d.Options.Doubtful })
	p.check()
	return p.always.Sorted()
}

// check does what needs no nodes yet, and goes on after a mistake.
func (p *planner) check() {
	if p.resolve() { // names to declarations, options inherited
		p.checkDeclared() // cycles of requirements and of notifications
		p.warnEager()
	}
}

// planner holds the work of one compilation; each step fills its own fields.
type planner struct {
	site     *states.Declarations
	demanded map[string]bool
	diags    diag.List
	always   diag.List // those among diags that are wrong whatever else is
	// isDoubtful says that options of a declaration are wrong, by which parts may be absent.
	isDoubtful bool

	// resolve
	decls     []*decl
	byAddress map[string]*decl
	byBase    map[string][]*decl

	// checkDeclared
	handlers []*decl // what is notified, each before what it notifies

	// expand
	nodes nodeList

	// arrange
	order    *order
	settle   []int // of each node: its settled point, or itself
	gate     int   // what the tail waits for; -1 without a tail
	followed followEdges

	// wait
	yielded yielded

	// waitMerged
	mergedNodes [][]int       // of each node that stands for several: those
	closures    map[int][]int // see settledWavesMerged

	outline
}

// outline is the run that is to be: its invocations and blocks, and their order.
type outline struct {
	registry *states.Registry

	// finish
	finals  []*final
	finalOf []int // of each node: its final
	joins   []join
	soft    *order // over finals and joins

	// build
	joinNames map[int]string
}
