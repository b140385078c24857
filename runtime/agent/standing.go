package agent

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/reconcile"
)

// askEvery is how often the agent looks whether somebody has asked it to try again.
const askEvery = 5 * time.Second

// loops has where loops stand, for who asks the host. Nothing that the agent does depends on it, so that it need not outlive a loss of power.
func (k *keeper) loops() *reconcile.Folder {
	f := reconcile.In(k.agent.StateDir)
	f.Volatile = true
	return f
}

// show notes where a loop stands, for who asks the host.
func (k *keeper) show(want *control.Assigned, l *control.Loop) {
	var err error
	if l.Phase == control.PhaseGone {
		err = k.loops().Remove(l.Site)
	} else {
		err = k.loops().Save(standing(want, l, k.agent.Clock()))
	}
	if err != nil {
		k.agent.Log(fmt.Errorf("where the loop of %s stands cannot be noted: %w", l.Site, err))
	}
}

// standing is where a loop stands, as any loop is told of.
func standing(want *control.Assigned, l *control.Loop, now time.Time) reconcile.State {
	s := reconcile.NewState(l.Site, now.UTC())
	target := reconcile.Target{Digest: want.Identity.String(), Revision: want.Revision, Absent: want.Absent}
	s.Phase, s.Condition, s.Next = reconcile.Phase(l.Phase), reconcile.Condition(l.Condition), l.Next
	s.Wanted, s.Target, s.Tried, s.Limit = target, target, target, maxAttempts
	s.Reason, s.Helpless = l.Reason, l.Phase == control.PhaseHelp
	if l.Attempt > 0 {
		s.Attempts = map[reconcile.Cause]int{reconcile.Unsuccess: l.Attempt}
	}
	switch {
	case l.Phase == control.PhaseBlocked:
		s.Cause = reconcile.Obstacle
	case l.Condition == control.ConditionFailed:
		s.Cause = reconcile.Unsuccess
	case l.Phase == control.PhaseRetrying:
		s.Cause = reconcile.Unavailable
	}
	if l.Condition == control.ConditionConverged {
		s.Converged = target
	}
	return s
}

// again begins anew with the sites for which somebody has asked that.
func (k *keeper) again() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var errs []error
	for _, s := range k.sites {
		asked, err := k.loops().TakeAgain(s.site)
		if asked {
			err = cmp.Or(err, k.attempts.set(s.want, 0))
			s.attempt, s.help, s.applied, s.due = 0, false, false, time.Time{}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s cannot be tried again: %w", s.site, err))
		}
	}
	return errors.Join(errs...)
}
