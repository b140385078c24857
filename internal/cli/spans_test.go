package cli

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/fleet"
)

func TestSpans(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30d": 30 * day, "1d12h": 36 * time.Hour, "90m": 90 * time.Minute, "0": 0, "0d": 0, "0s": 0, "1.5h": 90 * time.Minute, "0d5m": 5 * time.Minute,
	} {
		var d span
		if err := d.UnmarshalText([]byte(text)); err != nil || time.Duration(d) != want {
			t.Errorf("%s: %s, %v", text, time.Duration(d), err)
		}
	}
	for _, text := range []string{"", "d", "-1d", "1d-1h", "-1h", "5", "1d5", "1.5d", "5d1d", "99999999999d", "106751d", "2540400h", "1h d", "NaN", "\x00"} {
		var d span
		if err := d.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken for %s", text, time.Duration(d))
		}
	}
}

// A span is read again as it is written. (rapid would cost each start of the program
// in the scripts a millisecond.)
func TestSpansAreReadAgain(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 10_000 {
		want := span(random.Int64N(int64(40000 * day)))
		if i%2 == 0 {
			want -= want % span(time.Minute)
		}
		var got span
		if err := got.UnmarshalText([]byte(want.String())); err != nil || got != want {
			t.Fatalf("%d is written %s and read as %d, %v", want, want, got, err)
		}
	}
}

func TestPercentages(t *testing.T) {
	for text, want := range map[string]percentage{"10%": 0.1, "0%": 0, "99%": 0.99, "12.5%": 0.125} {
		var p percentage
		if err := p.UnmarshalText([]byte(text)); err != nil || p != want {
			t.Errorf("%s: %v, %v", text, p, err)
		}
	}
	for _, text := range []string{"10", "0.1", "100%", "-1%", "NaN%", "%", "", "1e9%"} {
		var p percentage
		if err := p.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken for %v", text, p)
		}
	}
}

func FuzzSpan(f *testing.F) {
	for _, text := range []string{"30d", "1d12h", "90m", "0", "d", "-1h", "1d-1h"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var d, again span
		if d.UnmarshalText([]byte(text)) != nil {
			return
		}
		if err := again.UnmarshalText([]byte(d.String())); d < 0 || err != nil || again != d {
			t.Errorf("%q is %d, written %s and read as %d, %v", text, d, d, again, err)
		}
	})
}

// No time is no patience, and not that which there is unless something is said.
func TestPatience(t *testing.T) {
	for given, want := range map[span]time.Duration{0: fleet.NotAgain, span(time.Minute): time.Minute} {
		if got := (&connectFlags{ReconnectTimeout: given}).patience(); got != want {
			t.Errorf("%s: %s", given, got)
		}
	}
}
