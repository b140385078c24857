package web

import (
	"maps"
	"net/url"
	"strconv"

	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/server/api"
)

// showCounts shows a deployment of so many hosts that they are not loaded: how many stand how in each batch, and one page of those in a state.
func (v *view) showCounts(m *deploymentPage) error {
	m.IsVast = true
	delete(m.Filter, "batch")
	delete(m.Filter, "reason")
	delete(m.Filter, "words")
	m.Tally = m.tallyOf(m.Counts.States, true)
	for _, turn := range m.Counts.Turns {
		row := batchRow{Number: turn.Turn, Label: m.label(turn.Turn), IsCurrent: turn.Turn > 0 && turn.Turn == m.Turn && (m.Phase == "rolling" || m.Phase == "paused"), Tally: m.tallyOf(turn.States, false)}
		m.Matrix = append(m.Matrix, row)
	}
	if len(m.Matrix) > 0 && m.Matrix[0].Number == 0 { // those that have not begun come last
		m.Matrix = append(m.Matrix[1:], m.Matrix[0])
	}
	query := url.Values{"limit": {strconv.Itoa(maxMembers)}}
	maps.Copy(query, m.Filter)
	if cursor := v.r.URL.Query().Get("cursor"); cursor != "" {
		query.Set("cursor", cursor)
	}
	list, err := get[api.List[*api.DeployHost]](v, route("v1", "deployments", strconv.FormatInt(m.ID, 10), "members"), query)
	if err != nil {
		return err
	}
	m.Rows, m.Found = list.Items, m.Tally.Total
	if state := m.Filter.Get("state"); state != "" {
		m.Found = m.Counts.States[rollout.State(state)]
	}
	if list.Next != "" {
		m.Next = link(m.Path, "tab", "hosts", "state", m.Filter.Get("state"), "cursor", list.Next) + "#hosts"
	}
	return nil
}

// tallyOf is a tally of what the API has counted. Only hosts of all batches can be listed by it.
func (m *deploymentPage) tallyOf(states map[rollout.State]int, isAll bool) tally {
	t := tally{}
	for _, state := range hostStates() {
		one := share{Word: state, Class: stateClass(state), Count: states[rollout.State(state)]}
		if isAll {
			one.Path = link(m.Path, "tab", m.hostsTab(), "state", state) + "#hosts"
		}
		t.Counts, t.Total = append(t.Counts, one), t.Total+one.Count
	}
	return t
}
