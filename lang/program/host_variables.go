package program

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
)

// Variables that hosts use have a value before there are hosts: that of the site, which no
// role, group or host changes. They are resolved first, and all others with the host.

// isForHosts reports whether hosts use a variable.
func (e *variableValues) isForHosts(name string) bool {
	_, used := e.site.hostVariables[name]
	return used && e.prefix == "" && e.site.dir.Scripts == nil
}

// takes reports whether the values of a variable are collected now.
func (e *variableValues) takes(name string) bool { return e.isForHosts(name) == e.forHosts }

// resolveForHosts gives the variables that hosts use their values.
func (e *variableValues) resolveForHosts() {
	if len(e.site.hostVariables) == 0 {
		return
	}
	e.collect(true)
	for _, name := range slices.Sorted(maps.Keys(e.site.hostVariables)) {
		e.resolve(e.site.variables.First(name))
	}
}

// isLateForHosts reports a value of a variable that hosts use, where it needs what is known
// only later.
func (e *variableValues) isLateForHosts(name string, x *syntax.Expression) bool {
	use, used := e.site.hostVariables[name]
	if !used || x.Late == nil {
		return false
	}
	e.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("the value of var.%s needs %s, and hosts use it", name, x.Late.What), Range: rangeOf(x.Range()),
		Hint: hostsHint, Related: []diag.Related{{Message: "it is used here", Range: rangeOf(use)}}})
	return true
}

// reportHostVariables reports roles, groups and hosts that give a value to a variable which
// hosts use: it would not be the one that they were evaluated with.
func (e *variableValues) reportHostVariables() {
	if e.host == nil || e.prefix != "" {
		return
	}
	for _, l := range e.host.levels {
		for _, x := range l.items {
			use, used := e.site.hostVariables[x.name]
			if !used {
				continue
			}
			e.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("var.%s is used where hosts are declared, so that no %s may give it another value", x.name, l.kind()), Range: rangeOf(x.valueRange),
				Detail:  "Hosts are known before anything about one of them: such a variable has one value for all.",
				Hint:    "give it a value in vars.hcl or by --var, or take another variable for the host",
				Related: []diag.Related{{Message: "hosts use it here", Range: rangeOf(use)}}})
		}
	}
}

// kind names who gives the values.
func (l *levelVars) kind() string {
	switch l.level {
	case expr.LevelRole:
		return "role"
	case expr.LevelGroup:
		return "host group"
	}
	return "host"
}

// variablesOfHosts gives the values of the variables that hosts use; usable says that all are
// known, and none is sensitive: what is made of them is then good for other evaluations.
func (e hostReader) variablesOfHosts() (values map[string]cty.Value, usable bool) {
	values, usable = map[string]cty.Value{}, true
	for _, name := range slices.Sorted(maps.Keys(e.site.hostVariables)) {
		v, ok := e.root.Variables["var."+name]
		if !ok {
			v = cty.DynamicVal
		}
		values[name] = v
		usable = usable && v.IsWhollyKnown() && !v.ContainsMarked()
	}
	return values, usable
}

// reportUnknownVariables reports variables that hosts use and that have no value yet where
// scripts run: nothing else does.
func (e hostReader) reportUnknownVariables() {
	if e.site.dir.Scripts == nil {
		return
	}
	values, _ := e.variablesOfHosts()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if v := values[name]; v.IsKnown() || expr.IsWithheld(v) {
			continue
		}
		e.errorAt(e.site.hostVariables[name], "give it a default, or a value in vars.hcl or by --var, and declare it before anything that needs a host",
			"var.%s has no value where hosts are looked for", name)
	}
}
