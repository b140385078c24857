package deploy

import (
	"fmt"
	"slices"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// Codes of errors of this package.
const (
	ErrPhase     = "wrong_phase"   // the deployment does not stand where this can be done
	ErrPlan      = "plan_differs"  // the plan is not the one that was named
	ErrInvalid   = "invalid"       // what was given cannot be
	ErrNotFound  = "not_found"     // there is nothing of that name
	ErrSite      = "invalid_site"  // the site is wrong
	ErrEmpty     = "empty"         // nothing would be wanted
	ErrFull      = "full"          // no room is left
	ErrGone      = "gone"          // it is not kept any more
	ErrPinned    = "pinned"        // or not pinned, where it ought to be
	ErrHooks     = "not_supported" // the server does not do this
	ErrSign      = "sign"          // somebody has to sign it: the server may not
	ErrPolicy    = "policy"        // the policy of the site does not let it be done
	ErrSignature = "signature"     // what was signed elsewhere is not accepted
)

// refuse is an error about what cannot be done with a deployment now.
func (d *Deployment) refuse(what, hint string) error {
	return &diag.HintError{Code: ErrPhase, Message: fmt.Sprintf("deployment %d of %s is %s, and cannot be %s", d.ID, d.Site, d.Phase, what), Hint: hint}
}

// Approve has it begin, by a plan that a person has seen. That this is another person than the one who has asked is the caller's to
// hold to.
func (d *Deployment) Approve(by, why string, plan trust.Digest, now time.Time) error {
	if d.Phase != Planned || d.Consent == NoConsent {
		return d.refuse("approved", "only one that waits for it can be")
	}
	if d.Plan == nil || d.Why.Code != CodeApproval && d.Why.Code != CodeStart {
		return d.refuse("approved", "its plan is not there yet: "+d.Why.Text)
	}
	if d.Plan.Digest != plan {
		return &diag.HintError{Code: ErrPlan, Message: fmt.Sprintf("the plan of deployment %d is now %s, and %s was approved", d.ID, d.Plan.Digest, plan), Hint: "look at it again"}
	}
	d.Approved = &Approved{By: by, At: now, Of: plan, Why: why}
	d.Phase, d.Why = Rolling, Reason{}
	return nil
}

// Hold has nothing begin until Continue.
func (d *Deployment) Hold(by, why string, now time.Time) error {
	if d.Phase != Rolling {
		return d.refuse("paused", "only one that is rolling can be")
	}
	d.Phase = Paused
	d.Why.become(Reason{Code: CodeOrder, Text: "paused by " + by + because(why), Ask: fmt.Sprintf("tenet deployments continue %d", d.ID)}, now)
	return nil
}

// Continue has a paused one go on, without the hosts of the present turn if these are out, and lets hosts change that what others give has changed too often.
func (d *Deployment) Continue() error {
	if d.tolerate() && d.Phase != Paused {
		return nil
	}
	if d.Phase != Paused {
		return d.refuse("continued", "only one that is paused can be")
	}
	if d.Why.Code == CodeAllOut {
		d.Progress.Resumed = true
	}
	d.Phase, d.Why = Rolling, Reason{}
	return nil
}

// Abort ends it: hosts that have not begun keep what they have, and those that have begun go on by themselves.
func (d *Deployment) Abort(by, why string, now time.Time) error {
	if d.Phase.IsOver() {
		return d.refuse("aborted", "it is over already")
	}
	d.end(Aborted, Reason{Code: CodeOrder, Text: "aborted by " + by + because(why), Ask: "deploy again"}, World{Now: now})
	return nil
}

// demandNewest refuses to end a deployment that is done, unless hosts still join it: they join the newest one of the site.
func demandNewest(r store.Reader, d *Deployment) error {
	newest, err := numbers(r, `SELECT MAX(id) FROM deploy_deployments WHERE site = $1 AND phase = 'done'`, d.Site)
	if err == nil && !slices.Equal(newest, []int64{d.ID}) {
		err = d.refuse("aborted", "it is done, and no host joins it any more")
	}
	return err
}

// Supersede ends it in favour of a later one of its site.
func (d *Deployment) Supersede(later int64, now time.Time) {
	if d.Phase.IsOver() || d.Phase == Done {
		return
	}
	d.end(Superseded, Reason{Code: CodeOrder, Text: fmt.Sprintf("deployment %d came after it", later), Ask: "look there"}, World{Now: now})
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}
