package site

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the test needs zones wherever it runs

	"pgregory.net/rapid"
)

func window(t testing.TB, days, hours, zone string) Window {
	t.Helper()
	w, err := ParseWindow(strings.Fields(days), hours, zone)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// openings lists the minutes of UTC from one time to another in which a schedule opens and closes.
func openings(s Schedule, from, to string) string {
	const form = "2006-01-02T15:04"
	start, _ := time.Parse(form, from)
	end, _ := time.Parse(form, to)
	var out []string
	was := false
	for at := start; at.Before(end); at = at.Add(time.Minute) {
		if is := s.IsOpen(at); is != was {
			out, was = append(out, at.Format("02T15:04")), is
		}
	}
	return strings.Join(out, " ")
}

func TestWindows(t *testing.T) {
	for _, c := range []struct{ name, days, hours, zone, from, to, want string }{
		{"UTC unless said", "", "08:00-09:30", "", "2026-03-02T00:00", "2026-03-03T00:00", "02T08:00 02T09:30"},
		{"past midnight", "fri", "22:00-04:00", "", "2026-03-05T00:00", "2026-03-09T00:00", "06T22:00 07T04:00"},
		{"the whole day", "sun", "00:00-24:00", "", "2026-03-07T00:00", "2026-03-10T00:00", "08T00:00 09T00:00"},
		{"in a zone", "mon", "01:00-02:00", "Europe/Berlin", "2026-03-01T00:00", "2026-03-03T00:00", "02T00:00 02T01:00"},
		// On 2026-03-29 clocks go from 02:00 to 03:00 at 01:00 UTC.
		{"a missing hour moves on", "sun", "02:00-03:00", "Europe/Berlin", "2026-03-28T12:00", "2026-03-29T12:00", "29T01:00 29T02:00"},
		{"a missing half hour moves on", "sun", "02:30-02:45", "Europe/Berlin", "2026-03-28T12:00", "2026-03-29T12:00", "29T01:30 29T01:45"},
		{"around the missing hour", "sun", "01:00-04:00", "Europe/Berlin", "2026-03-28T12:00", "2026-03-29T12:00", "29T00:00 29T02:00"},
		// On 2026-10-25 clocks go from 03:00 back to 02:00 at 01:00 UTC.
		{"a doubled hour counts once", "sun", "02:00-02:30", "Europe/Berlin", "2026-10-24T12:00", "2026-10-25T12:00", "25T00:00 25T00:30"},
		{"around the doubled hour", "sun", "01:00-04:00", "Europe/Berlin", "2026-10-24T12:00", "2026-10-25T12:00", "24T23:00 25T03:00"},
	} {
		if got := openings(Schedule{{window(t, c.days, c.hours, c.zone)}}, c.from, c.to); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	both := Schedule{{window(t, "", "08:00-12:00", "")}, {window(t, "", "10:00-14:00", ""), window(t, "", "07:00-09:00", "")}}
	if got := openings(both, "2026-03-02T00:00", "2026-03-03T00:00"); got != "02T08:00 02T09:00 02T10:00 02T12:00" {
		t.Errorf("groups that intersect: %s", got)
	}
	never := Schedule{{window(t, "mon", "08:00-12:00", "")}, {window(t, "tue", "08:00-12:00", "")}}
	if at := never.Next(time.Unix(1e9, 0)); !at.IsZero() {
		t.Errorf("a schedule that is never open opens at %s", at)
	}
}

func TestNoWindows(t *testing.T) {
	for _, hours := range []string{"", "8-9", "08:00", "08:00-25:00", "24:00-01:00", "08:00-08:00", "08:60-09:00", "-1:00-02:00", "08:000-09:00", "24:01-02:00"} {
		if w, err := ParseWindow(nil, hours, ""); err == nil {
			t.Errorf("%q is %+v", hours, w)
		}
	}
	for _, zone := range []string{"Local", "../etc/passwd", "Nowhere/Else"} {
		if w, err := ParseWindow(nil, "08:00-09:00", zone); err == nil {
			t.Errorf("%q is %+v", zone, w)
		}
	}
	if w, err := ParseWindow([]string{"mo"}, "08:00-09:00", ""); err == nil {
		t.Errorf("mo is %+v", w)
	}
}

// Next is the first time at which a schedule is open, in steps of a minute.
func TestNextOpening(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := rapid.Custom(func(t *rapid.T) Window {
			start, long := rapid.IntRange(0, 47).Draw(t, "start"), rapid.IntRange(1, 47).Draw(t, "long")
			w := Window{Start: time.Duration(start) * 30 * time.Minute, End: time.Duration((start+long)%48) * 30 * time.Minute}
			w.Days = rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 6), func(n int) time.Weekday { return time.Weekday(n) }), 0, 2).Draw(t, "days")
			w.Zone, _ = time.LoadLocation(rapid.SampledFrom([]string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"}).Draw(t, "zone"))
			return w
		})
		s := Schedule(rapid.SliceOfN(rapid.SliceOfN(draw, 1, 2), 0, 2).Draw(t, "schedule"))
		now := time.Unix(rapid.Int64Range(1.7e9, 1.9e9).Draw(t, "now")/1800*1800, 0)
		next := s.Next(now)
		for at := now; at.Before(now.Add(8 * day)); at = at.Add(30 * time.Minute) {
			if s.IsOpen(at) {
				if !next.Equal(at) {
					t.Fatalf("open at %s, Next says %s", at, next)
				}
				return
			}
		}
		if !next.IsZero() && next.Before(now.Add(8*day)) {
			t.Fatalf("Next says %s", next)
		}
		data, err := json.Marshal(s)
		var again Schedule
		if err == nil {
			err = json.Unmarshal(data, &again)
		}
		if err != nil || again.IsOpen(now) != s.IsOpen(now) {
			t.Fatalf("%s: %v", data, err)
		}
	})
}

func FuzzWindow(f *testing.F) {
	f.Add("mon", "22:00-04:00", "Europe/Berlin")
	f.Fuzz(func(t *testing.T, day, hours, zone string) {
		w, err := ParseWindow([]string{day}, hours, zone)
		if err != nil {
			return
		}
		if s := (Schedule{{w}}); !s.IsOpen(s.Next(time.Unix(1e9, 0))) {
			t.Errorf("%+v is not open when it opens", w)
		}
	})
}
