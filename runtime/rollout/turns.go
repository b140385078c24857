package rollout

import (
	"slices"
	"time"
)

// State is how a host stands to its turn.
type State string

// The states of hosts.
const (
	Pending State = "pending" // it is at hand, and has not begun
	Begun   State = "begun"
	Ready   State = "ready"
	Failed  State = "failed"
	// Out is a host that is not at hand, before its turn or in it: it is neither ready nor failed, and nobody waits for it.
	Out State = "out"
)

// Host is a host of a rollout that may lose and find its hosts while it goes on.
type Host struct {
	Name  string
	State State
	Turn  int // in which it has begun, from 1; 0: it has not
}

// Progress is how far a rollout has come. Its zero value has not begun.
type Progress struct {
	Turn int `json:"turn"` // the last that has begun, from 1; 0: none
	// Ended is when all hosts of this turn had come to an end; zero: they have not.
	Ended time.Time `json:"ended,omitzero"`
	// Resumed: a person has said that the rollout goes on although every host of this turn is out.
	Resumed bool `json:"resumed,omitempty"`
}

// Kind is what comes next in a rollout.
type Kind string

// What may come next.
const (
	Begin    Kind = "begin"    // the turn of Step.Hosts
	Await    Kind = "await"    // until hosts of the present turn come to an end
	End      Kind = "end"      // of the present turn
	Pause    Kind = "pause"    // until Step.Until
	Halt     Kind = "halt"     // until a host of the present turn is back, all of which are out, or a person has it go on without them
	Stop     Kind = "stop"     // too much has failed; see Step.Err
	Complete Kind = "complete" // nobody's turn is to come but that of hosts that are out
)

// Step is what comes next.
type Step struct {
	Kind  Kind
	Turn  int      // the one that begins, or that it is about
	Hosts []string // to begin, in their order; none where all are out
	Until time.Time
	Err   error
}

// Plan is a rollout of which hosts may be out, come back late, or be new.
//
// The turns are those of its batches. A host that was out when its batch began joins the next one that begins, as a
// new host does. After the last batch there is one more turn, which stays open: those who come late begin in
// it, at most as many at a time as the largest batch of the last stage has, and their failures count in this stage.
type Plan struct {
	Batches []Batch
	Pause   time.Duration // between batches
}

// Next says what comes next. Of hosts that are in no batch, those that stand first in the list begin first.
func (p *Plan) Next(now time.Time, at Progress, hosts []Host) Step {
	turn, isOpen := at.Turn, at.Turn > len(p.Batches)
	if err := p.exceeded(turn, hosts); err != nil {
		return Step{Kind: Stop, Turn: turn, Err: err}
	}
	switch {
	case turn == 0 && len(p.Batches) == 0:
		return p.open(hosts, 0)
	case turn == 0:
		return p.begin(1, hosts)
	}
	underWay, begun, ended := 0, 0, 0
	for _, h := range hosts {
		if h.State == Begun {
			underWay++
		}
		switch {
		case h.Turn != turn:
		case h.State == Begun:
			begun++
		case h.State == Ready || h.State == Failed:
			ended++
		}
	}
	switch {
	case isOpen:
		return p.open(hosts, underWay)
	case !at.Ended.IsZero(): // who was out in this turn, and is back, holds nobody up
	case begun > 0:
		return Step{Kind: Await, Turn: turn}
	case ended == 0 && !at.Resumed:
		if s := p.begin(turn, hosts); len(s.Hosts) > 0 { // some are back
			return s
		}
		return Step{Kind: Halt, Turn: turn}
	default:
		return Step{Kind: End, Turn: turn}
	}
	// A clock that was set back does not make the pause longer.
	if until := at.Ended.Add(p.Pause); turn < len(p.Batches) && now.Before(until) && !now.Before(at.Ended) {
		return Step{Kind: Pause, Turn: turn, Until: until}
	}
	if turn == len(p.Batches) {
		return p.open(hosts, underWay)
	}
	return p.begin(turn+1, hosts)
}

// begin begins a turn.
func (p *Plan) begin(turn int, hosts []Host) Step {
	planned := map[string]int{} // a host that is in no batch is late for all
	for i, b := range p.Batches {
		for _, name := range b.Machines {
			planned[name] = i + 1
		}
	}
	late, atHand := []string{}, map[string]bool{}
	for _, h := range hosts {
		if h.Turn > 0 || h.State != Pending {
			continue
		}
		atHand[h.Name] = true
		if planned[h.Name] < turn {
			late = append(late, h.Name)
		}
	}
	own := slices.DeleteFunc(slices.Clone(p.Batches[turn-1].Machines), func(name string) bool { return !atHand[name] })
	return Step{Kind: Begin, Turn: turn, Hosts: append(own, late...)}
}

// open is the turn of those who come late, while so many hosts are under way.
func (p *Plan) open(hosts []Host, underWay int) Step {
	s := Step{Kind: Begin, Turn: len(p.Batches) + 1}
	for _, h := range hosts {
		if h.Turn == 0 && h.State == Pending && underWay+len(s.Hosts) < p.room() {
			s.Hosts = append(s.Hosts, h.Name)
		}
	}
	switch {
	case len(s.Hosts) > 0:
	case underWay > 0:
		s.Kind = Await
	default:
		s.Kind = Complete
	}
	return s
}

// room is how many may be under way in the open turn.
func (p *Plan) room() int {
	n := 1
	for i := len(p.Batches) - 1; i >= 0 && p.Batches[i].Stage == p.Batches[len(p.Batches)-1].Stage; i-- {
		n = max(n, len(p.Batches[i].Machines))
	}
	return n
}

// exceeded says whether too much has failed in a stage up to a turn.
func (p *Plan) exceeded(turn int, hosts []Host) error {
	failed := map[int]int{}
	for _, h := range hosts {
		if h.State == Failed && h.Turn > 0 {
			failed[min(h.Turn, len(p.Batches))]++
		}
	}
	var tally Tally
	for i, b := range p.Batches[:min(turn, len(p.Batches))] {
		if err := tally.Add(b, failed[i+1]); err != nil {
			return err
		}
	}
	if len(p.Batches) == 0 && failed[0] > 0 { // only new hosts
		return tally.Add(Batch{Number: 1, Of: 1, Total: 1}, failed[0])
	}
	return nil
}
