package program

import (
	"maps"
	"slices"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
)

// namedSecret is a literal name in a call of secret().
type namedSecret struct {
	name string
	src  hcl2.Range
}

// secret notes the secret that a call names literally.
func (w *walker) secret(call *hclsyntax.FunctionCallExpr) {
	if call.Name != "secret" || len(call.Args) != 1 {
		return
	}
	text, ok := call.Args[0].(*hclsyntax.TemplateExpr)
	if !ok || !text.IsStringLiteral() {
		return
	}
	if v, diags := text.Value(nil); !diags.HasErrors() && v.Type() == cty.String {
		w.secrets = append(w.secrets, namedSecret{v.AsString(), call.Range()})
	}
}

// checkSecrets looks for all secrets that are named literally, where none is
// opened: also for those in what is left out, or in a role of other hosts.
func (e *evaluator) checkSecrets() {
	if !e.target.SecretsHidden {
		return
	}
	named := append(slices.Clone(e.site.secrets), e.scriptSecrets...)
	for _, name := range slices.Sorted(maps.Keys(e.site.components)) {
		named = append(named, e.site.components[name].secrets...)
	}
	for _, s := range named {
		for _, d := range e.vault.Check(s.name, rangeOf(s.src)) {
			if !slices.ContainsFunc(e.list, func(known diag.Diagnostic) bool {
				return known.Summary == d.Summary && known.Range.File == d.Range.File && known.Range.Start == d.Range.Start
			}) {
				e.list.Add(d) // else its evaluation has reported it
			}
		}
	}
}
