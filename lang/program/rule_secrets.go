package program

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/rules"
)

// plainWithSecrets gives a known value as plain data, in which what is sensitive is a rules.Secret.
func plainWithSecrets(v cty.Value) (any, error) {
	if !v.ContainsMarked() {
		plain, err := expr.Plain(v)
		if err != nil {
			return nil, err
		}
		return plain, checkReserved(plain)
	}
	if v.IsMarked() {
		known, sensitive := expr.Split(v)
		plain, err := expr.Plain(known)
		if err == nil {
			err = checkReserved(plain)
		}
		if sensitive && err == nil {
			return rules.Secret{Value: plain}, nil
		}
		return plain, err
	}
	if t := v.Type(); t.IsObjectType() || t.IsMapType() {
		out := map[string]any{}
		for name, e := range v.AsValueMap() {
			var err error
			if out[name], err = plainWithSecrets(e); err != nil {
				return nil, fmt.Errorf("[%q]: %w", name, err)
			}
		}
		return out, nil
	}
	out := []any{}
	for _, e := range v.AsValueSlice() {
		plain, err := plainWithSecrets(e)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", len(out), err)
		}
		out = append(out, plain)
	}
	return out, nil
}

// checkReserved refuses objects that a host would take for secrets.
func checkReserved(plain any) (err error) {
	rules.Rewrite(plain, func(v any) (any, bool) {
		if fields, ok := v.(map[string]any); ok && rules.IsReserved(fields) {
			for name := range fields {
				err = fmt.Errorf("an object with no field but %q stands for a secret: data for rules cannot hold one", name)
			}
		}
		return nil, false
	})
	return err
}

// valueWithSecrets gives plain data with secrets as a value in which these are sensitive.
func valueWithSecrets(plain any) (cty.Value, error) {
	return secretValue(plain, func(v cty.Value) cty.Value { return v.Mark(expr.Sensitive) })
}

func secretValue(plain any, secret func(cty.Value) cty.Value) (cty.Value, error) {
	return expr.ValueWith(plain, rules.Opened, secret)
}

// hostData is data as the host gets it, with objects that stand for secrets: see rules.Open.
func (e *ruleEvaluator) hostData(plain any) cty.Value {
	v, err := secretValue(plain, func(v cty.Value) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{rules.SecretName: v.Mark(expr.Sensitive)})
	})
	if err != nil {
		return e.known(plain) // which reports it
	}
	return v
}
