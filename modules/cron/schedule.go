package cron

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// field is one field of a schedule; see crontab(5).
type field struct {
	name     string
	min, max int
	words    []string // names of the numbers from min on
}

func fields() []field {
	return []field{
		{"the minute", 0, 59, nil},
		{"the hour", 0, 23, nil},
		{"the day of the month", 1, 31, nil},
		{"the month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
		{"the day of the week", 0, 7, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
	}
}

// checkSchedule says what is wrong with a schedule.
func checkSchedule(text string) error {
	if strings.HasPrefix(text, "@") {
		known := []string{"@reboot", "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
		if !slices.Contains(known, text) {
			return fmt.Errorf("%.40q is none of %s", text, strings.Join(known, ", "))
		}
		return nil
	}
	words := strings.Split(text, " ")
	all := fields()
	if len(words) != len(all) {
		return fmt.Errorf("%.80q has not five fields with one space between", text)
	}
	for i, f := range all {
		for part := range strings.SplitSeq(words[i], ",") {
			if err := f.check(part); err != nil {
				return err
			}
		}
	}
	return nil
}

// check takes *, N, N-M, with /STEP behind a range.
func (f field) check(part string) error {
	wrong := fmt.Errorf("%s cannot be %.40q: it is a number from %d to %d, a range such as %d-%d, or *, with /STEP behind these",
		f.name, part, f.min, f.max, f.min, f.max)
	span, step, stepped := strings.Cut(part, "/")
	if stepped {
		if n, err := strconv.ParseUint(step, 10, 16); err != nil || n == 0 || n > 366 {
			return wrong
		}
	}
	if span == "*" {
		return nil
	}
	from, to, ranged := strings.Cut(span, "-")
	low, ok := f.number(from)
	if !ok || stepped && !ranged {
		return wrong
	}
	if ranged {
		high, ok := f.number(to)
		if !ok || high < low {
			return wrong
		}
	}
	return nil
}

func (f field) number(text string) (int, bool) {
	if i := slices.Index(f.words, strings.ToLower(text)); i >= 0 {
		return f.min + i, true
	}
	n, err := strconv.ParseUint(text, 10, 8)
	return int(n), err == nil && int(n) >= f.min && int(n) <= f.max && !strings.HasPrefix(text, "+")
}
