package web

import (
	"net/http"
	"time"

	"github.com/tenetcm/tenet/internal/ui/grouping"
	"github.com/tenetcm/tenet/internal/ui/rows"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/states"
)

// driftPage is what differs on a host from what is wanted for a site, as the host says when it is asked.
type driftPage struct {
	Site    string
	Sites   []navigation
	At      time.Time
	View    *rows.View // nil: it did not say
	Problem *api.Problem
}

// driftOf asks a host about the site that the address names, or about the one that has drifted.
func (v *view) driftOf(h *hostPage) (*driftPage, error) {
	d := &driftPage{Site: v.r.URL.Query().Get("site")}
	for _, s := range h.Sites {
		if d.Site == "" && s.HasDrifted() {
			d.Site = s.Name
		}
	}
	if d.Site == "" && len(h.Sites) > 0 {
		d.Site = h.Sites[0].Name
	}
	for _, s := range h.Sites {
		d.Sites = append(d.Sites, navigation{link(h.Path(), "tab", "drift", "site", s.Name), s.Name, s.Name == d.Site})
	}
	if d.Site == "" {
		return d, nil
	}
	drift, err := get[api.HostDrift](v, route("v1", "hosts", string(h.Host.ID), "sites", d.Site, "drift"), nil)
	if d.Problem = problemOf(err); d.Problem != nil && d.Problem.Status != http.StatusUnauthorized {
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	grouped, err := grouping.Group([][]states.Event{drift.Rows})
	if err != nil {
		return nil, err
	}
	d.At, d.View = drift.At, rows.Of([]string{h.Host.Name}, grouped)
	return d, nil
}

// HasDrifted tells whether something differs, and is left so.
func (s *siteOfHost) HasDrifted() bool {
	return s.Loop != nil && s.Loop.Condition == control.ConditionDrifted
}
