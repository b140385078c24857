// Package deploy brings revisions of sites to hosts: which host is to be what, when, and who has said so.
//
// A Deployment is a revision of a site for some hosts. Its core is pure: Advance takes what is known of the hosts at
// one time, changes the Deployment, and says what is to be done. Nothing else changes what a host is to be but a
// person's pin or unpin. Whoever drives it keeps the Deployment, the targets that it changes and the audit
// of that in one transaction.
//
// Whatever waits has a Reason: why, since when, and what ends it, be it a time or a person.
package deploy

import (
	"time"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/evaluate"
	"github.com/tenetcm/tenet/states"
)

// Phase is where a deployment stands.
type Phase string

// The phases of deployments.
const (
	Planned    Phase = "planned" // it is evaluated, and planned if somebody is to consent; nothing has begun
	Rolling    Phase = "rolling"
	Paused     Phase = "paused" // nothing is begun until a person says so
	Done       Phase = "done"   // but for hosts that are out, which join when they return
	Failed     Phase = "failed" // hosts that have not begun keep what they have
	Aborted    Phase = "aborted"
	Superseded Phase = "superseded" // by a later deployment of the site
)

// IsOver reports whether no host begins in this phase any more.
func (p Phase) IsOver() bool { return p == Failed || p == Aborted || p == Superseded }

// Consent is what a deployment needs before it begins.
type Consent string

// The consents.
const (
	NoConsent Consent = ""        // none: the one who asks has decided
	Start     Consent = "start"   // a person looks at the plan, and has it start
	Approval  Consent = "approve" // another person than the one who asked approves the plan
)

// Deployment is a revision of a site for some hosts.
type Deployment struct {
	ID       int64           `json:"id"`
	Site     string          `json:"site"`
	Revision contents.Digest `json:"revision"`
	Number   int64           `json:"number"` // of the revision, for people
	By       string          `json:"by"`     // who has asked for it
	At       time.Time       `json:"at"`
	Message  string          `json:"message,omitempty"`
	Selector string          `json:"selector"` // of hosts; "*": all, and those that are new later
	Consent  Consent         `json:"consent,omitempty"`
	Empty    bool            `json:"empty,omitempty"`    // an empty wanted state is meant
	Deadline time.Duration   `json:"deadline,omitempty"` // of a host from its begin on; 0: DefaultDeadline
	// Signed says that the server evaluates and signs nothing: hosts get what somebody else has signed for them, or wait for it.
	Signed bool `json:"signed,omitempty"`

	Phase    Phase            `json:"phase"`
	Why      Reason           `json:"why,omitzero"` // why it stands there, unless it goes on by itself
	Batches  []rollout.Batch  `json:"batches"`
	Pause    time.Duration    `json:"pause,omitempty"`
	Progress rollout.Progress `json:"progress"`
	Plan     *GroupedPlan     `json:"plan,omitempty"` // where a consent is needed, once all who can have planned
	Approved *Approved        `json:"approved,omitempty"`
	// Restored says that the deployment comes from a backup: hosts that have something later keep it until somebody deploys again.
	Restored bool `json:"restored,omitempty"`
	// Tolerated is up to how many changes of one host by outputs of others somebody has let pass.
	Tolerated int `json:"tolerated,omitempty"`

	Hosts []*Host `json:"-"` // in their order

	turns int                // how many batches there are, where these were left out
	index map[trust.ID]*Host // of Hosts; see host
}

// Turns is how many batches there are.
func (d *Deployment) Turns() int { return max(len(d.Batches), d.turns) }

// DefaultDeadline is how long a host that is at hand may take.
const DefaultDeadline = time.Hour

// Approved is a person's consent to the plan of a deployment, which stays as it is from then on.
type Approved struct {
	By  string       `json:"by"`
	At  time.Time    `json:"at"`
	Of  trust.Digest `json:"of"` // the digest of the plan that was shown
	Why string       `json:"why,omitempty"`
	// Plan is that plan where a former version of the server has kept it twice.
	Plan *GroupedPlan `json:"plan,omitempty"`
}

// Host is a host of a deployment.
type Host struct {
	ID    trust.ID      `json:"id"`
	Name  string        `json:"name"`
	Turn  int           `json:"turn,omitempty"` // in which it has begun, from 1; 0: it has not
	State rollout.State `json:"state"`
	Why   Reason        `json:"why,omitzero"` // why it waits, is out or has failed
	// Position is that of the target by which it became what the deployment says, and Identity what that is.
	Position trust.Position `json:"position,omitzero"`
	Identity trust.Digest   `json:"identity,omitzero"`
	// Active is since when it has been at hand in its turn: the deadline counts from then.
	Active time.Time `json:"active,omitzero"`
	// Changes is how often outputs of others have made something else of it in this revision, where that is too often.
	Changes int `json:"changes,omitempty"`
}

// Summary is the host's state for people. A rollout passes over a host for which something is being prepared as over one that is out; nobody
// needs to do anything about it.
func (h *Host) Summary() rollout.State {
	if h.State == rollout.Out && (h.Why.Code == CodeEvaluation || h.Why.Code == CodePlanning) {
		return rollout.Pending
	}
	return h.State
}

// Prepared is what a revision makes of a host.
type Prepared struct {
	Host      trust.ID        `json:"host"`
	Revision  contents.Digest `json:"revision"`
	Identity  trust.Digest    `json:"identity"`
	Empty     bool            `json:"empty,omitempty"`  // nothing is wanted of the host
	Absent    bool            `json:"absent,omitempty"` // the revision does not declare it
	At        time.Time       `json:"at"`
	Error     string          `json:"error,omitempty"` // the site is wrong for it: then the rest is empty
	Recipient string          `json:"recipient,omitempty"`
	// Run is the revision of the host's StateRun, Components are those of it at top level, and Prunes tells whether what it does not have is removed. Of what was signed
	// elsewhere they are what the one who has signed says, if that was told at all.
	Run        string          `json:"run,omitempty"`
	Components []string        `json:"components,omitzero"`
	Prunes     bool            `json:"prunes,omitempty"`
	Bundle     trust.Content   `json:"bundle,omitzero"`
	Files      []trust.Content `json:"files,omitempty"`
	Read       Reads           `json:"read,omitzero"`
	// Waits are outputs of other hosts that these have not given yet: until then there is nothing for the host.
	Waits []string `json:"waits,omitempty"`
	// Changes is how often outputs of other hosts have made something else of the host in this revision.
	Changes  int           `json:"changes,omitempty"`
	Schedule site.Schedule `json:"schedule,omitempty"`
	// Cluster is the one of which the host was evaluated as a member, and Members who these are; empty: of none.
	Cluster string   `json:"cluster,omitempty"`
	Members []string `json:"members,omitempty"`

	// Signed is the assignment, where somebody else than the server has evaluated and signed, with what it says.
	Signed   *trust.Signed   `json:"signed,omitempty"`
	Key      trust.PublicKey `json:"key,omitzero"`
	Position trust.Position  `json:"position,omitzero"`
	Until    time.Time       `json:"until,omitzero"`

	outline []byte  // as the evaluation has made it just now
	seen    reading // see look
}

// prepared is the table of what a deployment makes of its hosts.
func (d *Deployment) prepared() table {
	if d.Signed {
		return signedTable
	}
	return preparedTable
}

// evaluationDigest is by what the tables tell apart what is made of a revision: where rules may delete all that they have made, that is another thing, and
// deployments of both kinds may go on at a time.
func (d *Deployment) evaluationDigest() contents.Digest {
	if d.Empty && !d.Signed {
		return mayEmpty(d.Revision)
	}
	return d.Revision
}

// mayEmpty is such a key, of a revision in which rules may delete all that they have made.
func mayEmpty(tree contents.Digest) contents.Digest { return tree + " empty" }

// Value is a fact or an output that an evaluation has read.
type Value = evaluate.Value

// HostPlan is what a host has said that it would do.
type HostPlan struct {
	Identity trust.Digest   `json:"identity"` // of what it has planned
	Rows     []states.Event `json:"rows"`
	Error    string         `json:"error,omitempty"` // it could not plan
	At       time.Time      `json:"at"`
}

// Target is what a host is to hold now.
type Target struct {
	trust.Position
	Identity trust.Digest
	Absent   bool
	// Recipient is whom its secrets are sealed to, and Until when the host takes it up no longer; empty: not known.
	Recipient string    `json:",omitempty"`
	Until     time.Time `json:",omitzero"`
}

// plan is the rollout.
func (d *Deployment) plan() *rollout.Plan { return &rollout.Plan{Batches: d.Batches, Pause: d.Pause} }

// host finds one by its id.
func (d *Deployment) host(id trust.ID) *Host {
	if len(d.index) != len(d.Hosts) {
		d.index = make(map[trust.ID]*Host, len(d.Hosts))
		for _, h := range d.Hosts {
			d.index[h.ID] = h
		}
	}
	return d.index[id]
}
