package program

import (
	"context"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
)

// Outputs gives what the program, a component, hands to who uses it, sorted by
// name.
func (p *Program) Outputs(ctx context.Context, t expr.Target) (all []expr.OutputValue, list diag.List) {
	p.withFacts(ctx, t, func(e *evaluator) { all, list = e.describeOutputs() })
	return all, list
}

func (e *evaluator) describeOutputs() ([]expr.OutputValue, diag.List) {
	e.preparation().begin(true)
	e.expandAll()
	var all []expr.OutputValue
	for _, declared := range e.ownOutputs() {
		out := expr.OutputValue{Name: declared.Name, Sensitive: declared.Sensitive}
		v, sensitive := expr.Split(e.outputValue(declared))
		out.Sensitive = out.Sensitive || sensitive
		out.Known = v.IsWhollyKnown()
		if out.Known && !out.Sensitive {
			plain, err := expr.Plain(v)
			if err != nil {
				e.list.Add(diag.Diagnose(err, rangeOf(declared.src)))
				continue
			}
			out.Value = plain
		}
		all = append(all, out)
	}
	return all, e.findings()
}
