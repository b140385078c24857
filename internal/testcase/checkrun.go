package testcase

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// checkRun compares the compiled run with what is expected of it.
func (r *caseRun) checkRun(ctx context.Context) {
	want, run := r.expectation(untilRun), r.compilation.run
	var order []string
	parts := map[string]*states.Part{}
	for i := range run.Invocations {
		order = append(order, run.Invocations[i].Address)
		for k := range run.Invocations[i].Parts {
			p := &run.Invocations[i].Parts[k]
			parts[p.Address] = p
		}
	}
	if list, ok := get[[]item](want, "invocations"); ok {
		r.compareLists("the invocations are others", keys(list), order, want.fields["invocations"].at)
	}
	known := append(slices.Sorted(maps.Keys(parts)), order...)
	for _, i := range the[[]item](want, "without") {
		if slices.Contains(known, i.key) {
			r.fail(Failure{Message: i.key + " is in the run", Expected: "not there", Got: "there", Range: i.at})
		}
	}
	for _, i := range the[[]item](want, "parts") {
		part := parts[i.key]
		if part == nil {
			r.fail(Failure{Message: "there is no part " + i.key, Hint: nearest(i.key, slices.Sorted(maps.Keys(parts))), Range: i.at})
			continue
		}
		for _, a := range i.items {
			r.comparePart(part, a)
		}
	}
	r.checkOutputs(ctx, want)
	r.golden(want, func(string) ([]byte, error) {
		var out strings.Builder
		err := graph.JSON(&out, run)
		return []byte(out.String()), err
	})
}

// checkOutputs compares what a component gives to who uses it.
func (r *caseRun) checkOutputs(ctx context.Context, want *block) {
	list, given := get[[]item](want, "outputs")
	if !given {
		return
	}
	all, mistakes := r.o.Site.Outputs(ctx, r.compilation.target)
	if mistakes.HasErrors() {
		r.diagnostics = append(r.diagnostics, mistakes...)
		return
	}
	var names []string
	for _, out := range all {
		names = append(names, out.Name)
	}
	for _, i := range list {
		at := slices.Index(names, i.key)
		switch {
		case at < 0:
			r.fail(Failure{Message: fmt.Sprintf("there is no output %q", i.key), Hint: nearest(i.key, names), Range: i.at})
		case all[at].Sensitive:
			r.compare("output "+i.key, i.value, graph.Hidden, i.at)
		case !all[at].Known:
			r.compare("output "+i.key, i.value, knownLater, i.at)
		default:
			r.compare("output "+i.key, i.value, all[at].Value, i.at)
		}
	}
}

// knownLater stands for a value that the host computes.
const knownLater = "(known after apply)"

// comparePart compares one attribute of a part, or what else it says of itself.
func (r *caseRun) comparePart(part *states.Part, want item) {
	switch want.key {
	case "ensure":
		r.compare(part.Address+": ensure", want.value, string(part.Ensure), want.at)
		return
	case "key":
		if r.o.Registry.ModuleOf(part.Type).Attribute("key") == nil {
			r.compare(part.Address+": key", want.value, part.Key, want.at)
			return
		}
	}
	m := r.o.Registry.ModuleOf(part.Type)
	a := m.Attribute(want.key)
	if a == nil {
		r.diagnostics.Add(diag.Diagnostic{Summary: fmt.Sprintf("%s has no attribute %q", part.Type, want.key),
			Hint: nearest(want.key, attributeNames(m)), Range: want.at})
		return
	}
	if part.Results[want.key] != nil {
		r.compare(part.Address+": "+want.key, want.value, knownLater, want.at)
		return
	}
	canonical, err := a.Normalize(want.value)
	if err != nil {
		r.diagnostics.Add(diag.Diagnostic{Summary: err.Error(), Hint: "write a value that the attribute can have", Range: want.at})
		return
	}
	r.compare(part.Address+": "+want.key, canonical, part.Values[want.key], want.at)
}

// nearest is a hint for a name that is not there.
func nearest(name string, known []string) string {
	if near := diag.Nearest(name, known); near != "" {
		return "did you mean " + near + "?"
	}
	return diag.Choices(known)
}

// printable writes a plain value for people.
func printable(v any) string {
	switch v := v.(type) {
	case nil:
		return "not given"
	case string:
		return v
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}
