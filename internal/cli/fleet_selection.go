package cli

import (
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
)

// unknownSelection is what hosts do not have of what --target, --tags and --exclude name: it is
// wrong only if no host has it.
type unknownSelection struct {
	list  []diag.Diagnostic   // each once, with a likely name if one of the hosts knows any
	hosts map[string][]string // by summary
}

// add takes what one host does not have.
func (u *unknownSelection) add(host string, list diag.List) {
	for _, d := range list {
		i := slices.IndexFunc(u.list, func(known diag.Diagnostic) bool { return known.Summary == d.Summary })
		switch {
		case i < 0:
			u.list = append(u.list, d)
		case strings.Contains(d.Hint, "did you mean"):
			u.list[i] = d
		}
		if u.hosts == nil {
			u.hosts = map[string][]string{}
		}
		if !slices.Contains(u.hosts[d.Summary], host) {
			u.hosts[d.Summary] = append(u.hosts[d.Summary], host)
		}
	}
}

// nowhere reports what none of the hosts has.
func (v *fleetRun) nowhere() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	var list diag.List
	for _, d := range v.unknown.list {
		if len(v.unknown.hosts[d.Summary]) == len(v.members) {
			list.Add(d)
		}
	}
	if !list.HasErrors() {
		return nil
	}
	return v.wrongSelection(list)
}
