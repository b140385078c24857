package web

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/states"
)

// partList are the parts of the newest reports of a host.
type partList struct {
	Filter url.Values
	Sites  []partsOfSite
	State  facet
}

// partsOfSite are those of one site.
type partsOfSite struct {
	Site, Run string
	At        time.Time
	States    map[string]int
	Parts     []states.PartReport
	More      int
	Problem   *api.Problem
}

// maxParts is how many parts of a site are shown at once.
const maxParts = 500

func (v *view) partsOf(h *hostPage) (*partList, error) {
	l := &partList{Filter: v.filter("state", "site", "words")}
	l.State = facetOf(l.Filter, "state", "State", states.PartError, states.PartPending, states.PartAbsent, states.PartCreating, states.PartRemoving, states.PartPresent, states.PartDone)
	for _, s := range h.Sites {
		if site := l.Filter.Get("site"); site != "" && site != s.Name || s.Report == nil {
			continue
		}
		one := partsOfSite{Site: s.Name, States: map[string]int{}}
		report, err := get[api.HostReport](v, route("v1", "hosts", string(h.Host.ID), "reports", s.Name), nil)
		if one.Problem = problemOf(err); one.Problem == nil && err != nil {
			return nil, err
		}
		if report.Report != nil {
			one.Run, one.At = report.Report.Run, report.At
			one.choose(report.Report.Parts, l.Filter)
		}
		if l.Sites = append(l.Sites, one); len(l.Sites) == maxSitesAsked {
			break
		}
	}
	return l, nil
}

// choose takes the parts that fit, those first that are not as they should be.
func (p *partsOfSite) choose(parts []states.PartReport, filter url.Values) {
	words := strings.Fields(strings.ToLower(filter.Get("words")))
	for _, part := range parts {
		p.States[part.State]++
		text := strings.ToLower(part.Address + " " + part.Key + " " + part.Reason)
		if wanted := filter.Get("state"); wanted != "" && part.State != wanted || slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			continue
		}
		p.Parts = append(p.Parts, part)
	}
	slices.SortStableFunc(p.Parts, func(a, b states.PartReport) int { return gravityOf(&a) - gravityOf(&b) })
	if len(p.Parts) > maxParts {
		p.Parts, p.More = p.Parts[:maxParts], len(p.Parts)-maxParts
	}
}

// gravityOf orders parts: first what has failed, then what is not there.
func gravityOf(p *states.PartReport) int {
	switch {
	case p.State == states.PartError:
		return 0
	case p.State != string(p.Target) && p.State != states.PartDone && !isIdle(*p):
		return 1
	case p.Changed:
		return 2
	}
	return 3
}

// isIdle tells a handler that nobody has notified: nothing is to be done, and nothing is wrong.
func isIdle(p states.PartReport) bool {
	return p.State == states.PartPending && p.Reason == string(states.Idle)
}
