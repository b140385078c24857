package custom

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/tenetcm/tenet/lang/diag"
)

// parameters are those of the functions that a module may have.
func parameters() map[string][]string {
	return map[string][]string{
		"read":     {"host", "want"},
		"write":    {"host", "have", "want"},
		"remove":   {"host", "have"},
		"act":      {"host", "want"},
		"validate": {"want"},
		"complete": {"host", "want"},
		"diff":     {"have", "want"},
		"foresee":  {"host", "have", "want"},
	}
}

// settings are the other names by which a module says something.
func settings() []string {
	return []string{"attributes", "doc", "example", "handler", "locks", "no_absent", "retry", "root"}
}

// takeFunctions takes the functions, with the parameters that they must have.
func (d *declaration) takeFunctions() {
	for _, name := range slices.Sorted(maps.Keys(parameters())) {
		v := d.lib.globals[name]
		if v == nil {
			continue
		}
		f, ok := v.(*starlark.Function)
		if !ok {
			d.fail(d.globalRange(name), "", "%s is a function, not a value of type %s", name, v.Type())
			continue
		}
		want := parameters()[name]
		if f.NumParams() != len(want) || f.HasVarargs() || f.HasKwargs() || f.NumKwonlyParams() > 0 {
			d.fail(d.globalRange(name), "write def "+name+"("+strings.Join(want, ", ")+"):",
				"%s takes %s: it is called with (%s)", name, count(len(want)), strings.Join(want, ", "))
			continue
		}
		d.module.functions[name] = f
	}
	d.checkFunctions()
}

func count(n int) string {
	if n == 1 {
		return "1 parameter"
	}
	return fmt.Sprintf("%d parameters", n)
}

// checkFunctions holds the functions to be those of a resource, or of an act.
func (d *declaration) checkFunctions() {
	has := func(name string) bool { return d.lib.globals[name] != nil }
	s := d.module.schema
	s.NoAbsent = d.text("no_absent")
	file := d.top()
	switch {
	case has("act"):
		for _, name := range []string{"read", "write", "remove", "diff", "foresee"} {
			if has(name) {
				d.fail(d.globalRange(name), "a module either acts, or reads and writes", "a module with act has no %s", name)
			}
		}
		if s.NoAbsent == "" {
			s.NoAbsent = "What was done cannot be taken back."
		}
		return
	case !has("read") && !has("write"):
		d.fail(file, d.missingHint("read"), "the module has neither read and write nor act")
		return
	case !has("read"):
		d.fail(file, d.missingHint("read"), "the module has no function read")
	case !has("write"):
		d.fail(file, d.missingHint("write"), "the module has no function write")
	}
	switch {
	case has("remove") && s.NoAbsent != "":
		d.fail(d.globalRange("no_absent"), "leave one of them out", "the module has remove, and a reason in no_absent why there is none")
	case !has("remove") && s.NoAbsent == "":
		d.fail(file, cmp.Or(d.loadedAs("remove"), `write def remove(host, have): …, or no_absent = "It cannot be absent, because …"`),
			"the module has neither a function remove nor a reason in no_absent why not")
	}
}

// missingHint is the hint about a function that is not there.
func (d *declaration) missingHint(name string) string {
	defined := slices.Sorted(maps.Keys(d.lib.globals))
	if near := diag.Nearest(name, slices.DeleteFunc(defined, d.isKnown)); near != "" {
		return fmt.Sprintf("is it meant by %q?", near)
	}
	return cmp.Or(d.loadedAs(name), "write def "+name+"("+strings.Join(parameters()[name], ", ")+"): …")
}

// loadedAs is the hint about a name that was loaded, and is no global.
func (d *declaration) loadedAs(name string) string {
	for _, s := range d.lib.program.File.Stmts {
		load, ok := s.(*syntax.LoadStmt)
		if ok && slices.ContainsFunc(load.To, func(to *syntax.Ident) bool { return to.Name == name }) {
			return fmt.Sprintf("a loaded name is no global: load it by another name, lib_%s = %q, and write %s = lib_%s", name, name, name, name)
		}
	}
	return ""
}

func (d *declaration) isKnown(name string) bool {
	_, function := parameters()[name]
	return function || slices.Contains(settings(), name)
}

// checkKey warns of a resource whose parts nothing tells from each other: each would write what the
// others have written.
func (d *declaration) checkKey() {
	if d.module.functions["read"] == nil || len(d.module.schema.Keys()) > 0 {
		return
	}
	d.list.Add(diag.Diagnostic{Severity: diag.Warning, Range: d.globalRange("attributes"), Summary: "the module has no key",
		Detail: "The key says which resource a part is about, and is what its label gives. Without one, all parts of the module are about the same.",
		Hint:   `give the attribute that names the resource key = True: "name": attr("string", key = True, doc = "…")`})
}

// lookAlikes warns of globals that are nearly what a module may say, and say
// nothing.
func (d *declaration) lookAlikes() {
	known := append(settings(), slices.Sorted(maps.Keys(parameters()))...)
	free := slices.DeleteFunc(known, func(name string) bool { return d.lib.globals[name] != nil })
	for _, name := range slices.Sorted(maps.Keys(d.lib.globals)) {
		if d.isKnown(name) || strings.HasPrefix(name, "_") || d.hasErrors {
			continue
		}
		if near := diag.Nearest(name, free); near != "" {
			d.list.Add(diag.Diagnostic{Severity: diag.Warning, Range: d.globalRange(name),
				Summary: fmt.Sprintf("%q means nothing to a module", name),
				Hint:    fmt.Sprintf("did you mean %q? A name that begins with _ is never taken for another", near)})
		}
	}
}

func didYouMean(name string, names []string) string { return diag.DidYouMean(name, names) }
