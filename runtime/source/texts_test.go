package source_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/source"
)

// TestTexts checks that windows and downtimes are read as people write them, and that what is none is refused with how it is written.
func TestTexts(t *testing.T) {
	w, err := source.ParseWindow("sat,sun 22:00-04:00 Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	if days, hours, zone := w.Texts(); !slices.Equal(days, []string{"sat", "sun"}) || hours != "22:00-04:00" || zone != "Europe/Berlin" {
		t.Errorf("it is read as %q %q %q", days, hours, zone)
	}
	for _, wrong := range []string{"", "sat sun 22:00-04:00 Europe/Berlin", "22:00-04:00 Europe/Berlin UTC", "25:00-26:00", "mon 22:00"} {
		if _, err := source.ParseWindow(wrong); err == nil {
			t.Errorf("%q is taken as a window", wrong)
		}
	}
	d, err := source.ParseDowntime("2030-01-31T22:00:00Z/2030-02-01T04:00:00+01:00  moving house")
	if err != nil || d.Reason != "moving house" || d.To.Sub(d.From).Hours() != 5 {
		t.Errorf("it is read as %v: %v", d, err)
	}
	for _, wrong := range []string{"", "tomorrow", "2030-01-31T22:00:00Z", "2030-02-01T00:00:00Z/2030-01-31T00:00:00Z", "2030-02-01T00:00:00Z/2030-02-01T00:00:00Z"} {
		if _, err := source.ParseDowntime(wrong); err == nil || !strings.Contains(err.Error(), "write it as in") {
			t.Errorf("%q as a downtime: %v", wrong, err)
		}
	}
}
