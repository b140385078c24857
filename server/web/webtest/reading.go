package webtest

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
)

// Spoken is something of a page as a screen reader has it.
type Spoken struct {
	Role, Name string
	Level      int    // of a heading
	Live       string // when a change of it is said: polite, assertive, or empty
	IsControl  bool   // it can be pressed or filled in
}

// Reading gives what a tab shows in the order in which it is read, from the tree that the browser gives to assistive technology.
func Reading(tab context.Context) ([]Spoken, error) {
	var nodes []*accessibility.Node
	err := chromedp.Do(tab, chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		tree, err := chromedp.Call(ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		nodes = tree.Nodes
		return err
	}))
	if err != nil || len(nodes) == 0 {
		return nil, err
	}
	byID := map[accessibility.NodeID]*accessibility.Node{}
	for _, n := range nodes {
		byID[n.NodeID] = n
	}
	var list []Spoken
	var walk func(n *accessibility.Node) error
	walk = func(n *accessibility.Node) error {
		if !n.Ignored {
			s, err := spokenOf(n)
			if err != nil {
				return err
			}
			list = append(list, s)
		}
		for _, id := range n.ChildIDs {
			if child := byID[id]; child != nil {
				if err := walk(child); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return list, walk(nodes[0])
}

func spokenOf(n *accessibility.Node) (s Spoken, err error) {
	read := func(v *accessibility.Value, out any) {
		if err == nil && v != nil && len(v.Value) > 0 {
			err = json.Unmarshal(v.Value, out)
		}
	}
	read(n.Role, &s.Role)
	read(n.Name, &s.Name)
	for _, p := range n.Properties {
		switch p.Name {
		case "level":
			read(p.Value, &s.Level)
		case "live":
			read(p.Value, &s.Live)
		}
	}
	s.IsControl = slices.Contains([]string{"button", "link", "textbox", "searchbox", "combobox", "listbox", "checkbox", "radio", "DisclosureTriangle"}, s.Role)
	return s, err
}
