package graph

import (
	"fmt"
	"slices"
	"strings"

	library "github.com/dominikbraun/graph"

	"github.com/tenetcm/tenet/lang/diag"
)

// link says why one thing comes after another.
type link struct {
	to   int
	verb string // "A requires B": from the later to the earlier
	at   diag.Range
}

// checkDeclared reports the cycles among declared requirements and those among
// notifications, whether anything invokes their members or not.
func (p *planner) checkDeclared() {
	n := len(p.decls)
	address := func(i int) (string, diag.Range) { return p.decls[i].Address, p.decls[i].Range }

	requires := make([][]link, n)
	for i, d := range p.decls {
		for _, r := range d.requires {
			requires[i] = append(requires[i], link{r.to.index, "requires", r.at})
		}
		for _, f := range d.follows {
			requires[i] = append(requires[i], link{f.to.index, "follows", f.at})
		}
		for _, list := range [][]*decl{d.members, d.rescue, d.always} {
			for _, m := range list {
				requires[i] = append(requires[i], link{m.index, "holds", d.Range})
			}
		}
	}
	p.reportCycles("requirements", requires, sortLinks(requires).cyclic, address)

	notifies := make([][]link, n)
	for i, d := range p.decls {
		for _, m := range d.notes {
			notifies[i] = append(notifies[i], link{m.handler.index, "notifies", m.at})
		}
	}
	sorted := sortLinks(notifies)
	p.reportCycles("notifications", notifies, sorted.cyclic, address)
	for _, i := range slices.Backward(sorted.ordered) {
		p.handlers = append(p.handlers, p.decls[i])
	}
}

// linkOrder is the outcome of a topological sort: each after what it links to.
type linkOrder struct{ ordered, cyclic []int }

// sortLinks is Kahn's algorithm, linear: it yields what is on no cycle and
// leads to none first, and leaves the rest.
func sortLinks(links [][]link) linkOrder {
	users := make([][]int, len(links))
	waiting := make([]int, len(links))
	var s linkOrder
	for i, list := range links {
		waiting[i] = len(list)
		for _, l := range list {
			users[l.to] = append(users[l.to], i)
		}
		if len(list) == 0 {
			s.ordered = append(s.ordered, i)
		}
	}
	for next := 0; next < len(s.ordered); next++ {
		for _, u := range users[s.ordered[next]] {
			if waiting[u]--; waiting[u] == 0 {
				s.ordered = append(s.ordered, u)
			}
		}
	}
	for i, w := range waiting {
		if w > 0 {
			s.cyclic = append(s.cyclic, i)
		}
	}
	return s
}

// reportCycles adds an error for each strongly connected component of what
// the sort has left.
func (p *planner) reportCycles(of string, links [][]link, left []int, name func(int) (string, diag.Range)) {
	if len(left) == 0 {
		return
	}
	// From one: the library's search takes the zero value for no vertex.
	g := library.New(library.IntHash, library.Directed())
	for _, i := range left {
		_ = g.AddVertex(i + 1) // each once: cannot fail
	}
	loops := make(map[int]bool)
	for _, i := range left {
		for _, l := range links[i] {
			loops[i] = loops[i] || l.to == i
			_ = g.AddEdge(i+1, l.to+1) // repeats and what the sort has placed are refused, as they should be
		}
	}
	components, err := library.StronglyConnectedComponents(g)
	if err != nil {
		panic("graph: " + err.Error()) // only of undirected graphs
	}
	for _, c := range components {
		for k := range c {
			c[k]--
		}
		slices.Sort(c)
	}
	slices.SortFunc(components, slices.Compare)
	for _, c := range components {
		if len(c) > 1 || loops[c[0]] {
			found := cycle(of, links, c, name)
			found.Severity = diag.Error
			p.reportAlways(found)
		}
	}
}

// maxSteps is how many steps of a cycle are named at its beginning, and at its end.
const maxSteps = 5

// cycle describes a shortest cycle through the first member of a component.
func cycle(of string, links [][]link, members []int, name func(int) (string, diag.Range)) diag.Diagnostic {
	path := shortestCycle(links, members)
	first, _ := name(members[0])
	var text []string
	var related []diag.Related
	for i, l := range path {
		from, place := name(members[0])
		if i > 0 {
			from, place = name(path[i-1].to)
		}
		to, _ := name(l.to)
		step := fmt.Sprintf("%s %s %s", from, l.verb, to)
		if l.at.IsZero() {
			l.at = place
		}
		related = append(related, diag.Related{Message: step, Range: l.at})
		text = append(text, step)
	}
	if left := len(text) - 2*maxSteps; left > 0 { // the first and the last few tell enough
		text = slices.Concat(text[:maxSteps], []string{fmt.Sprintf("… %d more …", left)}, text[len(text)-maxSteps:])
		related = slices.Concat(related[:maxSteps], related[len(related)-maxSteps:])
	}
	d := diag.Diagnostic{
		Summary: fmt.Sprintf("a cycle of %s: %s %s", of, first, map[bool]string{true: "holds itself", false: "comes after itself"}[of == "blocks"]),
		Detail:  strings.Join(text, ", ") + ".",
		Hint:    "take away one of these",
		Range:   related[0].Range,
		Related: related,
	}
	return d
}

// shortestCycle is a breadth-first search from the first member back to it,
// within the members.
func shortestCycle(links [][]link, members []int) []link {
	start := members[0]
	type step struct {
		from int
		by   link
	}
	came := map[int]step{}
	queue := []int{start}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, l := range links[at] {
			if _, member := slices.BinarySearch(members, l.to); !member {
				continue
			}
			if l.to == start {
				path := []link{l}
				for at != start {
					path = append(path, came[at].by)
					at = came[at].from
				}
				slices.Reverse(path)
				return path
			}
			if _, seen := came[l.to]; !seen {
				came[l.to] = step{at, l}
				queue = append(queue, l.to)
			}
		}
	}
	return nil
}
