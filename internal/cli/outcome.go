package cli

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/ssh"
	"github.com/tenetcm/tenet/states"
)

// failureOf tells why an outcome is not as it should be; nil: it is.
func failureOf(o *fleet.Outcome) *states.Failure {
	if o.Err == nil {
		return nil
	}
	f := states.FailureOf(o.Err)
	if e, ok := errors.AsType[*fleet.NoWordError](o.Err); ok {
		f.Hint = cmp.Or(f.Hint, noWordHint(e.Task, o.Machine))
	}
	if !o.Refused() {
		f.Code = cmp.Or(f.Code, string(o.Status))
	}
	return f
}

// outcomeOf gives the outcome of a machine, of which there is one.
func outcomeOf(outcomes []fleet.Outcome, machine string) fleet.Outcome {
	return outcomes[slices.IndexFunc(outcomes, func(o fleet.Outcome) bool { return o.Machine == machine })]
}

// noWordHint says what to do where it is not known whether a host has done what it was asked.
func noWordHint(task, host string) string {
	switch task {
	case "exec":
		return "the program ends once the host sees that; look there how far it came. What is to go on by itself can be a part: tenet do -l " + host + " command NAME shell=…"
	case "clean":
		return "tenet history -l " + host + " lists the runs that are left; clean once more"
	case "hold", "unhold":
		return "tenet status -l " + host + " tells whether it is on hold; asking once more does no harm"
	case "forget":
		return "tenet status --managed -l " + host + " lists what is left; forget once more"
	}
	return ""
}

// statusOf is the exit status that an outcome alone would give.
func statusOf(o *fleet.Outcome) int {
	switch o.Status {
	case fleet.Done:
		return exitDone
	case fleet.Invalid:
		return exitSite
	case fleet.Interrupted:
		if !o.Refused() && o.Result == nil { // by this program; else the host says so: its runner was killed, or it lost power
			return exitInterrupted
		}
	case fleet.Incomplete:
		return exitUnreachable
	case fleet.Unreachable, fleet.Detached:
		if e, ok := errors.AsType[*ssh.Error](o.Err); ok && e.Reached {
			return exitFailed
		}
		return exitUnreachable
	}
	return exitFailed
}

// worst gives the exit status of several hosts.
func worst(codes []int) int {
	for _, code := range []int{exitSite, exitInterrupted, exitFailed, exitUnreachable, exitChanges} {
		if slices.Contains(codes, code) {
			return code
		}
	}
	return exitDone
}

// someNames is how many hosts are named before the rest is counted.
const someNames = 3

// namesOf lists hosts, or the first of them and how many more there are.
func namesOf(hosts []string, all bool) string {
	if all || len(hosts) <= someNames+1 {
		return strings.Join(hosts, ", ")
	}
	return strings.Join(hosts[:someNames], ", ") + " and " + people(len(hosts)-someNames, "more", "more")
}
