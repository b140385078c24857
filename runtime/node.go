package runtime

import (
	"github.com/tenetcm/tenet/states"
)

// node is an invocation, a block or a join in the DAG on its way.
type node struct {
	order      int // in the StateRun; blocks and joins follow
	address    string
	inv        *states.Invocation // nil for blocks and joins
	block      *states.Block
	requires   []*node // must go
	before     []*node // all predecessors, requires included
	next       []*node
	waiting    int // predecessors that have not ended
	sources    []source
	notices    []notice // what it may notify
	blocks     []*node  // that it is a member, rescue or always of, innermost first
	rescues    *node
	callReason string // beside what it does, for its rows

	isStartRecorded bool     // its start was recorded: it is a handler that was called
	durable         []string // handlers whose debt to it is on disk, should it be lost now

	isFromEarlierProcess bool // an earlier process of the run has seen it end, and that stands
	isRecorded           bool // so did the records: there is no event of its end

	// Set when it has ended.
	outcome      states.Outcome
	blockedBy    string // why what requires it cannot go; empty: it goes
	notification notification
	parts        map[string]notification // of parts, by address
	fresh        map[string]bool         // parts that this process has carried out, if it goes on with a run

	// Of a plan.
	causes     map[string]string // the parts for which parts are uncertain, by address
	risks      []string          // parts that may fail, and block what requires them
	riskBefore string            // such a part of what it requires
}

// source is one notifier of a handler's wave.
type source struct {
	node *node
	part string // empty: the whole node
	on   string
}

// notification is what the source says to the handler.
func (s *source) notification() likelihood {
	was := s.node.notification
	if s.part != "" {
		was = s.node.parts[s.part]
	}
	if s.on == states.OnFailure {
		return was.failure
	}
	return was.change
}

// likelihood of a notification: in an apply never or surely.
type likelihood int

const (
	never likelihood = iota
	perhaps
	surely
)

// notification is what an invocation or a part notifies.
type notification struct{ change, failure likelihood }

func (s *notification) add(o notification) {
	s.change = max(s.change, o.change)
	s.failure = max(s.failure, o.failure)
}
