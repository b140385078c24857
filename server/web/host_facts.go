package web

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/ui/rows"
	"github.com/tenetcm/tenet/server/api"
)

// factList are the facts of a host, grouped by the first word of their names.
type factList struct {
	At     time.Time
	Words  string
	Alone  []factRow // those that have one value each
	Groups []factGroup
	More   int
	Errors map[string]string
	Why    *api.Problem // why there are none
}

// factGroup is a fact that has several values.
type factGroup struct {
	Name   string
	Rows   []factRow
	IsOpen bool
}

// factRow is one value.
type factRow struct{ Name, Value string }

// maxFacts is how many values are shown at once, and maxUnfolded how many of a group that nobody has searched for.
const (
	maxFacts    = 2000
	maxUnfolded = 30
)

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
	all := []factRow{}
	for _, name := range slices.Sorted(maps.Keys(facts.Facts)) {
		var value any
		if err := json.Unmarshal(facts.Facts[name], &value); err != nil {
			return nil, err
		}
		all = flattenFact(all, name, value)
	}
	words := strings.Fields(strings.ToLower(l.Words))
	found := 0
	for _, row := range all {
		text := strings.ToLower(row.Name + " " + row.Value)
		if slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			continue
		}
		if found++; found <= maxFacts {
			l.add(factRow{rows.Clean(row.Name), rows.Clean(row.Value)})
		}
	}
	l.More = max(0, found-maxFacts)
	for i := range l.Groups {
		l.Groups[i].IsOpen = len(words) > 0 || len(l.Groups[i].Rows) <= maxUnfolded
	}
	return l, nil
}

// add puts a value where it belongs.
func (l *factList) add(row factRow) {
	first, _, isPart := strings.Cut(row.Name, ".")
	if !isPart {
		l.Alone = append(l.Alone, row)
		return
	}
	i := slices.IndexFunc(l.Groups, func(g factGroup) bool { return g.Name == first })
	if i < 0 {
		i = len(l.Groups)
		l.Groups = append(l.Groups, factGroup{Name: first})
	}
	l.Groups[i].Rows = append(l.Groups[i].Rows, row)
}

// flattenFact adds a fact, or what is in it, by the names by which expressions have them.
func flattenFact(list []factRow, name string, value any) []factRow {
	switch value := value.(type) {
	case map[string]any:
		if len(value) == 0 {
			return append(list, factRow{name, "{}"})
		}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			list = flattenFact(list, name+"."+key, value[key])
		}
		return list
	case string:
		return append(list, factRow{name, value})
	}
	text, _ := json.Marshal(value) // it was read from JSON
	return append(list, factRow{name, string(text)})
}
