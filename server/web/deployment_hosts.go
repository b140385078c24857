package web

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/server/api"
)

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

// gravityOfState orders hosts: first those that have failed, last those with which all is done.
func gravityOfState(state string) int {
	return slices.Index([]string{"failed", "begun", "out", "pending", "ready"}, state)
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
	slices.SortStableFunc(found, func(a, b *api.DeployHost) int { return gravityOfState(a.State) - gravityOfState(b.State) })
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
