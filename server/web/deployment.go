package web

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/internal/ui/grouping"
	"github.com/tenetcm/tenet/internal/ui/rows"
	"github.com/tenetcm/tenet/server/access"
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
	if d.Counts == nil || d.Counts.Hosts <= maxWhole || m.Tab == "plan" {
		if m.shownDeployment, err = v.loadDeployment(); err != nil {
			return nil, err
		}
		d = m.shownDeployment
		m.showAll(v.r.URL.Query().Get("cursor"))
	} else if err := v.showCounts(m); err != nil {
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
	title := fmt.Sprintf("Deployment %d", d.ID)
	return &page{Template: "deployment", Title: title, Section: "deployments", Data: m, Live: []string{"deployment.changed"}, LiveSite: d.Site}, nil
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

// hostsTab is the name of the tab of hosts, where there is another one.
func (m *deploymentPage) hostsTab() string {
	if m.Plan == nil {
		return ""
	}
	return "hosts"
}

// count tells how many hosts are in each state, and where these are listed.
func (m *deploymentPage) count(hosts []*api.DeployHost, batch string) tally {
	t := tally{Total: len(hosts)}
	number := map[string]int{}
	for _, h := range hosts {
		number[h.State]++
	}
	for _, state := range hostStates() {
		t.Counts = append(t.Counts, share{state, stateClass(state), link(m.Path, "tab", m.hostsTab(), "batch", batch, "state", state) + "#hosts", number[state]})
	}
	return t
}

// Bar is where each state begins and ends in a bar of 1000, the ones that are over first.
func (t tally) Bar() any {
	var a axis
	for _, state := range []string{"ready", "failed", "begun", "out"} {
		i := slices.Index(hostStates(), state)
		a.Counts = append(a.Counts, t.Counts[i])
	}
	a.Total = max(1, t.Total)
	return a.Bar()
}

// batchOf is the number of the batch in which a host has begun, or is to begin.
func batchOf(h *api.DeployHost) int {
	if h.Turn > 0 {
		return h.Turn
	}
	return h.Batch
}

// matrix puts hosts in the batches in which they have begun or are to begin.
func (m *deploymentPage) matrix() (list []batchRow) {
	groups := map[int][]*api.DeployHost{}
	for _, h := range m.Members {
		groups[batchOf(h)] = append(groups[batchOf(h)], h)
	}
	numbers := []int{}
	for n := range groups {
		numbers = append(numbers, n)
	}
	for n := range m.Batches {
		if groups[n+1] == nil {
			numbers = append(numbers, n+1)
		}
	}
	slices.Sort(numbers)
	if len(numbers) > 0 && numbers[0] == 0 { // those of no batch come last
		numbers = append(numbers[1:], 0)
	}
	for _, n := range numbers {
		row := batchRow{Number: n, Label: m.label(n), IsCurrent: n == m.Turn && (m.Phase == "rolling" || m.Phase == "paused"), Tally: m.count(groups[n], strconv.Itoa(n))}
		if m.HasCells {
			for _, h := range groups[n] {
				row.Cells = append(row.Cells, hostCell{stateClass(h.State), h.Name + ": " + h.State})
			}
		}
		list = append(list, row)
	}
	return list
}

func (m *deploymentPage) label(n int) string {
	switch {
	case n == 0:
		return "not begun"
	case n <= len(m.Batches):
		return m.Batches[n-1].Label
	case m.Turns > 0 && n > m.Turns:
		return "came late"
	}
	return fmt.Sprintf("batch %d", n)
}

// reasons tells for what how many hosts wait, the most frequent first.
func (m *deploymentPage) reasons() (list []reasonCount) {
	at := map[string]int{}
	for _, h := range m.Members {
		if h.Why == nil {
			continue
		}
		i, known := at[h.Why.Code]
		if !known {
			i = len(list)
			at[h.Why.Code] = i
			list = append(list, reasonCount{Code: h.Why.Code, Text: h.Why.Text, Ask: h.Why.Ask, Path: link(m.Path, "tab", m.hostsTab(), "reason", h.Why.Code) + "#hosts"})
		}
		list[i].Count++
	}
	slices.SortStableFunc(list, func(a, b reasonCount) int { return b.Count - a.Count })
	return list
}

// list takes those hosts that fit, the gravest first, and of these one page.
func (m *deploymentPage) list(cursor string) {
	var found []*api.DeployHost
	words := strings.Fields(strings.ToLower(m.Filter.Get("words")))
	for _, h := range m.Members {
		if m.fits(h, words) {
			found = append(found, h)
		}
	}
	order := []string{"failed", "begun", "out", "pending", "ready"}
	slices.SortStableFunc(found, func(a, b *api.DeployHost) int { return slices.Index(order, a.State) - slices.Index(order, b.State) })
	m.Found = len(found)
	from, err := strconv.Atoi(cursor)
	if err != nil || from < 0 || from >= len(found) { // none, or not one of this list any more
		from = 0
	}
	m.Rows = found[from:min(from+maxMembers, len(found))]
	if from+maxMembers < len(found) {
		next := url.Values{"cursor": {strconv.Itoa(from + maxMembers)}, "tab": {"hosts"}}
		for name, values := range m.Filter {
			next[name] = values
		}
		m.Next = m.Path + "?" + next.Encode() + "#hosts"
	}
}

func (m *deploymentPage) fits(h *api.DeployHost, words []string) bool {
	if b := m.Filter.Get("batch"); b != "" && b != strconv.Itoa(batchOf(h)) {
		return false
	}
	if s := m.Filter.Get("state"); s != "" && s != h.State {
		return false
	}
	if r := m.Filter.Get("reason"); r != "" && (h.Why == nil || h.Why.Code != r) {
		return false
	}
	text := strings.ToLower(h.Name)
	if h.Why != nil {
		text += " " + strings.ToLower(h.Why.Text)
	}
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

// Batch says for people where a host begins.
func (m *deploymentPage) Batch(h *api.DeployHost) string { return m.label(batchOf(h)) }

// Facet is a filter of the list of hosts.
func (m *deploymentPage) Facet() facet { return facetOf(m.Filter, "state", "State", hostStates()...) }

// deploymentActs are those that a deployment's phase and a person's rights allow; and why they may not approve, where it waits for that.
// A consent is given where the plan is shown.
func (v *view) deploymentActs(d *shownDeployment, showsPlan bool) (list []actLink, mayNot string) {
	add := func(text, name, class string, pairs ...string) {
		list = append(list, actLink{text, link(route("deployments", strconv.FormatInt(d.ID, 10), name), pairs...), class})
	}
	for _, a := range d.Deployment.Acts {
		switch {
		case a.Act == "approve" && access.CheckApproval(v.caller, d.By) != nil:
			mayNot = "You have asked for this deployment, so another person has to approve it: one who has the grant \"approve\" for its hosts."
		case !a.May || v.o.Standby:
		case a.Act == "approve" || a.Act == "start":
			if showsPlan {
				add(strings.ToUpper(a.Act[:1])+a.Act[1:], a.Act, "main", "plan", d.Plan.Digest)
			}
		case a.Act == "pause":
			add("Pause", a.Act, "")
		case a.Act == "continue":
			add("Continue", a.Act, "main")
		case a.Act == "abort":
			add("Abort", a.Act, "grave")
		}
	}
	if f := (&frame{view: v}); !f.MaySite("deploy", d.Site) {
		return list, mayNot
	}
	if begun := d.names(func(h *api.DeployHost) bool { return h.Turn > 0 }); len(begun) > 0 {
		list = append(list, actLink{"Roll back", link(route("sites", d.Site, "rollback"), "hosts", selectorOf(begun, d.Hosts)), "grave"})
	}
	if len(d.Members) == 0 && d.Counts != nil && d.Counts.Begun > 0 { // they are not loaded
		list = append(list, actLink{"Roll back", link(route("sites", d.Site, "rollback"), "hosts", selectorOf(nil, d.Hosts)), "grave"})
	}
	if pinned := d.names(func(h *api.DeployHost) bool { return h.Why != nil && h.Why.Code == "pinned" }); len(pinned) > 0 {
		list = append(list, actLink{"Unpin", link(route("sites", d.Site, "unpin"), "hosts", selectorOf(pinned, d.Hosts)), ""})
	}
	return list, mayNot
}

// names gives those hosts that fit.
func (d *shownDeployment) names(fits func(*api.DeployHost) bool) (list []string) {
	for _, h := range d.Members {
		if fits(h) {
			list = append(list, h.Name)
		}
	}
	return list
}

// selectorOf names hosts, or all of another selector where these are too many to be named.
func selectorOf(names []string, otherwise string) string {
	const most = 1500 // it stands in an address
	if s := strings.Join(names, ","); s != "" && len(s) <= most {
		return s
	}
	if otherwise == "" {
		return access.All
	}
	return otherwise
}
