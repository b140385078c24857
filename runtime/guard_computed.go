package runtime

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/states"
)

const dependsOnEarlierGuard = "looks at what only an apply will know"

// computedGuard is a guard whose conditions are all known.
type computedGuard struct {
	states.Guard
	When *bool
}

// computeGuard gives a guard the conditions that depend on results; late says why a
// plan cannot know them.
func (e *engine) computeGuard(g *states.Guard) (c *computedGuard, unknown string, err error) {
	c = &computedGuard{Guard: *g}
	for _, name := range slices.Sorted(maps.Keys(g.Results)) {
		v, err := e.expressions.evaluate(g.Results[name], g.Scope, name, cty.NilVal)
		if err != nil {
			return nil, "", err
		}
		v, sensitive := expr.Split(v)
		switch {
		case sensitive:
			err = &diag.HintError{Message: "a guard cannot depend on a sensitive value", Hint: "use a value that may be shown"}
		case !v.IsWhollyKnown():
			return nil, name + " is known only after apply", nil
		case v.IsNull():
			continue // not given
		default:
			err = c.set(name, v)
		}
		if err != nil {
			hint := cmp.Or(diag.HintOf(err), "the value is computed on the host, of what parts before have left there")
			err = &diag.HintError{Code: "invalid", Err: fmt.Errorf("%s: %w", name, err), Hint: hint}
			at := e.expressions.places(g.Results[name], g.Scope, name)[0]
			return nil, "", &placedError{at.String(), err}
		}
	}
	return c, "", nil
}

func (c *computedGuard) set(name string, v cty.Value) (err error) {
	switch name {
	case "when":
		var b bool
		b, err = expr.Bool(v)
		c.When = &b
	case "exists":
		c.Exists, err = expr.Text(v)
	case "missing":
		c.Missing, err = expr.Text(v)
	case "command":
		c.Command, err = expr.Texts(v)
		if err == nil && len(c.Command) == 0 {
			err = fmt.Errorf("the list is empty")
		}
	default:
		err = fmt.Errorf("a guard has no such condition")
	}
	return err
}
