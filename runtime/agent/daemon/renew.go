package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/tenetcm/tenet/runtime/agent/identity"
)

// lookForRotation is how often an agent looks whether it was asked for other keys.
const lookForRotation = 2 * time.Second

// renewSoon is when a renewal that has failed is repeated.
const renewSoon = time.Minute

// renew renews the identity each hour, from the start on.
func (d *daemon) renew(ctx context.Context) {
	state := identity.State("")
	for ctx.Err() == nil {
		wait := identity.RenewEvery
		isRemoved := d.rotate()
		answer, err := d.who.Renew(ctx)
		d.agent.TakeKeys() // they may have followed others although something else of the answer was wrong
		switch {
		case err != nil && ctx.Err() == nil:
			d.say(fmt.Errorf("the renewal of this host: %w", err))
			wait = renewSoon
		case err == nil:
			d.agent.TakeTrust()
			if answer.State != state && answer.Reason != "" {
				d.Log(fmt.Sprintf("this host is %s: %s", answer.State, answer.Reason))
			}
			state = answer.State
			if answer.RetryAfter > 0 {
				wait = min(time.Duration(answer.RetryAfter)*time.Second, identity.RenewEvery)
			}
		}
		d.wait(ctx, wait, isRemoved)
	}
}

// rotate makes other keys, if somebody has asked for them, and forgets those that nothing here needs. That is an hour after they were replaced, as a rule: what was on its way then has come.
// It tells whether no request for keys is left that cannot be removed.
func (d *daemon) rotate() bool {
	if needed, err := d.agent.Recipients(); err != nil {
		d.say(fmt.Errorf("former keys of this host are kept: %w", err))
	} else if err := d.who.ForgetFormer(needed); err != nil {
		d.say(fmt.Errorf("former keys of this host are kept: %w", err))
	}
	isNew, err := d.who.TakeRotation()
	if err != nil {
		d.say(err)
	}
	if isNew {
		d.Log("this host has made other keys, as it was asked; they count once the server has answered")
	}
	return err == nil || !d.who.IsRotationRequested()
}

// wait waits until the next renewal: it comes early where somebody asks for other keys, unless what was asked before cannot be removed, and so would be heeded again and again.
func (d *daemon) wait(ctx context.Context, wait time.Duration, early bool) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	look := time.NewTicker(lookForRotation)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case <-look.C:
			if early && d.who.IsRotationRequested() {
				return
			}
		}
	}
}
