package site

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Window is when a host may be changed: on some days, from a time of day to another one.
type Window struct {
	Days []time.Weekday // on which it opens; none: each day
	// Start and End are times of day. An end that is not after the start is one of the next day.
	Start, End time.Duration
	Zone       *time.Location // nil: UTC
}

// windowText is a window as it is written.
type windowText struct {
	Days     []string `json:"days,omitempty"`
	Hours    string   `json:"hours"`
	Timezone string   `json:"timezone,omitempty"`
}

// ParseWindow reads a window: days as in "mon" or "monday", hours as in "22:00-04:00", and the name of a time zone.
func ParseWindow(days []string, hours, zone string) (Window, error) {
	var w Window
	for _, text := range days {
		day, err := parseDay(text)
		if err != nil {
			return Window{}, err
		}
		w.Days = append(w.Days, day)
	}
	from, to, ok := strings.Cut(hours, "-")
	if !ok {
		return Window{}, fmt.Errorf("%.40q are no hours: write them as in \"22:00-04:00\"", hours)
	}
	var err error
	if w.Start, err = parseTime(from); err != nil {
		return Window{}, err
	}
	if w.End, err = parseTime(to); err != nil {
		return Window{}, err
	}
	switch {
	case w.Start == day:
		return Window{}, fmt.Errorf("a window cannot begin at 24:00: write 00:00, and the next day")
	case w.Start == w.End:
		return Window{}, fmt.Errorf("a window of %.40q is never open: 00:00-24:00 is the whole day", hours)
	}
	if zone != "" {
		if w.Zone, err = time.LoadLocation(zone); err != nil || zone == "Local" {
			return Window{}, fmt.Errorf("%.60q is no time zone: write it as in \"Europe/Berlin\"", zone)
		}
	}
	return w, nil
}

const day = 24 * time.Hour

func parseDay(text string) (time.Weekday, error) {
	for d := time.Sunday; d <= time.Saturday; d++ {
		name := strings.ToLower(d.String())
		if text = strings.ToLower(text); text == name || text == name[:3] {
			return d, nil
		}
	}
	return 0, fmt.Errorf("%.40q is no day: they are mon, tue, wed, thu, fri, sat and sun", text)
}

func parseTime(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	hours, minutes, ok := strings.Cut(text, ":")
	h, err := strconv.ParseUint(hours, 10, 8)
	m, err2 := strconv.ParseUint(minutes, 10, 8)
	at := time.Duration(h)*time.Hour + time.Duration(m)*time.Minute
	if !ok || err != nil || err2 != nil || len(hours) > 2 || len(minutes) != 2 || m > 59 || at > day {
		return 0, fmt.Errorf("%.40q is no time of day: write it as in \"22:00\"", text)
	}
	return at, nil
}

// Texts gives the window as ParseWindow reads it.
func (w Window) Texts() (days []string, hours, zone string) {
	clock := func(d time.Duration) string { return fmt.Sprintf("%02d:%02d", int(d.Hours()), int(d.Minutes())%60) }
	for _, d := range w.Days {
		days = append(days, strings.ToLower(d.String()[:3]))
	}
	if w.Zone != nil {
		zone = w.Zone.String()
	}
	return days, clock(w.Start) + "-" + clock(w.End), zone
}

// MarshalJSON writes the window as ParseWindow reads it.
func (w Window) MarshalJSON() ([]byte, error) {
	var t windowText
	t.Days, t.Hours, t.Timezone = w.Texts()
	return json.Marshal(t)
}

// UnmarshalJSON is ParseWindow.
func (w *Window) UnmarshalJSON(data []byte) error {
	var t windowText
	err := json.Unmarshal(data, &t)
	if err == nil {
		*w, err = ParseWindow(t.Days, t.Hours, t.Timezone)
	}
	return err
}

// span is a time in which a window is open.
type span struct{ from, to time.Time }

// spans gives those that may hold a time, or begin in the week after it.
func (w Window) spans(t time.Time) []span {
	zone := w.Zone
	if zone == nil {
		zone = time.UTC
	}
	year, month, date := t.In(zone).Date()
	var out []span
	for offset := -2; offset <= 8; offset++ {
		midnight := time.Date(year, month, date+offset, 0, 0, 0, 0, time.UTC) // the date, for its arithmetic
		if len(w.Days) > 0 && !slices.Contains(w.Days, midnight.Weekday()) {
			continue
		}
		end := midnight.Add(w.End)
		if w.End <= w.Start {
			end = end.Add(day)
		}
		s := span{instant(midnight.Add(w.Start), zone), instant(end, zone)}
		if !s.to.After(s.from) { // it has moved on past its end, which moves on with it
			s.to = s.from.Add(end.Sub(midnight.Add(w.Start)))
		}
		out = append(out, s)
	}
	return out
}

// instant is when clocks in a zone show what the given time shows in UTC. What they show twice is the first time;
// what they skip is as much later as they skip.
func instant(shown time.Time, zone *time.Location) time.Time {
	at := func(near time.Time) time.Time { // by the offset that holds then
		_, offset := near.In(zone).Zone()
		return shown.Add(-time.Duration(offset) * time.Second)
	}
	before, after := at(shown.Add(-day)), at(shown.Add(day))
	isShown := func(t time.Time) bool {
		_, offset := t.In(zone).Zone()
		return t.Add(time.Duration(offset) * time.Second).Equal(shown)
	}
	if after.Before(before) {
		// Clocks were set forward: what is shown after that is so by the later offset.
		if isShown(after) && !isShown(before) {
			return after
		}
		return before
	}
	if isShown(before) {
		return before
	}
	return after
}

// isOpen reports whether it is open at a time.
func (w Window) isOpen(t time.Time) bool {
	return slices.ContainsFunc(w.spans(t), func(s span) bool { return !t.Before(s.from) && t.Before(s.to) })
}

// Schedule is when a host may be changed: while one window is open of each of these lists. Those of a host itself are the
// only list; otherwise each of its groups that has windows gives one. None: always.
type Schedule [][]Window

// IsOpen reports whether the host may be changed.
func (s Schedule) IsOpen(t time.Time) bool {
	for _, list := range s {
		if !slices.ContainsFunc(list, func(w Window) bool { return w.isOpen(t) }) {
			return false
		}
	}
	return true
}

// Next is the next time at which the host may be changed, t itself if it may now. Zero: no such time comes within a year.
func (s Schedule) Next(t time.Time) time.Time {
	if s.IsOpen(t) {
		return t
	}
	for week := range 54 {
		from := t.Add(time.Duration(week) * 7 * day)
		var first time.Time
		for _, list := range s {
			for _, w := range list {
				for _, one := range w.spans(from) {
					if one.from.After(t) && (first.IsZero() || one.from.Before(first)) && s.IsOpen(one.from) {
						first = one.from
					}
				}
			}
		}
		if !first.IsZero() {
			return first
		}
	}
	return time.Time{}
}
