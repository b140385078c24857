package graph_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// wish is one declaration of a random site, in the words of the checker.
type wish struct {
	name                        string // its address
	lazy, defers, out           bool
	runOf                       string
	requires, notifies, follows []string
}

// randomSite draws states, handlers that notify, require and follow further ones, and
// runs. Neither requirements with what is followed nor notifications have a cycle; their
// order has nothing to do with that of declarations.
func randomSite(t *rapid.T) []wish {
	n := rapid.IntRange(2, 10).Draw(t, "declarations")
	list := make([]wish, n)
	rank := rapid.Permutation(numbers(n)).Draw(t, "rank")   // requires go down
	level := rapid.Permutation(numbers(n)).Draw(t, "level") // notifications go up
	for i := range list {
		w := &list[i]
		w.name = fmt.Sprintf("state.s%d", i)
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0, 1, 2:
			w.lazy = true
		case 3:
			w.lazy, w.defers = true, rapid.Bool().Draw(t, "deferred")
		case 4:
			if i > 0 && list[i-1].runOf == "" && !list[i-1].defers {
				w.name, w.runOf = fmt.Sprintf("run.r%d", i), list[i-1].name
				rank[i], level[i] = rank[i-1], level[i-1]
			}
		case 5:
			w.out = rapid.IntRange(0, 3).Draw(t, "out") == 0
		}
	}
	for i := range list {
		for k := range list {
			to := list[k]
			if rank[k] < rank[i] && !to.defers && to.name != list[i].runOf && rapid.IntRange(0, 5).Draw(t, "requires") == 0 {
				list[i].requires = append(list[i].requires, to.name)
			}
			if rank[k] < rank[i] && !to.defers && to.name != list[i].runOf && rapid.IntRange(0, 7).Draw(t, "follows") == 0 {
				list[i].follows = append(list[i].follows, to.name)
			}
			if level[k] > level[i] && to.runOf == "" && rapid.IntRange(0, 4).Draw(t, "notifies") == 0 && (to.lazy || rapid.IntRange(0, 4).Draw(t, "eager") == 0) {
				list[i].notifies = append(list[i].notifies, to.name)
			}
		}
	}
	return list
}

func numbers(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// declare turns wishes into declarations.
func declare(list []wish) *site {
	s := newSite()
	for _, w := range list {
		name := strings.SplitN(w.name, ".", 2)[1]
		o := []option{require(w.requires...), notify(w.notifies...), follows(w.follows...)}
		if w.lazy {
			o = append(o, lazy)
		}
		if w.defers {
			o = append(o, deferred)
		}
		if w.out {
			o = append(o, leftOut)
		}
		if w.runOf != "" {
			s.run(name, w.runOf, append(o, parts(command(name)))...)
		} else {
			s.state(name, o...)
		}
	}
	return s
}

func TestProperties(t *testing.T) {
	compiled, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		list := randomSite(t)
		s := declare(list)
		r, diags := graph.Compile(&s.Declarations, graph.Options{Registry: s.registry})
		diags = withoutEager(diags)
		if diags.HasErrors() {
			refused++
			checkRefusal(t, list, diags)
			return
		}
		compiled++
		c := check(r.Run, list)
		c.properties(t, diags)
		handlersRequire := slices.ContainsFunc(list, func(w wish) bool { return len(w.requires) > 0 && handles(list, w.name) })
		if !handlersRequire && len(diags) > 0 {
			t.Errorf("a wait gives way, though no handler requires anything: %v", diags)
		}
	})
	if refused > compiled/10 {
		t.Errorf("%d sites compile, and %d do not", compiled, refused)
	}
}

// withoutEager leaves out the warnings of states that are notified, and not lazy.
func withoutEager(list diag.List) diag.List {
	return slices.DeleteFunc(slices.Clone(list), func(d diag.Diagnostic) bool {
		return strings.HasSuffix(d.Summary, "is notified, and runs without that, too")
	})
}

// checkRefusal holds an error to be one that `follows` alone can make here: a handler is
// followed by what notifies a handler that is followed in its turn.
func checkRefusal(t *rapid.T, list []wish, diags diag.List) {
	for _, d := range diags {
		if d.Severity == diag.Error && (!strings.HasPrefix(d.Summary, "a cycle of") || !strings.Contains(d.Detail, " follows ") || !strings.Contains(d.Detail, "is notified by")) {
			t.Errorf("%v", d)
		}
	}
	if slices.ContainsFunc(list, func(w wish) bool { return w.out }) {
		return // what is left out may hand on a handler
	}
	for i := range list {
		list[i].follows = slices.DeleteFunc(list[i].follows, func(to string) bool { return handles(list, to) })
	}
	s := declare(list)
	if _, diags := graph.Compile(&s.Declarations, graph.Options{Registry: s.registry}); diags.HasErrors() {
		t.Errorf("though no handler is followed: %v", diags)
	}
}

// handles reports whether something notifies a declaration.
func handles(list []wish, name string) bool {
	return slices.ContainsFunc(list, func(w wish) bool { return slices.Contains(w.notifies, name) })
}

// TestSameBytes checks 5, and that listen is the inverse of notify: the order
// in lists, the side on which a notification is written, the names of files and
// the addresses in memory do not matter.
func TestSameBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := randomSite(t)
		first := bytesOf(t, declare(list))
		other := slices.Clone(list)
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		for i := range other {
			other[i].requires, other[i].notifies = slices.Clone(list[i].requires), slices.Clone(list[i].notifies)
			other[i].follows = slices.Clone(list[i].follows)
			shuffle(random, other[i].follows)
			shuffle(random, other[i].requires)
			shuffle(random, other[i].notifies)
		}
		s := declare(other)
		for i := range s.List {
			d := &s.List[i]
			d.File = "other.hcl"
			d.Options.Notify = slices.DeleteFunc(d.Options.Notify, func(r states.Ref) bool {
				if random.IntN(2) == 0 {
					return false
				}
				for k := range s.List {
					if s.List[k].Address == r.Address && s.List[k].Lazy {
						s.List[k].Options.Listen = append(s.List[k].Options.Listen, ref(d.Address))
						return true
					}
				}
				return false
			})
		}
		if second := bytesOf(t, s); !bytes.Equal(first, second) {
			t.Errorf("differs:\n%s\n%s", first, second)
		}
	})
}

func shuffle(r *rand.Rand, list []string) {
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

func bytesOf(t *rapid.T, s *site) []byte {
	r, diags := graph.Compile(&s.Declarations, graph.Options{Registry: s.registry})
	if diags.HasErrors() {
		return []byte(diags.Err().Error())
	}
	data, err := json.MarshalIndent(r.Run, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return data
}
