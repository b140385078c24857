package reconcile

import (
	"time"

	"github.com/tenetcm/tenet/lang/site"
)

// Options are how a machine is kept. The zero value is the defaults.
type Options = site.Reconcile

// The modes of Options, and what is done once attempts are spent.
const (
	Apply   = site.ModeApply
	Audit   = site.ModeAudit // it only tells
	AskHelp = site.OnFailureHelp
	Revert  = site.OnFailureRevert
)

// DefaultBackoff is about how long it is until a second attempt, where no option says it.
const DefaultBackoff = site.DefaultBackoff

// Limits that no option changes.
const (
	maxBackoff  = 30 * time.Minute
	blockedFor  = time.Minute // until it is looked whether an obstacle is still there
	maxRestarts = 5           // of the process, in one apply
	renewals    = 3           // of the attempts at one revision in a day
	day         = 24 * time.Hour
)
