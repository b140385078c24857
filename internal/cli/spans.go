package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// span is a time, of days too: 30d, 1d12h, 90m.
type span time.Duration

const day = 24 * time.Hour

// UnmarshalText reads a time that is not below zero.
func (d *span) UnmarshalText(text []byte) error {
	rest, days := string(text), time.Duration(0)
	number, behind, inDays := strings.Cut(rest, "d")
	if inDays {
		n, err := strconv.ParseUint(number, 10, 32)
		if err != nil || n > uint64(math.MaxInt64/day)/2 {
			return fmt.Errorf("write a time such as 30d, 12h or 90m, not %q", text)
		}
		days, rest = time.Duration(n)*day, behind
	}
	var parsed time.Duration
	if rest != "" || !inDays {
		var err error
		if parsed, err = time.ParseDuration(rest); err != nil || parsed < 0 || parsed > math.MaxInt64/2 {
			return fmt.Errorf("write a time such as 30d, 12h or 90m, not %q", text)
		}
	}
	*d = span(days + parsed)
	return nil
}

// String writes it as it is read, without what is zero at its end.
func (d span) String() string {
	days, rest := time.Duration(d)/day, time.Duration(d)%day
	text := rest.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	switch {
	case days == 0:
		return text
	case rest == 0:
		return fmt.Sprintf("%dd", days)
	}
	return fmt.Sprintf("%dd%s", days, text)
}

// percentage is a part of a hundred, below one: 10%.
type percentage float64

// UnmarshalText reads a percentage from 0 to 99.
func (p *percentage) UnmarshalText(text []byte) error {
	number, ok := strings.CutSuffix(string(text), "%")
	n, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(n >= 0 && n <= 99) {
		return fmt.Errorf("write a percentage from 0%% to 99%%, not %q", text)
	}
	*p = percentage(n / 100)
	return nil
}
