package runtime

// taint is why something that follows is not certain: a part whose effect
// cannot be foreseen, or that is not certain itself.
type taint struct {
	by       string // the part's address
	how      string // what it is
	distance int    // in nodes
}

const (
	unforeseeable = "whose effects cannot be foreseen"
	uncertain     = "which is not certain"
	changing      = "which changes the host"
)

// reason is the taint as the reason of a row.
func (t *taint) reason() string { return "after " + t.by + ", " + t.how }

// inherited gives the nearest taint among the node's ancestors; of equally near
// ones, the last in StateRun order.
func (e *engine) inherited(n *node) *taint {
	if !e.planning() {
		return nil
	}
	var nearest *taint
	order := -1
	for _, p := range n.before {
		if p.taint == nil {
			continue
		}
		if nearest == nil || p.taint.distance < nearest.distance ||
			p.taint.distance == nearest.distance && p.order > order {
			nearest, order = p.taint, p.order
		}
	}
	if nearest == nil {
		return nil
	}
	return &taint{by: nearest.by, how: nearest.how, distance: nearest.distance + 1}
}

// taints gives what follows the part inherits from it, nil for nothing new.
func (s *step) taints() *taint {
	switch {
	case !s.engine.planning():
		return nil
	case s.unforeseen:
		return &taint{by: s.part.Address, how: unforeseeable}
	case s.maybe != "" && !s.shaken: // by an act that may touch anything, others are shaken themselves
		return &taint{by: s.part.Address, how: uncertain}
	}
	return nil
}
