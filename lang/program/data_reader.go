package program

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/document"
	"github.com/tenetcm/tenet/lang/expr"
)

// valueReader turns a document into a value. What the language has no value for is in the list, at its place.
type valueReader struct{ list diag.List }

func (r *valueReader) value(n *document.Node) cty.Value {
	switch n.Kind {
	case document.List:
		items := make([]cty.Value, len(n.Items))
		for i, e := range n.Items {
			items[i] = r.value(e)
		}
		return cty.TupleVal(items)
	case document.Map:
		fields := make(map[string]cty.Value, len(n.Fields))
		for _, f := range n.Fields {
			if _, err := expr.Value(f.Name); err != nil { // names that differ could be one
				r.wrong(err, f.Range)
			}
			fields[f.Name] = r.value(f.Value)
		}
		return cty.ObjectVal(fields)
	}
	v, err := expr.Value(n.Value)
	if err == nil {
		err = expr.CheckLength(v)
	}
	if err != nil {
		r.wrong(err, n.Range)
		return cty.DynamicVal
	}
	return v
}

func (r *valueReader) wrong(err error, at diag.Range) {
	d := diag.Diagnose(err, at)
	if d.Hint == "" {
		d.Hint = "the document's own text is at fault: write the value otherwise"
	}
	r.list.Add(d)
}
