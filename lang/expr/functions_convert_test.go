package expr

import (
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

func TestConvertElementsIsCtysConversion(t *testing.T) {
	for _, v := range []cty.Value{
		cty.EmptyTupleVal,
		cty.TupleVal([]cty.Value{cty.StringVal("b"), cty.StringVal("a"), cty.StringVal("b")}),
		cty.TupleVal([]cty.Value{cty.StringVal("a"), cty.NumberIntVal(1)}),
		cty.TupleVal([]cty.Value{cty.StringVal("a"), cty.NullVal(cty.DynamicPseudoType)}),
		cty.TupleVal([]cty.Value{cty.StringVal("a"), cty.UnknownVal(cty.String)}),
		cty.TupleVal([]cty.Value{cty.StringVal("a"), cty.EmptyObjectVal}),
		cty.ListVal([]cty.Value{cty.True}),
		cty.NullVal(cty.List(cty.String)),
		cty.StringVal("a"),
	} {
		for _, wanted := range []cty.Type{cty.Set(cty.DynamicPseudoType), cty.List(cty.DynamicPseudoType)} {
			want, wantErr := stdlib.MakeToFunc(wanted).Call([]cty.Value{v})
			got, err := convertElements(wanted).Call([]cty.Value{v})
			if (err == nil) != (wantErr == nil) || err == nil && !got.RawEquals(want) {
				t.Errorf("%#v as %#v: got %#v, %v; want %#v, %v", v, wanted, got, err, want, wantErr)
			}
		}
	}
}

func TestConvertElementsIsFastEnough(t *testing.T) {
	names := make([]cty.Value, 50_000)
	for i := range names {
		names[i] = cty.StringVal(time.Duration(i).String())
	}
	begun := time.Now()
	if _, err := convertElements(cty.Set(cty.DynamicPseudoType)).Call([]cty.Value{cty.TupleVal(names)}); err != nil {
		t.Fatal(err)
	}
	// It takes a tenth of a second; by way of cty's unification half a minute.
	if spent := time.Since(begun); spent > time.Minute {
		t.Errorf("50,000 names took %v", spent)
	}
}
