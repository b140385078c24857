package runner

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/agent/held"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
)

// hintDeployed is what to do about a site that an agent keeps.
const hintDeployed = "tenet deploy brings changes to it; tenet apply --once applies all the same, until the agent looks next"

// mayCarry refuses a job of a site that this machine's agent keeps, unless it is the agent's own, or somebody has said that it comes in between.
// The records of the agent say so, and not who asks, so that nobody forgets it.
func (r *Runner) mayCarry(j *machine.Job, folder *journal.Folder) error {
	if j.Keeper {
		return r.awaitsOnce(j.Run.Site, folder)
	}
	return r.mayComeBetween(j.Run.Site, j.Once)
}

func (r *Runner) mayComeBetween(site string, once bool) error {
	if once {
		return nil
	}
	is, err := held.Has(r.StateDir, site)
	if err != nil {
		return &diag.HintError{Code: machine.CodeDeployed, Err: fmt.Errorf("whether an agent keeps this machine as the site says cannot be read: %w", err), Hint: hintDeployed}
	}
	if !is {
		return nil
	}
	return &diag.HintError{Code: machine.CodeDeployed, Err: fmt.Errorf("the site %s is deployed here by a server, and the agent of this machine keeps it so", site), Hint: hintDeployed}
}

// returnLimit is how long an agent leaves the machine to a run that has the machine start anew, at each of the two moments from which that counts.
const returnLimit = 15 * time.Minute

// awaitsOnce keeps an agent from taking up its site while a run that came in between, which holds the lock otherwise, has the machine start anew: what
// applied the site since could not be gone on with. A run that does not come back holds nobody for longer than its limit.
func (r *Runner) awaitsOnce(site string, folder *journal.Folder) error {
	list, err := folder.List()
	if err != nil {
		return err
	}
	var last *journal.Status
	for i := range list {
		if list[i].Site == site {
			last = &list[i]
		}
	}
	if last == nil || !last.Once || last.State != journal.Rebooting {
		return nil
	}
	uptime := uptime
	if r.uptime != nil {
		uptime = r.uptime
	}
	up, err := uptime()
	if err != nil {
		return err
	}
	if since := time.Since(last.Paused); up < returnLimit || since >= 0 && since < returnLimit {
		return &diag.HintError{Code: machine.CodeLocked, Err: errors.New("run " + last.Run + ", which tenet apply --once has begun, goes on once the machine has started anew"),
			Hint: "wait, or go on with it: tenet apply --resume " + last.Run}
	}
	return nil
}

// uptime is how long ago the machine was started.
func uptime() (time.Duration, error) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t)
	return time.Duration(t.Nano()), err
}
