package reconcile

// Trigger is what has happened, as far as it decides where a loop goes.
type Trigger string

// The triggers.
const (
	OnWanted      Trigger = "wanted"
	OnPoll        Trigger = "poll"
	OnLook        Trigger = "look"
	OnAgain       Trigger = "again"
	OnUndeploy    Trigger = "undeploy"
	OnRestart     Trigger = "restart"
	OnSuperseded  Trigger = "superseded"
	OnNothing     Trigger = "nothing"
	OnSomething   Trigger = "something"
	OnDrift       Trigger = "drift"
	OnStuck       Trigger = "stuck"
	OnUnplannable Trigger = "unplannable"
	OnUnavailable Trigger = "unavailable"
	OnUnstable    Trigger = "unstable"
	OnSound       Trigger = "sound"
	OnUnsound     Trigger = "unsound"
	OnDone        Trigger = "done"
	OnFailed      Trigger = "failed"
	OnOverdue     Trigger = "overdue"
	OnObstacle    Trigger = "obstacle"
	OnDue         Trigger = "due"
	OnReturn      Trigger = "return"
	OnSpent       Trigger = "spent"
)

// Meanings says what each trigger is, for people, in the order of the documentation.
func Meanings() []Meaning {
	return []Meaning{
		{OnWanted, "something else is wanted"},
		{OnPoll, "it is time to look again"},
		{OnLook, "facts have changed, or somebody asks"},
		{OnAgain, "`tenet retry`"},
		{OnUndeploy, "the site is to be absent from the host"},
		{OnRestart, "the process or the machine starts anew"},
		{OnSuperseded, "something else has come to be wanted meanwhile"},
		{OnNothing, "the plan finds nothing to do"},
		{OnSomething, "the plan finds something to do"},
		{OnDrift, "the plan finds something to do, and the host is only to be looked at"},
		{OnStuck, "the plan finds something to do, and help is waited for"},
		{OnUnplannable, "a plan cannot be made"},
		{OnUnavailable, "what is wanted cannot be had at present: no attempt"},
		{OnUnstable, "after all rounds the plan still finds something to do"},
		{OnSound, "nothing is left over"},
		{OnUnsound, "something is wrong that an apply does not show"},
		{OnDone, "the apply has ended well"},
		{OnFailed, "something has failed"},
		{OnOverdue, "the apply took longer than the deadline, and was cancelled"},
		{OnObstacle, "a hold, a window or a lock is in the way"},
		{OnDue, "the time to wait is over"},
		{OnReturn, "the attempts are spent, or an obstacle is over: back to what was last converged"},
		{OnSpent, "the attempts are spent"},
	}
}

// Meaning is a trigger in words.
type Meaning struct {
	Trigger Trigger
	Text    string
}

// Edge is a transition: from a phase, when something has happened, to another one.
type Edge struct {
	From Phase
	On   Trigger
	To   Phase
}

// Edges lists all transitions. What has no edge changes nothing where it comes.
func Edges() []Edge {
	return []Edge{
		{Waiting, OnWanted, Discovering},
		{Waiting, OnPoll, Discovering},
		{Waiting, OnLook, Discovering},
		{Waiting, OnAgain, Discovering},
		{Waiting, OnUndeploy, Removing},

		{Discovering, OnNothing, Validating},
		{Discovering, OnSomething, Applying},
		{Discovering, OnDrift, Waiting},
		{Discovering, OnStuck, Help},
		{Discovering, OnUnplannable, Retrying},
		{Discovering, OnUnavailable, Retrying},
		{Discovering, OnUnstable, Retrying},
		{Discovering, OnObstacle, Blocked},
		{Discovering, OnSuperseded, Discovering},
		{Discovering, OnUndeploy, Removing},
		{Discovering, OnRestart, Discovering},

		{Validating, OnSound, Waiting},
		{Validating, OnUnsound, Retrying},
		{Validating, OnSuperseded, Discovering},
		{Validating, OnUndeploy, Removing},
		{Validating, OnRestart, Validating},

		{Applying, OnDone, Discovering},
		{Applying, OnFailed, Retrying},
		{Applying, OnOverdue, Retrying},
		{Applying, OnUnavailable, Retrying},
		{Applying, OnObstacle, Blocked},
		{Applying, OnSuperseded, Discovering},
		{Applying, OnUndeploy, Removing},
		{Applying, OnRestart, Applying},

		{Retrying, OnDue, Discovering},
		{Retrying, OnWanted, Discovering},
		{Retrying, OnAgain, Discovering},
		{Retrying, OnReturn, Reverting},
		{Retrying, OnSpent, Help},
		{Retrying, OnUndeploy, Removing},

		{Reverting, OnDone, Waiting},
		{Reverting, OnFailed, Help},
		{Reverting, OnOverdue, Help},
		{Reverting, OnUnavailable, Retrying},
		{Reverting, OnObstacle, Blocked},
		{Reverting, OnSuperseded, Discovering},
		{Reverting, OnUndeploy, Removing},
		{Reverting, OnRestart, Reverting},

		{Blocked, OnDue, Discovering},
		{Blocked, OnWanted, Discovering},
		{Blocked, OnLook, Discovering},
		{Blocked, OnAgain, Discovering},
		{Blocked, OnReturn, Reverting},
		{Blocked, OnUndeploy, Removing},

		{Help, OnWanted, Discovering},
		{Help, OnPoll, Discovering},
		{Help, OnLook, Discovering},
		{Help, OnAgain, Discovering},
		{Help, OnUndeploy, Removing},

		{Removing, OnDone, Gone},
		{Removing, OnFailed, Retrying},
		{Removing, OnOverdue, Retrying},
		{Removing, OnUnavailable, Retrying},
		{Removing, OnObstacle, Blocked},
		{Removing, OnSuperseded, Discovering},
		{Removing, OnRestart, Removing},

		{Gone, OnWanted, Discovering},
	}
}

// find gives the phase to which something leads.
func find(from Phase, on Trigger) (Phase, bool) {
	for _, e := range Edges() {
		if e.From == from && e.On == on {
			return e.To, true
		}
	}
	return "", false
}
