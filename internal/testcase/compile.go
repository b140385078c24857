package testcase

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/facts"
	"github.com/tenetcm/tenet/states"
)

// compilation is a site compiled for a case, and its machine.
type compilation struct {
	machine *host.Memory
	target  lang.Target
	run     *states.StateRun
	sources map[string]diag.Range
}

// localhost names a host that no case names.
const localhost = "localhost"

// evaluation is what comes of a site for a case, with its mistakes.
type evaluation struct {
	target lang.Target
	result *graph.Result // nil: there are mistakes
	list   diag.List
}

// evaluate makes the machine, and evaluates the site for it. It reports whether it could.
func (r *caseRun) evaluate(ctx context.Context) (*evaluation, bool) {
	target, ok := r.target(ctx)
	if !ok {
		return nil, false
	}
	e := &evaluation{target: target}
	e.result, e.list = r.compileFor(ctx, target)
	r.placeVars(e.list)
	return e, true
}

// compileFor evaluates the site for a target, and plans it.
func (r *caseRun) compileFor(ctx context.Context, target lang.Target) (*graph.Result, diag.List) {
	declarations, list := r.o.Site.Evaluate(ctx, target)
	if list.HasErrors() {
		return nil, list
	}
	result, more := graph.Compile(declarations, graph.Options{Registry: r.o.Registry})
	list = append(list, more...)
	if list.HasErrors() {
		return nil, list
	}
	return result, list
}

// compile makes the machine and the run. It reports whether there is one.
func (r *caseRun) compile(ctx context.Context) bool {
	e, ok := r.evaluate(ctx)
	if !ok {
		return false
	}
	if want := r.c.expectsError(); want != nil {
		r.wantRefusal(e.list, want)
		return false
	}
	r.diagnostics = append(r.diagnostics, e.list...)
	if e.list.HasErrors() {
		return false
	}
	if list := r.choose(e); list.HasErrors() {
		r.diagnostics = append(r.diagnostics, list...)
		return false
	}
	r.checkWarnings()
	return true
}

// choose chooses what is selected of what the site is for the machine. The list says why there is nothing.
func (r *caseRun) choose(e *evaluation) diag.List {
	r.compilation = &compilation{machine: r.machine, target: e.target, run: e.result.Run, sources: e.result.Sources}
	if s := r.selection(); len(s.Targets)+len(s.Tags)+len(s.Exclude) > 0 {
		run, list := e.result.Select(s)
		if list.HasErrors() {
			return list
		}
		r.compilation.run = run
	}
	r.compilation.run = impatient(r.compilation.run, r.o.Registry)
	return nil
}

func (r *caseRun) selection() graph.Selection {
	b := r.c.block
	return graph.Selection{Targets: keys(the[[]item](b, "target")), Tags: the[[]string](b, "tags"), Exclude: keys(the[[]item](b, "exclude"))}
}

// target is what the site is evaluated for.
func (r *caseRun) target(ctx context.Context) (lang.Target, bool) {
	name, named := get[string](r.c.block, "host")
	if !named {
		name = localhost
	}
	t := lang.Target{Host: name, InventoryHidden: true} // a case runs nothing on this machine
	if !r.settle(ctx) {
		return t, false
	}
	t.Facts, t.HostFacts = r.facts.Fact, lang.NewHostFacts(r.hostFacts)
	t.LastOutputs = func(host string) (map[string]states.Output, error) { return r.given(host), nil }
	t.Secrets = r.secret
	if file, err := r.vars(); err != nil {
		r.diagnostics.Add(diag.Diagnostic{Summary: err.Error(), Range: r.c.block.fields["vars"].at})
		return t, false
	} else if file != nil {
		t.VarFiles = []lang.VarFile{{Name: varsFile, Data: file}}
	}
	chosen := r.chooseHost(ctx, &t, named)
	r.hostName = t.Host
	return t, chosen
}

// settle makes the machine, where it is not made yet, and its facts. It reports whether they are there.
func (r *caseRun) settle(ctx context.Context) bool {
	if r.machine == nil {
		description := r.described()
		if name, named := get[string](r.c.block, "host"); named {
			description.Name = name
		}
		made, err := simulated.New(ctx, description)
		if err != nil {
			r.diagnostics.Add(r.c.machine.diagnose(err, r.c))
			return false
		}
		r.machine = made
	}
	facts, err := simulated.Facts(r.machine, the[map[string]any](r.c.block, "facts"))
	if err != nil {
		r.diagnostics.Add(r.factsError(r.machine, err))
		return false
	}
	r.facts = facts
	return true
}

// chooseHost holds the case to name one of the hosts that the site declares; where
// there is only one, it need not.
func (r *caseRun) chooseHost(ctx context.Context, t *lang.Target, named bool) bool {
	hosts, _, list := r.o.Site.Hosts(ctx, *t)
	if list.HasErrors() || len(hosts) == 0 {
		return true // the mistakes are reported with all others
	}
	var names []string
	for _, h := range hosts {
		names = append(names, h.Name)
	}
	if list := append(r.unknownHosts(names), r.unknownFacts()...); len(list) > 0 {
		r.diagnostics = append(r.diagnostics, list...)
		return false
	}
	switch {
	case !named && len(names) == 1:
		t.Host = names[0]
	case !named:
		r.diagnostics.Add(diag.Diagnostic{Summary: "the site declares several hosts, and the case names none", Range: r.c.Range,
			Hint: fmt.Sprintf("write host = %q into it", names[0])})
		return false
	case !slices.Contains(names, t.Host):
		r.diagnostics.Add(diag.Diagnostic{Summary: fmt.Sprintf("the site declares no host %q", t.Host), Range: r.c.block.fields["host"].at,
			Hint: nearest(t.Host, names)})
		return false
	}
	return true
}

// secret gives a secret of the case.
func (r *caseRun) secret(name string) (string, error) {
	given := the[map[string]string](r.c.block, "secrets")
	if value, ok := given[name]; ok {
		return value, nil
	}
	hint := diag.DidYouMean(name, slices.Sorted(maps.Keys(given)))
	if hint == "" {
		hint = fmt.Sprintf("write secrets = { %q = \"…\" } into the case", name)
	}
	return "", &diag.HintError{Message: fmt.Sprintf("the case has no secret %q", name), Hint: hint}
}

func (r *caseRun) factsError(machine host.Host, err error) diag.Diagnostic {
	known := facts.New(machine, nil).Names()
	hint := ""
	for name := range the[map[string]any](r.c.block, "facts") {
		if !slices.Contains(known, name) && hint == "" {
			hint = diag.DidYouMean(name, known)
		}
	}
	return diag.Diagnostic{Summary: err.Error(), Hint: hint, Range: r.c.block.fields["facts"].at}
}

// varsFile stands for the values of a case in places of mistakes, until
// placeVars gives them their own.
const varsFile = "the case's vars"

// vars writes the values as a file of values, with a line for each.
func (r *caseRun) vars() ([]byte, error) {
	given := the[map[string]any](r.c.block, "vars")
	if len(given) == 0 {
		return nil, nil
	}
	f := hclwrite.NewEmptyFile()
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !states.IsIdentifier(name) {
			return nil, fmt.Errorf("%q is no name of a variable", name)
		}
		v, err := expr.Value(given[name])
		if err != nil {
			return nil, fmt.Errorf("the value of %s: %w", name, err)
		}
		if v.IsNull() {
			v = cty.NullVal(cty.DynamicPseudoType)
		}
		f.Body().SetAttributeValue(name, v)
	}
	return f.Bytes(), nil
}

// placeVars gives mistakes in the values of a case their place there.
func (r *caseRun) placeVars(list diag.List) {
	at := r.c.block.fields["vars"].at
	for i := range list {
		if list[i].Range.File == varsFile {
			list[i].Range = at
		}
		for k := range list[i].Related {
			if list[i].Related[k].Range.File == varsFile {
				list[i].Related = slices.Clone(list[i].Related)
				list[i].Related[k].Range = at
			}
		}
	}
}

// wantRefusal holds the site to be refused with these errors.
func (r *caseRun) wantRefusal(list diag.List, want []*regexp.Regexp) {
	at := r.c.block.fields["expect_error"].at
	var errs []string
	for _, d := range list {
		if d.Severity == diag.Error {
			errs = append(errs, d.Error())
		}
	}
	if len(errs) == 0 {
		r.fail(Failure{Message: "the site was to be refused, and is accepted", Expected: list2text(want), Range: at})
		return
	}
	matched := make([]bool, len(errs))
	for _, p := range want {
		found := false
		for i, e := range errs {
			if p.MatchString(e) {
				matched[i], found = true, true
			}
		}
		if !found {
			r.fail(Failure{Message: "the site is refused for another reason", Expected: p.String(), Got: strings.Join(errs, "\n"), Range: at})
		}
	}
	for i, e := range errs {
		if !matched[i] && len(r.failures) == 0 {
			r.fail(Failure{Message: "the site is refused for a further reason", Expected: list2text(want), Got: e, Range: at})
		}
	}
}

func list2text(want []*regexp.Regexp) string {
	var out []string
	for _, p := range want {
		out = append(out, p.String())
	}
	return strings.Join(out, "\n")
}

// checkWarnings holds the site to give the warnings that are expected. Others
// are shown, and do no harm.
func (r *caseRun) checkWarnings() {
	for _, p := range the[[]*regexp.Regexp](r.c.block, "expect_warning") {
		found := slices.ContainsFunc(r.diagnostics, func(d diag.Diagnostic) bool { return p.MatchString(d.Error()) })
		if !found {
			r.fail(Failure{Message: "the site does not give the warning", Expected: p.String(), Range: r.c.block.fields["expect_warning"].at})
		}
	}
	r.diagnostics = slices.DeleteFunc(r.diagnostics, func(d diag.Diagnostic) bool {
		return d.Severity == diag.Warning && slices.ContainsFunc(the[[]*regexp.Regexp](r.c.block, "expect_warning"),
			func(p *regexp.Regexp) bool { return p.MatchString(d.Error()) })
	})
}

// impatient gives the run without delays between attempts, and with little time
// for checks of blocks: a simulated machine is not going to change its mind.
func impatient(run *states.StateRun, registry *states.Registry) *states.StateRun {
	out := *run
	out.Secrets = slices.SortedFunc(slices.Values(run.Secrets), func(a, b string) int { return len(b) - len(a) })
	out.Invocations = slices.Clone(run.Invocations)
	for i := range out.Invocations {
		inv := &out.Invocations[i]
		inv.Parts = slices.Clone(inv.Parts)
		for k := range inv.Parts {
			p := &inv.Parts[k]
			retry := p.Options.Retry
			if m := registry.ModuleOf(p.Type); retry == nil && m != nil {
				retry = m.Retry
			}
			if retry != nil {
				p.Options.Retry = &states.Retry{Attempts: retry.Attempts}
			}
		}
	}
	out.Blocks = slices.Clone(run.Blocks)
	for i := range out.Blocks {
		if c := out.Blocks[i].Confirm; c != nil {
			out.Blocks[i].Confirm = &states.Confirm{Timeout: min(c.Timeout, 200*time.Millisecond), Command: c.Command}
		}
	}
	return &out
}
