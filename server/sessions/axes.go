package sessions

// The axes of how a host stands. None follows from another: who is lost may have all that is wanted of it.

// Reach says in a word when a host was heard of.
type Reach string

// The values of the axis of reachability.
const (
	ReachConnected Reach = "connected"
	ReachSilent    Reach = "silent" // it is not connected, and does not count as lost yet
	ReachLost      Reach = "lost"
)

// Reaches lists them.
func Reaches() []Reach { return []Reach{ReachConnected, ReachSilent, ReachLost} }

// Reach gives a host's place on the axis.
func (r Reachability) Reach() Reach {
	switch {
	case r.Connected:
		return ReachConnected
	case r.Lost:
		return ReachLost
	}
	return ReachSilent
}

// Progress says in a word how far what is wanted has come.
type Progress string

// The values of the axis of delivery.
const (
	ProgressPending Progress = "pending" // the host does not have it: Delivery.Pending says why
	ProgressHeld    Progress = "held"    // the host has it, and its loop has not taken it up
	ProgressAdopted Progress = "adopted"
)

// Progresses lists them.
func Progresses() []Progress { return []Progress{ProgressPending, ProgressHeld, ProgressAdopted} }

// Progress gives the place of a host and site on the axis.
func (d *Delivery) Progress() Progress {
	switch {
	case d.Pending != "":
		return ProgressPending
	case d.Adopted:
		return ProgressAdopted
	}
	return ProgressHeld
}

// Readiness says in a word what the newest report comes to.
type Readiness string

// The values of the axis of state.
const (
	Ready    Readiness = "ready"
	NotReady Readiness = "not-ready"
	NoReport Readiness = "unknown" // there is no report
)

// Readinesses lists them.
func Readinesses() []Readiness { return []Readiness{Ready, NotReady, NoReport} }

// Readiness gives the place of a host and site on the axis.
func (s *SiteStatus) Readiness() Readiness {
	return readinessOf(s.Report)
}

func readinessOf(r *ReportStatus) Readiness {
	switch {
	case r == nil:
		return NoReport
	case r.Ready:
		return Ready
	}
	return NotReady
}
