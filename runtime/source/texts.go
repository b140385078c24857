package source

import (
	"fmt"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/site"
)

// ParseWindow reads a window as people write it in one line: days, hours and the name of a time zone, of which the hours
// alone are needed, as in "sat,sun 22:00-04:00 Europe/Berlin".
func ParseWindow(text string) (site.Window, error) {
	words := strings.Fields(text)
	var days []string
	if len(words) > 1 && !strings.Contains(words[0], ":") {
		days, words = strings.Split(words[0], ","), words[1:]
	}
	zone := ""
	if len(words) == 2 {
		zone, words = words[1], words[:1]
	}
	if len(words) != 1 {
		return site.Window{}, fmt.Errorf("%.60q are no hours: write them as in \"mon,tue 22:00-04:00 Europe/Berlin\"", text)
	}
	return site.ParseWindow(days, words[0], zone)
}

// ParseDowntime reads FROM/TO, each in the form of RFC 3339, and a reason after a space, which may be left out.
func ParseDowntime(text string) (Downtime, error) {
	instants, reason, _ := strings.Cut(text, " ")
	from, to, _ := strings.Cut(instants, "/")
	d := Downtime{Reason: strings.TrimSpace(reason)}
	var err error
	d.From, err = time.Parse(time.RFC3339, from)
	if err == nil {
		d.To, err = time.Parse(time.RFC3339, to)
	}
	if err != nil || !d.From.Before(d.To) {
		return Downtime{}, fmt.Errorf("%.200q is no time from one instant to a later one: write it as in \"2030-01-31T22:00:00Z/2030-02-01T04:00:00Z maintenance\"", text)
	}
	return d, nil
}
