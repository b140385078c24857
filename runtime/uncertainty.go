package runtime

// uncertainty is why something that follows is not certain: a part whose effect
// cannot be foreseen, or that is not certain itself.
type uncertainty struct {
	by       string // the part's address
	how      string // what it is
	distance int    // in nodes
}

const (
	unforeseeable = "whose effects cannot be foreseen"
	uncertain     = "which is not certain"
	changing      = "which changes the host"
)

// reason is the uncertainty as the reason of a row.
func (t *uncertainty) reason() string { return "after " + t.by + ", " + t.how }

// nearestUncertainty gives the nearest uncertainty among the node's ancestors; of equally near
// ones, the last in StateRun order.
func (n *node) nearestUncertainty() *uncertainty {
	var nearest *uncertainty
	order := -1
	for _, p := range n.before {
		if p.uncertainty == nil {
			continue
		}
		if nearest == nil || p.uncertainty.distance < nearest.distance ||
			p.uncertainty.distance == nearest.distance && p.order > order {
			nearest, order = p.uncertainty, p.order
		}
	}
	if nearest == nil {
		return nil
	}
	return &uncertainty{by: nearest.by, how: nearest.how, distance: nearest.distance + 1}
}
