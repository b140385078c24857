package control

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/tenetcm/tenet/runtime/trust"
)

// Objection is why an agent has not taken up what its server has given it. It is told by each Hello until it is over: by no item of the stream, since
// the disk that cannot keep the one cannot keep the other.
type Objection struct {
	Site     string         `json:"site,omitempty"`    // empty: it is about all of them
	Position trust.Position `json:"position,omitzero"` // of the assignment; zero: it is about none
	Code     ObjectionCode  `json:"code"`
	Why      string         `json:"why"`
}

// ObjectionCode says in a word what stands against something.
type ObjectionCode string

// The codes.
const (
	ObjectionClock   ObjectionCode = "clock"   // by the host's clock it is too late to accept it
	ObjectionSealing ObjectionCode = "sealing" // it is encrypted to another key than the host has
	ObjectionTrust   ObjectionCode = "trust"   // no key that the host knows for it has signed it
	ObjectionInvalid ObjectionCode = "invalid" // it makes no sense to the host
	ObjectionStorage ObjectionCode = "storage" // the host cannot write it down
)

// Limits of what an agent tells of this, and of what a server takes in.
const (
	maxObjections   = 64
	maxObjectionWhy = 1000 // bytes
)

// Cure is what a person can do about it; empty: nobody knows.
func (o *Objection) Cure() string {
	switch o.Code {
	case ObjectionClock:
		return "set the clock of the host"
	case ObjectionSealing:
		return "deploy again, once the host has renewed"
	case ObjectionTrust:
		return "deploy again; if that does not help, have the host join anew"
	case ObjectionStorage:
		return "make room on the host, or mend its disk"
	}
	return ""
}

// isLike tells whether it says the same as another one, whatever the words: times stand in these.
func (o Objection) isLike(p Objection) bool {
	return o.Site == p.Site && o.Position == p.Position && o.Code == p.Code
}

// IsNew tells whether none of a list says the same.
func (o Objection) IsNew(list []Objection) bool { return !slices.ContainsFunc(list, o.isLike) }

// Objections are those of a Hello, as far as a server takes them in.
func (m *Hello) Objections() []Objection {
	var list []Objection
	for _, o := range m.Refused {
		if len(list) == maxObjections {
			break
		}
		if len(o.Site) > maxText || len(o.Code) > maxText || !o.IsNew(list) {
			continue
		}
		o.Why = shorten(o.Why)
		list = append(list, o)
	}
	return list
}

// shorten bounds the words of an objection.
func shorten(text string) string {
	if len(text) <= maxObjectionWhy {
		return text
	}
	end := maxObjectionWhy
	for end > 0 && text[end]&0xC0 == 0x80 { // within a character
		end--
	}
	return text[:end] + " …"
}

// objectionTo gives what an error says against an assignment.
func objectionTo(s *trust.Signed, err error) Objection {
	site, position := trust.ClaimedSite(s)
	o := Objection{Site: site, Position: position, Code: ObjectionInvalid, Why: shorten(err.Error())}
	if refusal, ok := errors.AsType[*trust.SignatureError](err); ok {
		o.Code = cmp.Or(map[trust.Cause]ObjectionCode{trust.CauseClock: ObjectionClock, trust.CauseSealing: ObjectionSealing, trust.CauseSigner: ObjectionTrust}[refusal.Cause], o.Code)
	}
	return o
}

// objections lists what stands against what the agent was given: what the newest answer brought, and what the disk did not take.
func (a *Agent) objections() []Objection {
	list := slices.Clone(a.judged)
	for _, site := range slices.Sorted(maps.Keys(a.unkept)) {
		list = append(list, a.unkept[site])
	}
	if a.untold != nil {
		list = append(list, *a.untold)
	}
	return list[:min(len(list), maxObjections)]
}

// differs tells whether one of two lists says what the other one does not.
func differs(was, now []Objection) bool {
	return len(was) != len(now) || slices.ContainsFunc(now, func(o Objection) bool { return o.IsNew(was) })
}

// CannotKeep says that something of an output could not be made durable: the next Hello tells it. What was kept of that before is told no more.
func (a *Agent) CannotKeep(out *Output, err error) {
	why := shorten(err.Error())
	if len(out.Keep) == 0 {
		a.cannotKeep(Objection{Code: ObjectionStorage, Why: why})
	}
	for _, one := range out.Keep {
		a.cannotKeep(Objection{Site: one.Site, Position: one.Position, Code: ObjectionStorage, Why: why})
	}
}

func (a *Agent) cannotKeep(o Objection) {
	if a.unkept == nil {
		a.unkept = map[string]Objection{}
	}
	a.unkept[o.Site] = o
}
