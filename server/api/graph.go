package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/states"
)

// HostGraph is what is wanted of a host for a site, for drawing: no values, and what comes before what.
type HostGraph struct {
	Site     string `json:"site"`
	Revision int64  `json:"revision" doc:"Of the site."`
	StateRun string `json:"state_run" doc:"The revision of the StateRun, as runs name it."`
	Target   bool   `json:"target" doc:"It is what is wanted now. Else what the site has read of hosts was otherwise since, and the target is about to change."`
	Nodes    int    `json:"nodes" doc:"How many nodes there are in all."`
	// Shown and Arrows are the part that was asked for.
	Shown  []states.OutlineNode  `json:"shown" nullable:"false" doc:"Invocations, blocks and joins, in the order of the run; of those that were asked for."`
	Arrows []states.OutlineArrow `json:"arrows" nullable:"false" doc:"Between those that are shown."`
}

type graphInput struct {
	HostName
	Site     string `path:"site" maxLength:"200" doc:"The name of the site."`
	Around   string `query:"around" maxLength:"1000" doc:"Only what comes before and after this node, or the node of this part: why it runs, and what it lets run."`
	Depth    int    `query:"depth" minimum:"1" maximum:"100" default:"1" doc:"With around: how many steps away."`
	Contains string `query:"contains" maxLength:"200" doc:"Only nodes with this in an address or the key of a part; capital letters count as small ones."`
	Limit    int    `query:"limit" minimum:"1" maximum:"100000" default:"20000" doc:"How many nodes at most: the first ones."`
}

type graphOutput struct{ Body HostGraph }

func (a *API) registerGraph() {
	Register(a, Operation{ID: "show-host-graph", Method: http.MethodGet, Path: "/v1/hosts/{id}/sites/{site}/graph", Tag: "hosts", Scope: Somewhere, Verb: access.Read, Summary: "Show what is wanted of a host as a graph.",
		Description: "Invocations with their parts, blocks and joins, and what comes before what; without values. What was evaluated elsewhere the server cannot read.",
		Codes:       []string{access.CodeNotFound, access.CodeForbidden, access.CodeTooMany}}, a.hostGraph)
}

func (a *API) hostGraph(ctx context.Context, c *access.Caller, in *graphInput) (*graphOutput, error) {
	s, err := a.deployments()
	if err != nil {
		return nil, err
	}
	h, err := a.host(ctx, c, access.Read, in.ID)
	if err != nil {
		return nil, err
	}
	if !c.May(access.Read, h.Target(), in.Site) {
		return nil, &diag.HintError{Code: access.CodeNotFound, Message: "nothing of such a site is wanted of the host, or nothing that you may see"}
	}
	done, err := a.graphTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	g, err := s.Graph(ctx, h.ID, in.Site)
	if err != nil {
		return nil, err
	}
	out := HostGraph{Site: in.Site, Revision: g.Revision, StateRun: g.Outline.Revision, Target: g.IsTarget, Nodes: len(g.Nodes)}
	out.Shown, out.Arrows = in.choose(g.Outline)
	return &graphOutput{out}, nil
}

// A graph takes up to 64 MiB as text, and more once it is read: so many are read at once.
const graphsAtOnce = 2

// graphTurn waits until one more graph may be read.
func (a *API) graphTurn(ctx context.Context) (done func(), err error) {
	waiting, stop := context.WithTimeout(ctx, a.patience)
	defer stop()
	if done, err = a.graphs.Take(waiting); err != nil && ctx.Err() == nil {
		err = &diag.HintError{Code: access.CodeTooMany, Message: fmt.Sprintf("the server reads %d graphs of hosts at once, and others are before this one", graphsAtOnce), Hint: "try again later"}
	}
	return done, err
}

// choose gives the part of a graph that was asked for.
func (in *graphInput) choose(o *states.Outline) ([]states.OutlineNode, []states.OutlineArrow) {
	nodes, arrows := []states.OutlineNode{}, []states.OutlineArrow{}
	near := in.near(o)
	shown := map[string]bool{}
	for i := range o.Nodes {
		n := &o.Nodes[i]
		if len(nodes) < in.Limit && (near == nil || near[n.Address]) && in.contains(n) {
			nodes = append(nodes, *n)
			shown[n.Address] = true
		}
	}
	for _, one := range o.Arrows {
		if shown[one.From] && shown[one.To] {
			arrows = append(arrows, one)
		}
	}
	return nodes, arrows
}

// near gives the nodes around the one that was asked for, itself among them; nil: none was. Ways that turn round lead nowhere: what else comes after
// something that comes before says nothing of a node.
func (in *graphInput) near(o *states.Outline) map[string]bool {
	if in.Around == "" {
		return nil
	}
	before, after := map[string][]string{}, map[string][]string{}
	for _, one := range o.Arrows {
		before[one.To] = append(before[one.To], one.From)
		after[one.From] = append(after[one.From], one.To)
	}
	begin := []string{}
	for i := range o.Nodes {
		n := &o.Nodes[i]
		if isNamed(n.Address, in.Around) || slices.ContainsFunc(n.Parts, func(p states.OutlinePart) bool { return isNamed(p.Address, in.Around) }) {
			begin = append(begin, n.Address)
		}
	}
	near := map[string]bool{}
	for _, next := range []map[string][]string{before, after} {
		walk(begin, next, in.Depth, near)
	}
	return near
}

// isNamed tells whether an address is the one that is asked for, with or without its wave.
func isNamed(address, asked string) bool {
	return address == asked || states.WithoutWave(address) == asked
}

// walk notes what is reached in so many steps.
func walk(begin []string, next map[string][]string, depth int, into map[string]bool) {
	seen := map[string]bool{}
	for range depth + 1 {
		var further []string
		for _, at := range begin {
			if !seen[at] {
				seen[at], into[at] = true, true
				further = append(further, next[at]...)
			}
		}
		begin = further
	}
}

func (in *graphInput) contains(n *states.OutlineNode) bool {
	text := strings.ToLower(in.Contains)
	has := func(in string) bool { return strings.Contains(strings.ToLower(in), text) }
	return text == "" || has(n.Address) || slices.ContainsFunc(n.Parts, func(p states.OutlinePart) bool { return has(p.Address) || has(p.Key) })
}
