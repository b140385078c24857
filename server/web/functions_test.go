package web

import (
	"testing"
	"time"
)

// TestDistance checks how times are said: in days from two days on, and in years from two years on.
func TestDistance(t *testing.T) {
	const day = 24 * time.Hour
	for d, wanted := range map[time.Duration]string{
		2 * time.Second: "now", -time.Second: "now", 59 * time.Second: "59 s ago", -90 * time.Second: "in 1 min", 47 * time.Hour: "47 h ago", 48 * time.Hour: "2 days ago",
		-729 * day: "in 729 days", -5475 * day: "in 15 years", 730 * day: "2 years ago",
	} {
		if text := distance(d); text != wanted {
			t.Errorf("%v is said as %q, wanted %q", d, text, wanted)
		}
	}
}
