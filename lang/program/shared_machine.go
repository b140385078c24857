package program

import (
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/site"
)

// Hosts with executor = "local" are one machine, the one that tenet runs on, which has one record
// of what the site has created there.

const hintOneMachine = `declare one host with executor = "local", and give it the roles of all`

// sharers gives the hosts that are the same machine as the one that is evaluated, itself among them;
// nil: there is no other.
func (e *evaluation) sharers() (names []string) {
	if e.host == nil || e.host.Executor != "local" {
		return nil
	}
	for _, h := range e.hosts.entries {
		if h.Executor == "local" {
			names = append(names, h.Name)
		}
	}
	if len(names) < 2 {
		return nil
	}
	return names
}

// checkPrune reports a site that removes on each of these hosts what is declared for the others.
func (e *evaluator) checkPrune() {
	if names := e.sharers(); e.site.prune && e.site.name != "" && names != nil {
		e.list.Add(diag.Diagnostic{Range: rangeOf(e.site.pruneRange),
			Summary: "prune = true, and several hosts are one machine: " + strings.Join(names, ", "),
			Detail:  "A machine has one record of what a site has created there. Each of these hosts would remove what is declared for the others.",
			Hint:    hintOneMachine})
	}
}

// sharedMachine warns of a second host that is the machine that tenet runs on.
func sharedMachine(hosts []site.Host) (list diag.List) {
	var local []site.Host
	for _, h := range hosts {
		if h.Executor == "local" {
			local = append(local, h)
		}
	}
	if len(local) > 1 {
		list.Add(diag.Diagnostic{Severity: diag.Warning, Range: local[1].Range,
			Summary: fmt.Sprintf("the hosts %q and %q are one machine: this one", local[0].Name, local[1].Name),
			Detail:  "A machine has one record of what a site has created there. Each of these hosts finds in it what is declared for the other, as no longer declared.",
			Hint:    "declare one host with executor = \"local\", and give it the roles of both"})
	}
	return list
}
