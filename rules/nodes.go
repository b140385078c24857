package rules

import (
	"fmt"
	"strconv"
)

// Node is a node that a rule selects, with what belongs to the rule.
type Node struct {
	Rule    int // its index
	Hit     Hit
	Content any // without what deeper rules select
}

// Division is a document, divided among rules.
type Division struct {
	Nodes []*Node // in the order of the rules and of the document
	Rest  any     // what no rule selects
}

// Divide gives each rule its nodes: of rules that select the same one, the first has it. Its error is a *ConflictError or a *DocumentError; isNew is
// for the latter.
func Divide(list []Rule, document any, isNew bool) (*Division, error) {
	if err := Check(list); err != nil {
		return nil, err
	}
	d := &Division{}
	known := map[string]bool{}
	selected := map[string]bool{} // by where they are
	for i, r := range list {
		hits, err := r.Selector.Hits(document, r.Ordered)
		if e, ok := err.(*NodeError); ok {
			return nil, &DocumentError{i, isNew, e}
		}
		for _, h := range hits {
			if known[h.id] {
				continue
			}
			known[h.id] = true
			d.Nodes = append(d.Nodes, &Node{Rule: i, Hit: h})
			selected[placeKey("", h.At...)] = true
		}
	}
	for _, n := range d.Nodes {
		n.Content = without(n.Hit.Node, placeKey("", n.Hit.At...), selected)
		n.Hit.Around = without(n.Hit.Parent, placeKey("", n.Hit.parentAt...), selected)
	}
	d.Rest = without(document, "", selected)
	return d, nil
}

// byID finds nodes by what tells them apart.
func byID(nodes []*Node) map[string]*Node {
	out := make(map[string]*Node, len(nodes))
	for _, n := range nodes {
		out[n.Hit.id] = n
	}
	return out
}

// ID tells a node apart from all others of a document, whatever rule selects it.
func (h *Hit) ID() string { return h.id }

// Without gives a document without the nodes that selectors select.
func Without(document any, selectors []Selector) (any, error) {
	selected := map[string]bool{}
	for _, s := range selectors {
		hits, err := s.Hits(document, true)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s, err)
		}
		for _, h := range hits {
			selected[placeKey("", h.At...)] = true
		}
	}
	return without(document, "", selected), nil
}

// WithoutNodes gives a document without some of its nodes.
func WithoutNodes(document any, nodes []*Node) any {
	if len(nodes) == 0 {
		return document
	}
	selected := map[string]bool{}
	for _, n := range nodes {
		selected[placeKey("", n.Hit.At...)] = true
	}
	return without(document, "", selected)
}

// Stored is a node as it is remembered, as plain data. Its numbers are written as they are.
type Stored struct {
	ID      string         `json:"id"`
	Kinds   string         `json:"kinds"`
	Name    string         `json:"name,omitempty"`
	Path    map[string]any `json:"path,omitempty"`
	Parent  any            `json:"parent,omitempty"` // without what rules select
	Node    any            `json:"node"`
	Content any            `json:"content,omitempty"` // none: it is the node
	Order   int            `json:"order,omitempty"`
}

// Store gives what is remembered of a node.
func (n *Node) Store() Stored {
	s := Stored{ID: n.Hit.id, Kinds: n.Hit.kinds, Name: n.Hit.Name, Path: n.Hit.Path, Parent: n.Hit.Around, Node: n.Hit.Node, Order: n.Hit.order}
	if len(differences(nil, n.Content, n.Hit.Node)) > 0 {
		s.Content = n.Content
	}
	return s
}

// Restore gives the node of a rule as it was remembered.
func (s *Stored) Restore(rule int) *Node {
	n := &Node{Rule: rule, Content: s.Content,
		Hit: Hit{Name: s.Name, Path: s.Path, Parent: s.Parent, Around: s.Parent, Node: s.Node, id: s.ID, kinds: s.Kinds, order: s.Order}}
	if n.Content == nil {
		n.Content = s.Node
	}
	return n
}

// Named gives of what is there what the wanted node names, or has named the last time.
func Named(there, wanted, last any) any {
	if s, ok := wanted.(Secret); ok {
		wanted = s.Value
	}
	fields, ok := there.(map[string]any)
	if !ok {
		return there
	}
	now, isMap := wanted.(map[string]any)
	before, _ := last.(map[string]any)
	if !isMap {
		return there
	}
	out := make(map[string]any, len(fields))
	for name, v := range fields {
		_, inNow := now[name]
		_, inBefore := before[name]
		if inNow || inBefore {
			out[name] = Named(v, now[name], before[name])
		}
	}
	return out
}

func placeKey(key string, steps ...string) string {
	for _, s := range steps {
		key += strconv.Quote(s)
	}
	return key
}

// without gives a value without the nodes below it that are selected.
func without(v any, at string, selected map[string]bool) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			if key := placeKey(at, name); !selected[key] {
				out[name] = without(e, key, selected)
			}
		}
		return out
	case []any:
		out := []any{}
		for i, e := range v {
			if key := placeKey(at, strconv.Itoa(i)); !selected[key] {
				out = append(out, without(e, key, selected))
			}
		}
		return out
	}
	return v
}
