package program

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/states"
)

// ownOutputs gives the outputs of the host that is evaluated, sorted by name.
func (e *expressions) ownOutputs() (list []*output) {
	for _, name := range e.site.outputs.Names() {
		if o, has := e.site.outputs.Of(name, e.hostRoles()); has {
			list = append(list, o)
		}
	}
	return list
}

// HasOutputs reports whether the program declares outputs, be it in a script.
func (p *Program) HasOutputs() bool { return len(p.outputNames()) > 0 }

// outputValue evaluates an output, and holds it to its type.
func (e *expressions) outputValue(o *output) cty.Value {
	v := e.deferrableValue(o.value.Expr, e.root)
	if !v.IsWhollyKnown() && !expr.IsWithheld(v) && !expr.IsDeferred(v) {
		return v
	}
	converted, err := o.Resolve([]expr.Assignment{{Value: v, Range: rangeOf(o.value.Range())}})
	if err != nil {
		err.Summary = fmt.Sprintf("the value of output %q does not fit its type", o.Name)
		err.Hint = strings.Replace(err.Hint, "variable's", "output's", 1)
		e.list.Add(*err)
		return cty.DynamicVal
	}
	return converted
}

// outputParts declares what the host gives to others: a part for each, after all that it is
// computed of. What a site for one machine gives is for who uses it as a component.
func (e *evaluator) outputParts() {
	if e.host == nil {
		return
	}
	module := e.site.options.Registry.ModuleOf(states.OutputType)
	for _, o := range e.ownOutputs() {
		if expr.HoldsSource(o.Type) {
			err := sourceOutputError(o)
			e.errorAt(o.src, err.Hint, "%s", err.Message)
			continue
		}
		v := e.outputValue(o)
		if !v.IsWhollyKnown() && !expr.IsWithheld(v) && !expr.IsDeferred(v) {
			continue // why has been reported
		}
		part, _, list := e.parts.Part(expr.PartInput{Module: module, Label: o.Name, Range: rangeOf(o.src), Dir: ".",
			Attributes: []expr.Attribute{{Name: states.OutputValue, Value: v, Range: rangeOf(o.value.Range())}}})
		e.list.Add(list...)
		part.Options.Description = o.Description
		e.out = append(e.out, states.Declaration{Kind: states.StateKind, Address: part.Address, Base: part.Base, Range: part.Range,
			TopLevel: true, Parts: []states.PartDeclaration{part}})
	}
}

func sourceOutputError(o *output) *diag.HintError {
	return &diag.HintError{Message: fmt.Sprintf("the output %q is a source, which a host cannot hand to others", o.Name),
		Hint: "hand on its text, read(PATH), of type string; hosts have the files of the site anyway"}
}

// hostOutput gives what an expression names of the outputs of another host.
func (e *expressions) hostOutput(want expr.HostAttribute) (cty.Value, error) {
	isOwn := e.prefix == "" && e.target.Host == want.Host && e.host != nil || e.host != nil && e.host.Name == want.Host
	if isOwn && e.top.scripts == nil { // a script runs through roles that the host does not have, too
		return cty.DynamicVal, &diag.HintError{Message: fmt.Sprintf("%s reads an output of its own", want.Host),
			Hint: "use what the output is computed of; of others alone: [for h in hosts(PATTERN) : … if h.name != host.name]"}
	}
	entry := e.entryOf(want.Host)
	if entry == nil {
		return cty.DynamicVal, &diag.HintError{Message: fmt.Sprintf("the site does not declare the host %q", want.Host), Hint: "tenet inspect hosts lists them"}
	}
	if want.Name != "" {
		return e.oneOutput(entry, want.Name)
	}
	values := map[string]cty.Value{}
	for _, name := range e.top.site.outputs.Names() {
		if _, has := e.top.site.outputs.Of(name, entry.has); !has {
			continue
		}
		v, err := e.oneOutput(entry, name)
		if err != nil {
			return cty.DynamicVal, err
		}
		values[name] = v
	}
	return cty.ObjectVal(values), nil
}

func (e *expressions) entryOf(host string) *hostEntry {
	i := slices.IndexFunc(e.hosts.entries, func(h *hostEntry) bool { return h.Name == host })
	if i < 0 {
		return nil
	}
	return e.hosts.entries[i]
}

func (e *expressions) oneOutput(of *hostEntry, name string) (cty.Value, error) {
	if e.top.scripts != nil { // which may declare it still
		return expr.HostOutput(of.Name, &expr.Variable{Name: name, Type: cty.DynamicPseudoType})
	}
	outputs := &e.top.site.outputs
	o, has := outputs.Of(name, of.has)
	switch {
	case has && expr.HoldsSource(o.Type):
		return cty.DynamicVal, sourceOutputError(o)
	case has:
		return expr.HostOutput(of.Name, o.Variable)
	case outputs.Has(name):
		return cty.DynamicVal, &diag.HintError{Message: fmt.Sprintf("the host %q has no output %q: only roles that it does not have declare it", of.Name, name),
			Hint: "name hosts that have such a role, or declare the output at top level"}
	}
	names := outputs.Names()
	return cty.DynamicVal, &diag.HintError{Message: fmt.Sprintf("hosts have no output %q", name),
		Hint: cmp.Or(diag.DidYouMean(name, names), diag.Choices(names), fmt.Sprintf("declare it: output %q { value = … }", name))}
}

// lastOutputs gives the outputs of a host as they were recorded last; null if they never were.
func (e *expressions) lastOutputs(host string) (cty.Value, error) {
	entry := e.entryOf(host)
	values := map[string]cty.Value{}
	scripted := e.top.scripts != nil // what they declare is known by its names alone
	if entry == nil || scripted && e.top.scripts.blind {
		return cty.DynamicVal, nil
	}
	var recorded map[string]states.Output
	if e.target.LastOutputs != nil {
		var err error
		if recorded, err = e.target.LastOutputs(host); err != nil {
			return cty.DynamicVal, err
		}
	}
	for _, name := range e.top.site.outputNames() {
		o, has := e.top.site.outputs.Of(name, entry.has)
		switch {
		case !has && scripted:
			o = &output{Variable: &expr.Variable{Name: name, Type: cty.DynamicPseudoType}}
		case !has:
			continue
		}
		known, was := recorded[name]
		if was && known.Sensitive && e.target.SecretsHidden {
			values[name] = cty.UnknownVal(o.Type).WithMarks(cty.NewValueMarks(expr.Sensitive, expr.Withheld))
			continue
		}
		v := cty.NullVal(cty.DynamicPseudoType)
		if was {
			var err error
			if v, err = expr.Value(known.Value); err != nil {
				return cty.DynamicVal, fmt.Errorf("the output %s of %s that is recorded cannot be used: %w", name, host, err)
			}
		}
		converted, wrong := o.Resolve([]expr.Assignment{{Value: v, Range: o.Range}})
		if wrong != nil { // it had another type then
			converted = cty.NullVal(o.Type)
		}
		if known.Sensitive && !o.Sensitive {
			converted = converted.Mark(expr.Sensitive)
		}
		values[name] = converted
	}
	return cty.ObjectVal(values), nil
}
