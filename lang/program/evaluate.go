package program

import (
	"context"
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/states"
)

// evaluation is the evaluation of a site for one target, with all components
// in it. A value that cannot be had is reported once, where it is made; what
// uses it is left out without a word. Addresses are those of the site: what a
// component declares has its address before it.
type evaluation struct {
	ctx    context.Context // scripts end with it
	target expr.Target
	list   diag.List
	facts  *facts
	// hostFacts are those of other hosts.
	hostFacts *expr.FactReader
	hosts     siteHosts  // which the site's components see, too
	host      *hostEntry // that is evaluated; nil: the site declares no hosts
	// exports are what other hosts may read of each; nil: that is not known yet.
	exports *exports
	top     *expressions // of the site itself

	bases           map[string]*declaration // all that is declared
	instances       map[string]*instance    // by address
	instancesByBase map[string][]*instance
	out             []states.Declaration
	empty           []string // see states.Declarations.Empty
	omittedPrefixes []string // what addresses begin with that mean nothing: see isOmitted
	// doubtful are bases whose instances, or parts, are not all known.
	doubtful      map[string]bool
	scriptSecrets []namedSecret // by scripts
	vault         *expr.Vault
	// sensitive are the sensitive texts in the values of attributes, for what is wrong with them.
	sensitive map[*syntax.Attribute][]string
}

// evaluator evaluates one directory: the site, or one instance of a component.
type evaluator struct {
	*expressions
	variables          *variableValues
	expandedComponents map[string]bool       // components that were expanded, by base
	own                []*declaration        // see ownDeclarations
	ruledData          map[string]*ruledData // by the name of the data; nil: something is wrong with it
	ruleStates         map[string]bool       // addresses of states that rules name: they are not invoked by themselves
}

// Evaluate gives the declarations for a target; nil or incomplete when the list
// holds an error.
func (p *Program) Evaluate(ctx context.Context, t expr.Target) (d *states.Declarations, list diag.List) {
	p.withFacts(ctx, t, func(e *evaluator) { d, list = e.evaluate(ctx) })
	return d, list
}

// withFacts evaluates the site as f does, and again as long as it has named facts of hosts that were not known:
// all that it names are asked for at once.
func (p *Program) withFacts(ctx context.Context, t expr.Target, f func(e *evaluator)) {
	for {
		e := newEvaluation(ctx, p, t)
		f(e)
		if ctx.Err() != nil || !e.hostFacts.AskWanted(ctx) {
			return
		}
	}
}

func (e *evaluator) evaluate(ctx context.Context) (*states.Declarations, diag.List) {
	e.preparation().begin(true)
	e.expandAll()
	if err := ctx.Err(); err != nil {
		return nil, diag.List{{Severity: diag.Error, Summary: "evaluation was stopped: " + context.Cause(ctx).Error()}}
	}
	total := 0
	for _, list := range e.instancesByBase {
		total += len(list)
	}
	e.out = make([]states.Declaration, 0, total)
	if err := e.declarations(ctx); err != nil {
		return nil, diag.List{{Severity: diag.Error, Summary: "evaluation was stopped: " + context.Cause(ctx).Error()}}
	}
	e.markCluster()
	e.outputParts()
	e.checkSecrets()
	e.checkHooks()
	e.checkPrune()
	if e.target.Review {
		e.reviewAccounts()
	}
	instances := componentRefs{evaluation: e.evaluation, addressesOf: map[string][]string{}}
	instances.replace()
	referenceCheck{e.evaluation}.check()
	moved := e.renames()
	slices.Sort(e.empty)
	return &states.Declarations{Site: e.site.name, Host: e.target.Host, List: e.out, Moved: moved, Prune: e.site.prune, Reconcile: e.keeping(), Cluster: e.membership(), Partial: e.sharers() != nil,
		Telemetry: e.site.telemetry,
		Empty:     slices.Compact(e.empty), Secrets: e.vault.Texts()}, e.findings()
}

// findings is all that is wrong, in order, with nothing sensitive in it.
func (e *evaluator) findings() diag.List {
	e.vault.Take(e.root.Variables)
	return e.vault.Hide(e.list.Sorted())
}

func newEvaluation(ctx context.Context, p *Program, t expr.Target) *evaluator {
	return newEvaluator(&evaluation{ctx: ctx, target: t, facts: &facts{gather: t.Facts}, hostFacts: expr.NewFactReader(t.HostFacts), bases: map[string]*declaration{},
		instances: map[string]*instance{}, instancesByBase: map[string][]*instance{}, doubtful: map[string]bool{},
		vault: expr.NewVault(t), sensitive: map[*syntax.Attribute][]string{}}, p, "")
}

func newEvaluator(of *evaluation, p *Program, prefix string) *evaluator {
	x := newExpressions(of, p, prefix)
	if prefix == "" {
		of.top = x
	}
	e := &evaluator{expressions: x, variables: &variableValues{expressions: x, assignments: map[string][]expr.Assignment{}}, expandedComponents: map[string]bool{}}
	x.component = e.componentValue
	return e
}

// expandAll finds the instances of all declarations, those of components
// included, and evaluates all locals, data and outputs.
func (e *evaluator) expandAll() {
	for _, name := range e.site.locals.Names() {
		if _, has := e.site.locals.Of(name, e.hostRoles()); has {
			e.local(name)
		}
	}
	for _, name := range e.site.data.Names() {
		if _, has := e.site.data.Of(name, e.hostRoles()); has {
			e.data(name)
		}
	}
	e.noteRuleStates()
	for _, d := range e.ownDeclarations() {
		e.bases[e.prefix+d.base] = d
		if d.component == nil {
			e.expand(d)
			continue
		}
		if !e.appliesToHost(d) {
			e.expandComponent(d)
			continue
		}
		e.componentValue(d.entry.Base[len("component."):])
		for _, in := range e.instancesByBase[e.prefix+d.base] {
			if in.inner != nil {
				in.inner.expandAll()
			}
		}
	}
}

// declarations evaluates what the directory declares.
func (e *evaluator) declarations(ctx context.Context) error {
	for rest := withoutRules(e.ownDeclarations()); len(rest) > 0; {
		n := e.independent(rest)
		if err := e.evaluateTogether(ctx, rest[:n]); err != nil {
			return err
		}
		others := rest[n:min(n+1, len(rest))]
		if err := e.oneByOne(ctx, e.units(others)); err != nil {
			return err
		}
		rest = rest[n+len(others):]
	}
	e.rules()
	e.vault.Take(e.root.Variables)
	return ctx.Err() // a script may have been stopped in the last of them
}
