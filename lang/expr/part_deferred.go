package expr

import (
	"errors"
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// deferAttribute takes in an attribute whose value the host computes.
func (p *Parts) deferAttribute(part *states.PartDeclaration, in PartInput, a Attribute) error {
	schema := in.Module.Attribute(a.Name)
	switch _, sensitive := Split(a.Value); {
	case schema.Out:
		return errObserved()
	case schema.Kind.FromSite():
		return &diag.HintError{Message: "a source cannot depend on a result", Hint: "the files of the site are read before the host knows any result; content = … may"}
	case sensitive && schema.Key:
		return errSensitiveKey(schema)
	case sensitive || schema.Sensitive:
		part.Sensitive = append(part.Sensitive, a.Name)
	}
	v := a.Value
	converted, err := Convert(v, ResultType(schema.Kind))
	switch {
	case schema.Kind == states.KindCondition && err != nil:
		return fmt.Errorf("a condition is true or false: %w", err)
	case schema.Kind == states.KindCondition:
		v = converted
	case err != nil:
		return errors.New(errorText(err))
	case schema.Kind == states.KindMode && v.Type() == cty.Number:
		return &diag.HintError{Message: "a mode is a string, and this is a number", Hint: `write its octal digits as a string: format("%04o", …)`}
	}
	x, err := Tree(v, a.Range)
	if err != nil {
		return err
	}
	if part.Results == nil {
		part.Results = map[string]*states.Expr{}
	}
	part.Results[a.Name] = x
	return nil
}

// isKeyMistake reports whether a mistake is in a key that is known.
func isKeyMistake(err error, part *states.PartDeclaration, m *states.Module) bool {
	wrong, ok := errors.AsType[*states.AttributeError](err)
	if !ok {
		return false
	}
	a := m.Attribute(wrong.Attribute)
	return a != nil && a.Key && part.Values[a.Name] != nil
}
