package runtime

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/rules"
)

// What people are told of differences.

// fewOf gives the first of many, and how many more there are.
func fewOf(list []string) []string {
	if more := len(list) - shownNames; more > 0 {
		return append(slices.Clone(list[:shownNames]), fmt.Sprintf("and %d more", more))
	}
	return list
}

// why tells people what a change is about.
func why(c *rules.Change) string {
	var list []string
	switch {
	case c.Act == rules.Create:
		return "it is not there"
	case c.Act == rules.Delete:
		return "it is wanted no more"
	case c.Moved:
		list = append(list, "it stands at another place")
	}
	return strings.Join(fewOf(append(list, differencesOf(c.Diff)...)), ", ")
}

// differencesOf tells people what differs.
func differencesOf(diff []rules.Difference) (list []string) {
	for _, d := range diff {
		text := short(d.Old) + " → " + short(d.New)
		if len(d.Path) > 0 {
			text = strings.Join(d.Path, ".") + ": " + text
		}
		list = append(list, text)
	}
	return list
}

func short(v any) string {
	if _, secret := v.(rules.Secret); secret {
		return "(sensitive)"
	}
	v = rules.EachSecret(v, func(rules.Secret) any { return "(sensitive)" })
	text, err := json.Marshal(v)
	if err != nil {
		return cmp.Or(fmt.Sprint(v), "?")
	}
	if v == nil {
		return "nothing"
	}
	if runes := []rune(string(text)); len(runes) > 60 {
		return string(runes[:60]) + "…"
	}
	return string(text)
}
