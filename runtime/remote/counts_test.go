package remote

import (
	"reflect"
	"testing"

	"github.com/tenetcm/tenet/states"
)

// Each count that a machine sends is looked at, and also those that are added one day.
func TestImplausibleCounts(t *testing.T) {
	if !plausible(&states.Counts{Changed: 3, AsThingsAre: 1}) {
		t.Error("usual counts are refused")
	}
	for field := range reflect.TypeFor[states.Counts]().Fields() {
		for _, n := range []int64{-1, 1 << 40} {
			var counts states.Counts
			reflect.ValueOf(&counts).Elem().FieldByIndex(field.Index).SetInt(n)
			if plausible(&counts) {
				t.Errorf("%s may be %d", field.Name, n)
			}
		}
	}
}
