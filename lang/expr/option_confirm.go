package expr

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// ConfirmNames lists the attributes of confirm.
func ConfirmNames() []string { return []string{"command", "timeout"} }

func setConfirm(o *states.Options, v cty.Value) error {
	example := `write confirm = { timeout = "60s", command = ["/usr/local/bin/reachable"] }`
	if t := v.Type(); !t.IsObjectType() && !t.IsMapType() {
		return &diag.HintError{Message: fmt.Sprintf("an object is required, not %s", Kind(v)), Hint: example}
	}
	confirm, given := &states.Confirm{}, v.AsValueMap()
	maps.DeleteFunc(given, func(_ string, v cty.Value) bool { return v.IsNull() })
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if err := setConfirmField(confirm, name, given[name]); err != nil {
			wrong = append(wrong, &diag.HintError{Message: fmt.Sprintf("%s: %v", name, err), Hint: cmp.Or(diag.HintOf(err), example)})
		}
	}
	for _, name := range ConfirmNames() {
		// One that is missing beside a wrong word is most likely that.
		if _, ok := given[name]; !ok && len(wrong) == 0 {
			wrong = append(wrong, &diag.HintError{Message: name + " is missing", Hint: example})
		}
	}
	o.Confirm = confirm
	return errors.Join(wrong...)
}

func setConfirmField(c *states.Confirm, name string, v cty.Value) (err error) {
	switch name {
	case "timeout":
		c.Timeout, err = Duration(v)
	case "command":
		if c.Command, err = Texts(v); err == nil && len(c.Command) == 0 {
			err = errors.New("the list is empty")
		}
	default:
		return &diag.HintError{Message: "there is no such attribute",
			Hint: cmp.Or(diag.DidYouMean(name, ConfirmNames()), "confirm has timeout and command")}
	}
	return err
}
