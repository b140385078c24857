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

func (p *Pages) registerHostDrift() {
	const pattern = "/hosts/{name}/sites/{site}/drift"
	p.answer(pattern, p.hostDrift)
	p.mux.HandleFunc("GET "+pattern, func(w http.ResponseWriter, r *http.Request) { // nothing is asked by looking at it
		p.newView(w, r).redirect(link(route("hosts", r.PathValue("name")), "tab", "drift", "site", r.PathValue("site")))
	})
}

// driftOf chooses the site that the address names, or else the one that has drifted.
func driftOf(h *hostPage, site string) *driftPage {
	d := &driftPage{Site: site}
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
	return d
}

// hostDrift has a host look, and shows what it says.
func (p *Pages) hostDrift(v *view) (*page, error) {
	h, err := v.hostOf(v.r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	h.Tab, h.Drift = "drift", driftOf(h, v.r.PathValue("site"))
	shown, d := h.page(), h.Drift
	shown.Live = nil
	var drift api.HostDrift
	err = v.send(http.MethodPost, route("v1", "hosts", string(h.Host.ID), "sites", d.Site, "drift"), map[string]any{}, &drift)
	if d.Problem = problemOf(err); d.Problem != nil && d.Problem.Status != http.StatusUnauthorized {
		shown.Status = d.Problem.Status
		return shown, nil
	}
	if err != nil {
		return nil, err
	}
	grouped, err := grouping.Group([][]states.Event{drift.Rows})
	if err != nil {
		return nil, err
	}
	d.At, d.View = drift.At, rows.Of([]string{h.Host.Name}, grouped)
	return shown, nil
}

// HasDrifted tells whether something differs, and is left so.
func (s *siteOfHost) HasDrifted() bool {
	return s.Loop != nil && s.Loop.Condition == control.ConditionDrifted
}
