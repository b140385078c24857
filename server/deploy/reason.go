package deploy

import "time"

// Code says in a word why something waits.
type Code string

// The codes. Those of hosts that are out are the last ones.
const (
	CodeEvaluation Code = "evaluation"   // the site is being evaluated for the host
	CodePlanning   Code = "planning"     // the host has been asked what it would do
	CodeStart      Code = "start"        // somebody has to have it start
	CodeApproval   Code = "approval"     // somebody has to approve
	CodeTurn       Code = "turn"         // other hosts come first
	CodePause      Code = "pause"        // between batches
	CodeProgress   Code = "progress"     // the host is at it
	CodeRefused    Code = "refused"      // the host has told why it does not take it up
	CodeOrder      Code = "order"        // a person has paused, aborted or superseded it
	CodeAllOut     Code = "all_out"      // no host of the batch is at hand
	CodeLimit      Code = "limit"        // more has failed than may
	CodeInvalid    Code = "invalid"      // the site is wrong for the host
	CodeCycle      Code = "cycle"        // hosts read what they give one another
	CodeEmpty      Code = "empty"        // nothing would be wanted, and nobody has said that this is meant
	CodeStarted    Code = "started"      // the server has just started, and hosts are about to connect
	CodeFault      Code = "fault"        // something is wrong within the server
	CodeFull       Code = "full"         // the server's disk
	CodeGaveUp     Code = "gave_up"      // the host's loop
	CodeReverted   Code = "reverted"     // by the host's loop
	CodeDeadline   Code = "deadline"     // the host took too long
	CodeKept       Code = "kept"         // the deployment ended before the host began
	CodeLocked     Code = "locked"       // the host is not, or no longer, among those that may be changed
	CodeAway       Code = "away"         // the host is not connected
	CodePinned     Code = "pinned"       // by a person
	CodeWindow     Code = "window"       // it may not be changed now
	CodeHeld       Code = "held"         // by somebody on the host
	CodeAudit      Code = "audit"        // the host only tells of differences
	CodeDiffers    Code = "plan_differs" // from what was approved
	CodeSilent     Code = "no_facts"     // the host has told nothing of itself
	CodeOutput     Code = "output"       // other hosts have not given yet what it reads
	CodeUnsteady   Code = "unsteady"     // what others give changes it again and again
	CodeCluster    Code = "cluster"      // its cluster waits for a member
	CodeElsewhere  Code = "elsewhere"    // a later deployment has the host
	CodeSign       Code = "sign"         // somebody has to sign for it: the server does not, or may not
	CodePolicy     Code = "policy"       // the site's policy demands what the deployment does not have
	CodeBeforehand Code = "unplanned"    // the host could not plan
)

// Reason is why something waits, or has come to its end. What waits has an Until, an Ask, or both.
type Reason struct {
	Code  Code      `json:"code"`
	Text  string    `json:"text"`
	Since time.Time `json:"since"`
	Until time.Time `json:"until,omitzero"` // when it is looked at again by itself
	Ask   string    `json:"ask,omitempty"`  // what a person can do about it
}

// WithoutHosts is the reason of a deployment for somebody who may not see all of its hosts: it names none, and says nothing that is about one.
func (r Reason) WithoutHosts() Reason {
	switch r.Code {
	case CodeInvalid:
		r.Text = "the site is wrong for some of its hosts"
	case CodeCycle:
		r.Text = "hosts read what they give one another"
	case CodeEmpty:
		r.Text = "nothing would be wanted any more of some of its hosts"
	case CodeLimit:
		r.Text = "more of its hosts have failed than may"
	case CodeBeforehand:
		r.Text = "the plans of its hosts cannot be put together"
	}
	return r
}

// notAfter has a reason from the future, which a clock that was set back leaves behind, count from now.
func (r *Reason) notAfter(now time.Time) {
	if r.Since.After(now) {
		r.Since = now
	}
}

// become takes another reason's place; one that says the same is left as old as it is.
func (r *Reason) become(next Reason, now time.Time) {
	if next.Since = now; r.Code == next.Code && !r.Since.After(now) && !r.Since.IsZero() {
		next.Since = r.Since
	}
	*r = next
}
