package expr

import (
	"cmp"
	"fmt"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// ComponentEntry is what references may find in a component.
type ComponentEntry struct {
	Names   *Namespace
	Outputs []string // sorted
	// Open says that there may be more, which only an evaluation shows.
	Open bool
}

// Output reports whether the steps lead to an output of a component: the number
// of steps before its name, 0 where they do not.
func (n *Namespace) Output(steps []Step, roles Roles) int {
	if len(steps) < 3 || steps[0].Key != "component" {
		return 0
	}
	at := 2
	if steps[at].Index {
		at++
	}
	if at >= len(steps) || steps[at].Index {
		return 0
	}
	for _, entry := range n.Meant("component", steps[1].Key, roles) {
		if entry.Component != nil && !entry.Component.Names.IsRoot(steps[at].Key) {
			return at
		}
	}
	return 0
}

// find finds what the steps name in a component.
func (c *ComponentEntry) find(in Resolution, steps []Step) (Resolution, error) {
	if !steps[0].Index && c.Names.IsRoot(steps[0].Key) && steps[0].Key != "self" {
		inner, err := c.Names.Find(steps, nil, Roles{})
		switch {
		case err != nil && c.Open:
			inner, err = openRef(steps)
		case err != nil:
			err = &diag.HintError{Message: fmt.Sprintf("in %s: %v", in.Ref.Address, err), Hint: diag.HintOf(err)}
		}
		if err == nil && in.Many && inner.Result != "" {
			err = &diag.HintError{Message: fmt.Sprintf("%s has several instances", in.Ref.Address),
				Hint: fmt.Sprintf("give one of them its key: %s[\"KEY\"]", in.Ref.Address)}
		}
		inner.Ref.Address = in.Ref.Address + "." + inner.Ref.Address
		return inner, err
	}
	return Resolution{}, &diag.HintError{Message: fmt.Sprintf("%s has no output %q", in.Ref.Address, steps[0].Key),
		Hint: cmp.Or(diag.DidYouMean(steps[0].Key, c.Outputs), diag.Choices(c.Outputs), "declare it in the component: output \"NAME\" { … }")}
}

// openRef takes a reference as it is written, for an evaluation to check.
func openRef(steps []Step) (Resolution, error) {
	if len(steps) < 2 {
		return Resolution{}, &diag.HintError{Message: fmt.Sprintf("%s alone is no reference", steps[0].Key),
			Hint: fmt.Sprintf("name one of them: %s.NAME", steps[0].Key)}
	}
	key := func(address string, rest []Step) (string, []Step) {
		if len(rest) > 0 && rest[0].Index {
			return states.InstanceAddress(address, rest[0].Key), rest[1:]
		}
		return address, rest
	}
	open := Resolution{Open: true, kind: states.KindAny}
	root := DeclaredRoot(steps[0].Key)
	address, rest := key(states.LabelAddress(root, steps[1].Key), steps[2:])
	open.Ref.Address = address
	switch root {
	case "component":
		if len(rest) == 0 {
			return open, nil
		}
		inner, err := openRef(rest)
		inner.Ref.Address = address + "." + inner.Ref.Address
		return inner, err
	case "state", "run":
		if len(rest) > 1 {
			open.Ref.Part, rest = key(PartName(rest[0].Key, rest[1].Key), rest[2:])
		}
	}
	if len(rest) > 0 {
		open.Result, open.Rest = rest[0].Key, rest[1:]
	}
	return open, nil
}
