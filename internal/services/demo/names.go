package demo

import (
	"fmt"
	"slices"
	"strings"
)

// machine is a simulated machine by what it is for.
type machine struct {
	name   string
	labels map[string]string
}

// first are the kinds of the first machines: of few there are those that show the most.
const first = "web web build edge edge edge db lb legacy mon web web lb build mon db web web web web"

// others are the kinds of all further ones, again and again.
const others = "web web web build web db web lb web mon"

// machinesFor names so many machines.
func machinesFor(count int) []machine {
	kinds := strings.Fields(first)
	for len(kinds) < count {
		kinds = append(kinds, strings.Fields(others)...)
	}
	numbers := map[string]int{}
	var all []machine
	for _, kind := range kinds[:count] {
		numbers[kind]++
		n := numbers[kind]
		env := "prod"
		if n%4 == 0 {
			env = "staging"
		}
		all = append(all, machine{fmt.Sprintf("%s%d", kind, n), map[string]string{"role": roleOf(kind), "zone": zones()[n%len(zones())], "env": env}})
	}
	return all
}

func zones() []string { return []string{"fra1", "fra2", "ber1"} }

// roleOf is the label of a kind of machine.
func roleOf(kind string) string {
	for _, pair := range []struct{ kind, role string }{{"lb", "proxy"}, {"db", "database"}, {"mon", "monitoring"}, {"edge", "bench"}} {
		if pair.kind == kind {
			return pair.role
		}
	}
	return kind
}

// kindOf is the kind of a machine by its name.
func kindOf(name string) string { return strings.TrimRight(name, "0123456789") }

// named gives the names of machines of some kinds, in the order in which they were made; no kind: of all.
func named(all []machine, kinds ...string) (names []string) {
	for _, m := range all {
		if len(kinds) == 0 || slices.Contains(kinds, kindOf(m.name)) {
			names = append(names, m.name)
		}
	}
	return names
}
