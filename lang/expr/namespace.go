package expr

import (
	"cmp"
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
	Role      string // that declares it; empty: it is every host's
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

// Owner is the role that declares it.
func (e *Entry) Owner() string { return e.Role }

// PartEntry is a part within a state.
type PartEntry struct {
	Base      string
	Range     diag.Range
	Instances bool
}

// Namespace holds what one site declares, and finds what references name.
type Namespace struct {
	// Modules finds the modules whose attributes are looked into; nil: any
	// attribute is taken.
	Modules func(name string) *states.Module

	isType func(string) bool
	roots  map[string]*Declared[*Entry] // by word or type
}

// NewNamespace makes an empty namespace. isType tells the names of modules.
func NewNamespace(isType func(string) bool) *Namespace {
	return &Namespace{isType: isType, roots: map[string]*Declared[*Entry]{}}
}

// Declare enters what stands under a root ("state", "run", "block" or a type)
// and a name. Where the name is taken it enters nothing, and gives the entry
// that has it.
func (n *Namespace) Declare(root, name string, e *Entry) (taken *Entry) {
	names := n.roots[root]
	if names == nil {
		names = &Declared[*Entry]{}
		n.roots[root] = names
	}
	taken, _ = names.Add(name, e)
	return taken
}

// IsRoot reports whether references may start with this name.
func (n *Namespace) IsRoot(name string) bool {
	switch name {
	case "state", "handler", "run", "rule", "block", "component", "self":
		return true
	case "cluster": // an output of a component, where none is declared, may be named so
		return n.roots[name] != nil
	}
	return n.isType(name)
}

// DeclaredRoot gives the root of the address of what is declared by a word: that of a
// handler is "state".
func DeclaredRoot(root string) string {
	if root == "handler" {
		return "state"
	}
	return root
}

// Meant gives what may be meant by a name under a root: what those who have the roles have, or
// otherwise all that others may have.
func (n *Namespace) Meant(root, name string, roles Roles) []*Entry {
	names := n.roots[DeclaredRoot(root)]
	if names == nil {
		return nil
	}
	if e, ok := names.Of(name, roles); ok && !roles.all {
		return []*Entry{e}
	}
	return names.All(name)
}

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
		return Step{}, &diag.HintError{Message: "a sensitive value cannot be the key of a reference",
			Hint: "addresses are shown everywhere; use a value that may be"}
	case v.IsNull() || v.Type() != cty.String && v.Type() != cty.Number:
		return Step{}, &diag.HintError{Message: fmt.Sprintf("the key of a reference must be a string, not %s", Kind(v)),
			Hint: "write the key of an instance in quotes, or a value that is text"}
	case v.Type() == cty.Number:
		return Step{Key: v.AsBigFloat().Text('f', -1), Index: true}, nil
	}
	return Step{Key: v.AsString(), Index: true}, nil
}

// Resolution is what the steps of a reference name.
type Resolution struct {
	Ref    states.Ref
	Result string // the attribute of the part that is asked for; empty: none, the reference itself
	// Many says that the part has several instances and none is named: the
	// result is a map by their keys. Open says that this is not known.
	Many, Open bool
	// Varies says that what is named, or whether it can be, depends on the roles of a host.
	Varies bool
	Rest   []Step // behind the result

	kind states.Kind // of the result
}

// Find finds what the steps name for those who have the roles. self is the declaration in which
// the reference stands, nil where there is none. The error is a *diag.HintError.
func (n *Namespace) Find(steps []Step, self *Entry, roles Roles) (Resolution, error) {
	root, rest := steps[0].Key, steps[1:]
	if root == "self" {
		if self == nil || self.Parts == nil {
			return Resolution{}, &diag.HintError{Message: "self is known only within a state",
				Hint: "name the declaration by its full address; what is known about the host is fact.NAME, such as fact.ipv4"}
		}
		return n.findPart(Resolution{Ref: states.Ref{Self: true}}, self, "self", rest)
	}
	if len(rest) == 0 {
		return Resolution{}, &diag.HintError{Message: fmt.Sprintf("%s alone is no reference", root),
			Hint: fmt.Sprintf("name one of them: %s.NAME", root)}
	}
	name, rest := rest[0].Key, rest[1:]
	if self != nil && self.Parts[PartName(root, name)] != nil {
		return n.ownPart(root, name, rest, self, roles)
	}
	meant := n.Meant(root, name, roles)
	if len(meant) == 0 {
		return Resolution{}, n.undefinedError(root, name)
	}
	found, err := n.findIn(meant[0], root, rest)
	for _, entry := range meant[1:] {
		other, wrong := n.findIn(entry, root, rest)
		switch {
		case wrong != nil: // a host that has this one says so
		case err != nil:
			found, err = other, nil
		default:
			found.Varies = found.Varies || found.Many != other.Many || found.Open != other.Open || found.kind != other.kind
		}
	}
	return found, err
}

// ownPart finds what TYPE.LABEL names within a state that has such a part, unless what stands at top
// level has the name as well.
func (n *Namespace) ownPart(typ, label string, rest []Step, self *Entry, roles Roles) (Resolution, error) {
	steps := append([]Step{{Key: typ}, {Key: label}}, rest...)
	found, err := n.findPart(Resolution{Ref: states.Ref{Self: true}}, self, "self", steps)
	others := n.roots[typ]
	if others == nil || !others.Has(label) || err != nil {
		return found, err
	}
	if _, known := others.Of(label, roles); !known {
		found.Varies = true // a host whose roles declare it has both
		return found, nil
	}
	base := PartName(typ, label)
	return Resolution{}, &diag.HintError{Message: fmt.Sprintf("%s is a part of %s, and one at top level as well", base, self.Base),
		Hint: fmt.Sprintf("write self.%s for the part of this state; for the other, rename one of the two", base)}
}

// findIn finds what steps behind a declaration name.
func (n *Namespace) findIn(entry *Entry, root string, rest []Step) (Resolution, error) {
	found := Resolution{Ref: states.Ref{Address: entry.Base}, Many: entry.Instances}
	if len(rest) > 0 && rest[0].Index {
		if !entry.Instances && !entry.OpenParts {
			return Resolution{}, &diag.HintError{Message: fmt.Sprintf("%s has no instances", entry.Base),
				Hint: "it has no for_each; leave the key out"}
		}
		found.Ref.Address, found.Many = states.InstanceAddress(entry.Base, rest[0].Key), false
		rest = rest[1:]
	}
	switch {
	case len(rest) == 0:
		return found, nil
	case entry.Component != nil:
		return entry.Component.find(found, rest)
	case entry.Parts != nil || entry.OpenParts:
		return n.findPart(found, entry, found.Ref.Address, rest)
	case n.isType(root):
		return n.result(found, root, rest)
	}
	return Resolution{}, &diag.HintError{Message: fmt.Sprintf("%s cannot be looked into", entry.Base),
		Hint: "only parts have results; refer to a part of one of its members"}
}

// Resolve is Find for references that are no results.
func (n *Namespace) Resolve(steps []Step, self *Entry) (states.Ref, error) {
	found, err := n.Find(steps, self, Roles{})
	if err == nil && found.Result != "" {
		err = &diag.HintError{Message: fmt.Sprintf("%s is a value, not a reference", found.Ref.Text()+"."+found.Result),
			Hint: "refer to the part itself"}
	}
	return found.Ref, err
}

func (n *Namespace) findPart(found Resolution, e *Entry, owner string, steps []Step) (Resolution, error) {
	if len(steps) < 2 {
		return found, &diag.HintError{Message: fmt.Sprintf("%s is followed by a part's type and label", owner),
			Hint: fmt.Sprintf("write %s.TYPE.LABEL", owner)}
	}
	typ, base := steps[0].Key, PartName(steps[0].Key, steps[1].Key)
	part, steps := e.Parts[base], steps[2:]
	if part == nil && !e.OpenParts {
		return found, &diag.HintError{Message: fmt.Sprintf("%s has no part %s", e.Base, base), Hint: partHint(base, e)}
	}
	found.Ref.Part = base
	several := part != nil && part.Instances
	if len(steps) > 0 && steps[0].Index {
		if part != nil && !part.Instances {
			return found, &diag.HintError{Message: fmt.Sprintf("%s has no instances", base),
				Hint: "it has no for_each; leave the key out"}
		}
		found.Ref.Part, steps, several = states.InstanceAddress(base, steps[0].Key), steps[1:], false
	} else {
		found.Open = e.OpenParts
	}
	if len(steps) == 0 {
		return found, nil
	}
	if several && found.Many {
		return found, &diag.HintError{Message: fmt.Sprintf("%s has several instances, and so has its %s", e.Base, base),
			Hint: fmt.Sprintf("give one of them its key, such as %s[\"KEY\"]", base)}
	}
	found.Many = found.Many || several
	return n.result(found, typ, steps)
}

// result looks for the attribute of a part that the next step names.
func (n *Namespace) result(found Resolution, typ string, steps []Step) (Resolution, error) {
	found.Result, found.Rest, found.kind = steps[0].Key, steps[1:], states.KindAny
	if n.Modules == nil {
		return found, nil
	}
	m := n.Modules(typ)
	if m == nil {
		return found, &diag.HintError{Message: fmt.Sprintf("there is no module %q", typ), Hint: "tenet doc lists the modules"}
	}
	attribute := m.Attribute(found.Result)
	if attribute != nil && !attribute.In {
		found.kind = attribute.Kind
		return found, nil
	}
	var names []string
	for _, a := range m.Attributes {
		if !a.In {
			names = append(names, a.Name)
		}
	}
	if attribute != nil {
		return found, &diag.HintError{Message: fmt.Sprintf("%s of %s is no result: it says how to act, and is not observed", found.Result, Article(typ)),
			Hint: cmp.Or(diag.Choices(names), fmt.Sprintf("tenet doc %s lists its attributes", typ))}
	}
	return found, &diag.HintError{Message: fmt.Sprintf("%s has no attribute %q", Article(typ), found.Result),
		Hint: cmp.Or(diag.DidYouMean(found.Result, names), fmt.Sprintf("tenet doc %s lists its attributes", typ))}
}

func partHint(base string, e *Entry) string {
	names := slices.Sorted(maps.Keys(e.Parts))
	return cmp.Or(diag.DidYouMean(base, names), diag.Choices(names), "tenet inspect shows what it has")
}

// PartName is the address of a part within its state.
func PartName(typ, label string) string { return states.LabelAddress(typ, label) }

func (n *Namespace) undefinedError(root, name string) error {
	address := states.LabelAddress(root, name)
	var names []string
	if declared := n.roots[DeclaredRoot(root)]; declared != nil {
		names = declared.Names()
	}
	hint := fmt.Sprintf("declare it: %s %q { … }", root, name)
	if near := diag.Nearest(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %s?", states.LabelAddress(root, near))
	} else if others := append(n.partAddresses(address), n.otherAddresses(name)...); len(others) > 0 {
		hint = "did you mean " + strings.Join(others, " or ") + "?"
	}
	return &diag.HintError{Message: fmt.Sprintf("%s is not declared", address), Hint: hint}
}

// partAddresses lists the parts of that name in states.
func (n *Namespace) partAddresses(base string) []string {
	var found []string
	if declared := n.roots["state"]; declared != nil {
		for _, name := range declared.Names() {
			if e := declared.First(name); e.Parts[base] != nil {
				found = append(found, e.Base+"."+base)
			}
		}
	}
	return found
}

// AddressesOf lists the addresses of all that is declared under a name, whatever it
// is.
func (n *Namespace) AddressesOf(name string) []string { return n.otherAddresses(name) }

// otherAddresses lists declarations of that name under other roots.
func (n *Namespace) otherAddresses(name string) []string {
	var found []string
	for _, root := range slices.Sorted(maps.Keys(n.roots)) {
		if e := n.roots[root].First(name); e != nil {
			found = append(found, e.Base)
		}
	}
	return found
}
