package graph

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/states"
)

// Arrow is one edge of a drawing, in the direction of time.
type Arrow struct {
	From, To string // addresses of invocations, blocks and joins
	Kind     string // requires, notifies, failure, after or member
}

// Arrows lists the edges of a run in its order.
func Arrows(run *states.StateRun) []Arrow {
	var out []Arrow
	add := func(to, kind string, from []string) {
		for _, f := range from {
			out = append(out, Arrow{f, to, kind})
		}
	}
	of := owners(run)
	for _, i := range run.Invocations {
		add(i.Address, "requires", i.Requires)
		for _, n := range i.NotifiedBy {
			kind := "notifies"
			if n.On == states.OnFailure {
				kind = "failure"
			}
			a := Arrow{of[n.Address], i.Address, kind}
			if len(out) == 0 || out[len(out)-1] != a {
				out = append(out, a)
			}
		}
		add(i.Address, "after", i.After)
	}
	for _, b := range run.Blocks {
		add(b.Address, "requires", b.Requires)
		add(b.Address, "after", b.After)
		add(b.Address, "member", b.Members)
		add(b.Address, "member", b.Rescue)
		add(b.Address, "member", b.Always)
	}
	for _, j := range run.Joins {
		add(j.Address, "after", j.After)
	}
	return out
}

// DOT writes a run in the language of Graphviz. Arrows point in the direction
// of time: what an invocation requires to the invocation (solid), a notifier to
// the handler's wave (dashed; red on failure), order alone (dotted), members to
// their block (without a head).
func DOT(w io.Writer, run *states.StateRun) error {
	out := bufio.NewWriter(w)
	out.WriteString("digraph tenet {\n  rankdir = LR;\n  node [shape = box, style = rounded];\n")
	for _, i := range run.Invocations {
		style := ""
		if i.Handler {
			style = " [style = \"rounded,dashed\"]"
		}
		fmt.Fprintf(out, "  %s%s;\n", dotQuote(i.Address), style)
	}
	for _, b := range run.Blocks {
		fmt.Fprintf(out, "  %s [shape = folder];\n", dotQuote(b.Address))
	}
	for _, j := range run.Joins {
		fmt.Fprintf(out, "  %s [shape = point];\n", dotQuote(j.Address))
	}
	styles := map[string]string{
		"requires": "",
		"notifies": " [style = dashed, label = notifies]",
		"failure":  " [style = dashed, color = red, label = \"on failure\"]",
		"after":    " [style = dotted]",
		"member":   " [arrowhead = none, color = gray]",
	}
	for _, a := range Arrows(run) {
		fmt.Fprintf(out, "  %s -> %s%s;\n", dotQuote(a.From), dotQuote(a.To), styles[a.Kind])
	}
	out.WriteString("}\n")
	return out.Flush()
}

// dotQuote writes a quoted ID: only quotes need an escape, and a backslash
// stands for itself only as an escaped one in labels.
func dotQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// Mermaid writes a run as a Mermaid flowchart, with the arrows of DOT: solid for
// requirements, thick for notifications, dotted for order alone.
func Mermaid(w io.Writer, run *states.StateRun) error {
	out := bufio.NewWriter(w)
	out.WriteString("flowchart LR\n")
	ids := make(map[string]string)
	node := func(address, open, end string) {
		ids[address] = "n" + strconv.Itoa(len(ids)+1)
		fmt.Fprintf(out, "  %s%s\"%s\"%s\n", ids[address], open, mermaidText(address), end)
	}
	for _, i := range run.Invocations {
		if i.Handler {
			node(i.Address, "([", "])")
		} else {
			node(i.Address, "[", "]")
		}
	}
	for _, b := range run.Blocks {
		node(b.Address, "[[", "]]")
	}
	for _, j := range run.Joins {
		node(j.Address, "((", "))")
	}
	styles := map[string]string{
		"requires": "-->", "notifies": "==>|notifies|", "failure": "==>|on failure|", "after": "-.->", "member": "---",
	}
	for _, a := range Arrows(run) {
		fmt.Fprintf(out, "  %s %s %s\n", ids[a.From], styles[a.Kind], ids[a.To])
	}
	return out.Flush()
}

// mermaidText escapes what a quoted label cannot hold, by its entity codes.
func mermaidText(s string) string {
	return strings.NewReplacer(`"`, "#quot;", "#", "#35;", "<", "#lt;", ">", "#gt;", "\n", " ").Replace(s)
}
