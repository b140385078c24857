package web

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"

	"github.com/tenetcm/tenet/internal/ui/grouping"
	"github.com/tenetcm/tenet/internal/ui/rows"
	"github.com/tenetcm/tenet/server/api"
)

// shownDeployment is a deployment with the rows of its plan as they are.
type shownDeployment struct {
	api.Deployment
	Plan *shownPlan `json:"plan"`
}

// shownPlan is what the hosts that have planned would do.
type shownPlan struct {
	Digest string          `json:"digest"`
	Hosts  []string        `json:"hosts"`
	Rows   json.RawMessage `json:"rows"` // of grouping: they are read where they are shown alone
}

// deploymentPage is one deployment.
type deploymentPage struct {
	*shownDeployment
	Path     string
	Tab      string     // hosts or plan
	View     *rows.View // of the plan, on its tab
	Tally    tally
	Matrix   []batchRow
	HasCells bool // there are few enough hosts for one cell each
	IsVast   bool // there are so many hosts that they are counted and listed by their state alone
	Reasons  []reasonCount
	Rows     []*api.DeployHost // those of this page, as filtered
	Found    int               // by the filter, on all pages
	Filter   url.Values
	Next     string
	Acts     []actLink
	// MayNot says why the person may not approve, though it waits for an approval.
	MayNot string
}

// actLink leads to an act.
type actLink struct{ Text, Path, Class string }

// batchRow is the hosts of one batch.
type batchRow struct {
	Label, Note string
	IsCurrent   bool
	Number      int // 0: no batch; one more than there are: late
	Tally       tally
	Cells       []hostCell
}

// hostCell is one host of a batch.
type hostCell struct{ Class, Title string }

// tally is how many hosts are in each state.
type tally struct {
	Total  int
	Counts []share // in the order of hostStates
}

// reasonCount is why some hosts wait, are out or have failed.
type reasonCount struct {
	Code, Text, Ask, Path string
	Count                 int
}

// hostStates are those of hosts of a deployment, as they follow each other.
func hostStates() []string { return []string{"pending", "begun", "ready", "failed", "out"} }

// stateClass is the colour of a state of a host. That most are pending is nothing to warn of.
func stateClass(state string) string {
	if state == "pending" {
		return ""
	}
	return kindOf(state).class
}

// maxCells is up to how many hosts each one has a cell, maxMembers how many a page lists, and maxWhole up to how many all are loaded for it.
const (
	maxCells   = 400
	maxMembers = 100
	maxWhole   = 5000
)

func (v *view) loadDeployment() (*shownDeployment, error) {
	d, err := get[shownDeployment](v, route("v1", "deployments", v.r.PathValue("id")), nil)
	return &d, err
}

func (p *Pages) deployment(v *view) (*page, error) {
	d, err := v.loadBrief()
	if err != nil {
		return nil, err
	}
	m := &deploymentPage{shownDeployment: d, Path: route("deployments", strconv.FormatInt(d.ID, 10)), Filter: v.filter("batch", "state", "reason", "words"), Tab: d.tab(v.r.URL.Query())}
	if d, err = v.addMembers(m); err != nil {
		return nil, err
	}
	m.Acts, m.MayNot = v.deploymentActs(d, m.Tab == "plan")
	if m.Tab == "plan" {
		var list []grouping.Row
		if err := json.Unmarshal(d.Plan.Rows, &list); err != nil {
			return nil, fmt.Errorf("the plan of deployment %d: %w", d.ID, err)
		}
		m.View = rows.Of(d.Plan.Hosts, list)
	}
	shown := &page{Template: "deployment", Title: fmt.Sprintf("Deployment %d", d.ID), Section: "deployments", Data: m, Live: []string{"deployment.changed"}, LiveSite: d.Site}
	if m.Tab == "plan" && d.Phase == "planned" {
		shown.Plan = d.Plan.Digest
	}
	return shown, nil
}

// addMembers adds the hosts to a page, or how many there are where they are too many to be loaded.
func (v *view) addMembers(m *deploymentPage) (d *shownDeployment, err error) {
	d = m.shownDeployment
	switch {
	case !d.isVast():
		if d, err = v.loadDeployment(); err != nil {
			return nil, err
		}
		m.shownDeployment = d
		m.showAll(v.r.URL.Query().Get("cursor"))
		return d, nil
	case m.Tab == "plan":
		if d, err = v.loadPlan(d.ID); err != nil {
			return nil, err
		}
		m.shownDeployment = d
	}
	return d, v.showCounts(m)
}

// loadPlan loads a deployment with the rows of its plan, and without its hosts.
func (v *view) loadPlan(id int64) (*shownDeployment, error) {
	d, err := get[shownDeployment](v, route("v1", "deployments", digits(id)), url.Values{"members": {"plan"}})
	return &d, err
}

// loadBrief loads it without its hosts and the rows of its plan.
func (v *view) loadBrief() (*shownDeployment, error) {
	d, err := get[shownDeployment](v, route("v1", "deployments", v.r.PathValue("id")), url.Values{"members": {"none"}})
	return &d, err
}

// showAll shows a deployment all of whose hosts are there.
func (m *deploymentPage) showAll(cursor string) {
	m.HasCells = len(m.Members) <= maxCells
	m.Tally = m.count(m.Members, "")
	m.Matrix = m.matrix()
	m.Reasons = m.reasons()
	m.list(cursor)
}

// tab is which part of the page is shown: the plan first where somebody is to consent to it.
func (d *shownDeployment) tab(query url.Values) string {
	switch tab := query.Get("tab"); {
	case d.Plan == nil || tab == "hosts":
		return "hosts"
	case tab == "plan" || d.Phase == "planned" && !query.Has("state") && !query.Has("batch") && !query.Has("reason") && !query.Has("words"):
		return "plan"
	}
	return "hosts"
}
