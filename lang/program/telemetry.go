package program

import (
	"cmp"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/lang/syntax"
)

// telemetry reads who is told what runs do: it depends on nothing.
func (d *decoder) telemetry(b *syntax.Block) {
	d.check(b.Body, d.shapes.Telemetry, nil)
	if first := d.site.telemetryRange; first != nil {
		d.list.Add(diag.Diagnostic{Summary: "telemetry is described twice", Range: rangeOf(b.Header), Hint: "join the two telemetry blocks",
			Related: []diag.Related{{Message: "first described here", Range: rangeOf(*first)}}})
		return
	}
	d.site.telemetryRange = &b.Header
	d.literal(b.Body, "otlp", cty.String, func(v cty.Value) {
		t := site.Telemetry{OTLP: v.AsString()}
		if err := t.Check(); err != nil {
			d.errorAt(b.Body.Attribute("otlp").Expr.Range(), cmp.Or(diag.HintOf(err), `write otlp = "http://localhost:4318"`), "%v", err)
			return
		}
		d.site.telemetry = &t
	})
}
