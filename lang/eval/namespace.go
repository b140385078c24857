package eval

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// Entry is a declaration that can be referred to.
type Entry struct {
	Base      string // its address without an instance key
	Range     diag.Range
	Instances bool // it has for_each
	// Parts are those of a state, by TYPE and LABEL (see PartName); nil where
	// parts cannot be referred to.
	Parts map[string]*PartEntry
	// OpenParts says that Parts is not known yet: a run's, which are those of
	// its state.
	OpenParts bool
	// Component is what a component declares; nil for all others.
	Component *ComponentEntry
}

// ComponentEntry is what references may find in a component.
type ComponentEntry struct {
	Names   *Namespace
	Outputs []string // sorted
	// Open says that there may be more, which only an evaluation shows.
	Open bool
}

// PartEntry is a part within a state.
type PartEntry struct {
	Base      string
	Range     diag.Range
	Instances bool
}

// Namespace holds what one site declares, and finds what references name.
type Namespace struct {
	isType func(string) bool
	roots  map[string]map[string]*Entry // word or type → name → entry
}

// NewNamespace makes an empty namespace. isType tells the names of modules.
func NewNamespace(isType func(string) bool) *Namespace {
	return &Namespace{isType: isType, roots: map[string]map[string]*Entry{}}
}

// Declare enters what stands under a root ("state", "run", "block" or a type)
// and a name. Where the name is taken it enters nothing, and gives the entry
// that has it.
func (n *Namespace) Declare(root, name string, e *Entry) (taken *Entry) {
	names := n.roots[root]
	if names == nil {
		names = map[string]*Entry{}
		n.roots[root] = names
	}
	if have := names[name]; have != nil {
		return have
	}
	names[name] = e
	return nil
}

// IsRoot reports whether references may start with this name.
func (n *Namespace) IsRoot(name string) bool {
	switch name {
	case "state", "run", "block", "component", "self":
		return true
	}
	return n.isType(name)
}

// Output reports whether the steps lead to an output of a component: the number
// of steps before its name, 0 where they do not.
func (n *Namespace) Output(steps []Step) int {
	if len(steps) < 3 || steps[0].Key != "component" {
		return 0
	}
	entry := n.roots["component"][steps[1].Key]
	if entry == nil || entry.Component == nil {
		return 0
	}
	at := 2
	if steps[at].Index {
		at++
	}
	if at >= len(steps) || steps[at].Index || entry.Component.Names.IsRoot(steps[at].Key) {
		return 0
	}
	return at
}

// Lookup gives what stands under a root and a name, or nil.
func (n *Namespace) Lookup(root, name string) *Entry { return n.roots[root][name] }

// Step is one step of a reference: ".name" or "[key]".
type Step struct {
	Key   string
	Index bool
}

// StepValue makes the step of an index.
func StepValue(v cty.Value) (Step, error) {
	v, sensitive := Split(v)
	switch {
	case sensitive:
		return Step{}, &HintError{Message: "a sensitive value cannot be the key of a reference",
			Hint: "addresses are shown everywhere; use a value that may be"}
	case v.IsNull() || v.Type() != cty.String && v.Type() != cty.Number:
		return Step{}, fmt.Errorf("the key of a reference must be a string")
	case v.Type() == cty.Number:
		return Step{Key: v.AsBigFloat().Text('f', -1), Index: true}, nil
	}
	return Step{Key: v.AsString(), Index: true}, nil
}

// Resolve finds what the steps name. self is the declaration in which the
// reference stands, nil where there is none. The error is a *HintError.
func (n *Namespace) Resolve(steps []Step, self *Entry) (states.Ref, error) {
	root, rest := steps[0].Key, steps[1:]
	if root == "self" {
		if self == nil || self.Parts == nil {
			return states.Ref{}, &HintError{Message: "self is known only within a state",
				Hint: "name the declaration by its full address"}
		}
		part, err := resolvePart(self, "self", rest)
		return states.Ref{Self: true, Part: part}, err
	}
	if len(rest) == 0 {
		return states.Ref{}, &HintError{Message: fmt.Sprintf("%s alone is no reference", root),
			Hint: fmt.Sprintf("name one of them: %s.NAME", root)}
	}
	name, rest := rest[0].Key, rest[1:]
	entry := n.roots[root][name]
	if entry == nil {
		return states.Ref{}, n.undefined(root, name)
	}
	ref := states.Ref{Address: entry.Base}
	if len(rest) > 0 && rest[0].Index {
		if !entry.Instances && !entry.OpenParts {
			return states.Ref{}, &HintError{Message: fmt.Sprintf("%s has no instances", entry.Base),
				Hint: "it has no for_each; leave the key out"}
		}
		ref.Address = states.InstanceAddress(entry.Base, rest[0].Key)
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return ref, nil
	}
	if entry.Component != nil {
		return entry.Component.resolve(ref, rest)
	}
	if entry.Parts == nil && !entry.OpenParts {
		return states.Ref{}, &HintError{
			Message: fmt.Sprintf("%s cannot be looked into", entry.Base),
			Hint:    "values that a part has on the host are not supported yet; refer to " + entry.Base}
	}
	part, err := resolvePart(entry, ref.Address, rest)
	ref.Part = part
	return ref, err
}

// resolve finds what the steps name in a component that ref names.
func (c *ComponentEntry) resolve(ref states.Ref, steps []Step) (states.Ref, error) {
	if !steps[0].Index && c.Names.IsRoot(steps[0].Key) && steps[0].Key != "self" {
		inner, err := c.Names.Resolve(steps, nil)
		if err == nil {
			inner.Address = ref.Address + "." + inner.Address
			return inner, nil
		}
		if !c.Open {
			return states.Ref{}, &HintError{Message: fmt.Sprintf("in %s: %v", ref.Address, err), Hint: HintOf(err)}
		}
		return openRef(ref, steps)
	}
	return states.Ref{}, &HintError{Message: fmt.Sprintf("%s has no output %q", ref.Address, steps[0].Key),
		Hint: cmp.Or(DidYouMean(steps[0].Key, c.Outputs), Choices(c.Outputs), "declare it in the component: output \"NAME\" { … }")}
}

// openRef takes a reference as it is written, for an evaluation to check.
func openRef(in states.Ref, steps []Step) (states.Ref, error) {
	if len(steps) < 2 {
		return states.Ref{}, &HintError{Message: fmt.Sprintf("%s.%s alone is no reference", in.Address, steps[0].Key),
			Hint: fmt.Sprintf("name one of them: %s.%s.NAME", in.Address, steps[0].Key)}
	}
	in.Address += "." + states.LabelAddress(steps[0].Key, steps[1].Key)
	rest := steps[2:]
	if len(rest) > 0 && rest[0].Index {
		in.Address, rest = states.InstanceAddress(in.Address, rest[0].Key), rest[1:]
	}
	if len(rest) > 1 {
		in.Part = PartName(rest[0].Key, rest[1].Key)
		if rest = rest[2:]; len(rest) > 0 && rest[0].Index {
			in.Part = states.InstanceAddress(in.Part, rest[0].Key)
		}
	}
	return in, nil
}

// HintOf gives the advice of a *HintError, or "".
func HintOf(err error) string {
	if hinted, ok := errors.AsType[*HintError](err); ok {
		return hinted.Hint
	}
	return ""
}

func resolvePart(e *Entry, owner string, steps []Step) (string, error) {
	if len(steps) < 2 {
		return "", &HintError{Message: fmt.Sprintf("%s is followed by a part's type and label", owner),
			Hint: fmt.Sprintf("write %s.TYPE.LABEL", owner)}
	}
	base := PartName(steps[0].Key, steps[1].Key)
	part, steps := e.Parts[base], steps[2:]
	if part == nil && !e.OpenParts {
		return "", &HintError{Message: fmt.Sprintf("%s has no part %s", e.Base, base),
			Hint: partHint(base, e)}
	}
	address := base
	if len(steps) > 0 && steps[0].Index {
		if part != nil && !part.Instances {
			return "", &HintError{Message: fmt.Sprintf("%s has no instances", base),
				Hint: "it has no for_each; leave the key out"}
		}
		address, steps = states.InstanceAddress(base, steps[0].Key), steps[1:]
	}
	if len(steps) > 0 {
		return "", &HintError{Message: fmt.Sprintf("%s cannot be looked into", base),
			Hint: "values that a part has on the host are not supported yet; refer to the part itself"}
	}
	return address, nil
}

func partHint(base string, e *Entry) string {
	names := slices.Sorted(maps.Keys(e.Parts))
	return cmp.Or(DidYouMean(base, names), Choices(names), "tenet inspect shows what it has")
}

// PartName is the address of a part within its state.
func PartName(typ, label string) string { return states.LabelAddress(typ, label) }

func (n *Namespace) undefined(root, name string) error {
	address := states.LabelAddress(root, name)
	names := slices.Sorted(maps.Keys(n.roots[root]))
	hint := fmt.Sprintf("declare it: %s %q { … }", root, name)
	if near := Nearest(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %s?", states.LabelAddress(root, near))
	} else if others := n.elsewhere(name); len(others) > 0 {
		hint = "did you mean " + strings.Join(others, " or ") + "?"
	}
	return &HintError{Message: fmt.Sprintf("%s is not declared", address), Hint: hint}
}

// elsewhere lists declarations of that name under other roots.
func (n *Namespace) elsewhere(name string) []string {
	var found []string
	for _, root := range slices.Sorted(maps.Keys(n.roots)) {
		if e := n.roots[root][name]; e != nil {
			found = append(found, e.Base)
		}
	}
	return found
}
