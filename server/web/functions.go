package web

import (
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/states"
)

// functions are what templates can call.
func (p *Pages) functions() template.FuncMap {
	return template.FuncMap{
		"asset":     p.assets.url,
		"at":        at,
		"ago":       func(when any) template.HTML { return ago(when, p.o.Clock()) },
		"badge":     badge,
		"command":   commandLine,
		"commas":    commas,
		"count":     count,
		"grants":    grantLines,
		"isCommand": isCommand,
		"isIdle":    isIdle,
		"join":      func(words []string) string { return strings.Join(words, " ") },
		"link":      link,
		"route":     route,
		"short":     short,
		"timed":     timesWithin(p.o.Clock),
		"took":      func(r api.Run) string { return took(r, p.o.Clock()) },
		"partsOf":   partsOfCounts,
		"outcomes":  outcomes,
	}
}

// isCommand tells whether a text is a command, and nothing else.
func isCommand(text string) bool {
	return strings.HasPrefix(text, "tenet ") && !strings.ContainsAny(text, ",;\n")
}

// navigation is one link of the frame.
type navigation struct {
	Path, Text string
	IsCurrent  bool
}

func at(f *frame, path, section, text string) navigation {
	return navigation{path, text, f.Section == section}
}

// link makes a path with a query: names and values in turn. What is empty is left out.
func link(path string, pairs ...string) string {
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Add(pairs[i], pairs[i+1])
		}
	}
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// short is the begin of what is too long to be read.
func short(text any) string {
	const enough = 12
	s := strings.TrimPrefix(fmt.Sprint(text), "tenet-key:") // which all keys begin with
	if len(s) > enough {
		return s[:enough]
	}
	return s
}

// commas writes a number with commas between thousands.
func commas(n any) string {
	digits := fmt.Sprint(n)
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// count is a number of things: "1 host", "4,312 hosts".
func count(n any, one string) string {
	if digits := commas(n); digits != "1" {
		return digits + " " + one + "s"
	}
	return "1 " + one
}

// ago is a time as people say it, with the exact one beside it.
func ago(when any, now time.Time) template.HTML {
	var t time.Time
	switch when := when.(type) {
	case time.Time:
		t = when
	case *time.Time:
		if when != nil {
			t = *when
		}
	}
	if t.IsZero() {
		return `<span class="dim">never</span>`
	}
	return template.HTML(`<time datetime="` + t.UTC().Format(time.RFC3339) + `" title="` + t.UTC().Format("2006-01-02 15:04:05 UTC") + `">` + distance(now.Sub(t)) + `</time>`)
}

// year is that of times as people say them.
const year = 365 * 24 * time.Hour

// distance says how far a time is away.
func distance(d time.Duration) string {
	say := func(text string) string { return text + " ago" }
	if d < 0 {
		d = -d
		say = func(text string) string { return "in " + text }
	}
	switch {
	case d < 5*time.Second:
		return "now"
	case d < time.Minute:
		return say(strconv.Itoa(int(d.Seconds())) + " s")
	case d < time.Hour:
		return say(strconv.Itoa(int(d.Minutes())) + " min")
	case d < 48*time.Hour:
		return say(strconv.Itoa(int(d.Hours())) + " h")
	case d < 2*year:
		return say(strconv.Itoa(int(d.Hours()/24)) + " days")
	}
	return say(strconv.Itoa(int(d/year)) + " years")
}

// digits writes a number as it stands in addresses and commands.
func digits(n int64) string { return strconv.FormatInt(n, 10) }

// partsOfCounts is how many parts a run has had.
func partsOfCounts(c *states.Counts) string {
	return commas(c.Changed + c.Unchanged + c.Failed + c.Blocked + c.Skipped + c.Idle + c.Unknown)
}

// outcomes are what a part of a run can come to.
func outcomes() []states.Outcome {
	return []states.Outcome{states.Failed, states.Unknown, states.Blocked, states.Changed, states.Unchanged, states.Skipped, states.Idle}
}
