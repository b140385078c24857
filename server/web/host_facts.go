package web

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/server/api"
)

// factList are the facts of a host, as one list.
type factList struct {
	At     time.Time
	Words  string
	Rows   []factRow
	More   int
	Errors map[string]string
	Why    *api.Problem // why there are none
}

// factRow is one value.
type factRow struct{ Name, Value string }

// maxFacts is how many values are shown at once.
const maxFacts = 2000

func (v *view) factsOf(name string) (*factList, error) {
	l := &factList{Words: v.r.URL.Query().Get("words")}
	facts, err := get[api.HostFacts](v, route("v1", "hosts", name, "facts"), nil)
	if l.Why = problemOf(err); err != nil {
		if l.Why == nil {
			return nil, err
		}
		return l, nil
	}
	l.At, l.Errors = facts.At, facts.Errors
	rows := []factRow{}
	for _, name := range slices.Sorted(maps.Keys(facts.Facts)) {
		var value any
		if err := json.Unmarshal(facts.Facts[name], &value); err != nil {
			return nil, err
		}
		rows = flattenFact(rows, name, value)
	}
	words := strings.Fields(strings.ToLower(l.Words))
	for _, row := range rows {
		text := strings.ToLower(row.Name + " " + row.Value)
		if slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			continue
		}
		if l.Rows = append(l.Rows, row); len(l.Rows) > maxFacts {
			l.More++
		}
	}
	l.Rows = l.Rows[:min(len(l.Rows), maxFacts)]
	return l, nil
}

// flattenFact adds a fact, or what is in it, by the names by which expressions have them.
func flattenFact(rows []factRow, name string, value any) []factRow {
	switch value := value.(type) {
	case map[string]any:
		if len(value) == 0 {
			return append(rows, factRow{name, "{}"})
		}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			rows = flattenFact(rows, name+"."+key, value[key])
		}
		return rows
	case string:
		return append(rows, factRow{name, value})
	}
	text, _ := json.Marshal(value) // it was read from JSON
	return append(rows, factRow{name, string(text)})
}
