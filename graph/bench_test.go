package graph_test

import (
	"fmt"
	"testing"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/states"
)

// manyFiles is a site of top-level files that all notify one handler, each
// tenth of which requires the one before it.
func manyFiles(n int) *site {
	s := newSite()
	s.state("h", lazy)
	for i := range n {
		o := []option{notify("state.h")}
		if i%10 == 9 {
			o = append(o, require(s.List[i].Address))
		}
		s.top(resource("file", fmt.Sprintf("/etc/many/%d/%d", i/100, i), "x"), o...)
	}
	return s
}

// bigState is one state with n parts.
func bigState(n int) *site {
	s := newSite()
	list := parts()
	s.state("big", list, func(d *states.Declaration) {
		for i := range n {
			d.Parts = append(d.Parts, resource("file", fmt.Sprintf("/etc/many/%d", i), "x"))
		}
	})
	return s
}

// chain is n states of which each requires the one before and notifies a
// handler: as many waves as states.
func chain(n int) *site {
	s := newSite()
	s.state("h", lazy)
	s.state("s0", notify("state.h"))
	for i := range n {
		s.state(fmt.Sprintf("s%d", i+1), require(fmt.Sprintf("state.s%d", i)), notify("state.h"))
	}
	return s
}

func BenchmarkCompile(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		for name, of := range map[string]func(int) *site{"files": manyFiles, "state": bigState, "chain": chain} {
			s := of(n)
			b.Run(fmt.Sprintf("%s-%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, diags := graph.Compile(&s.Declarations, graph.Options{Registry: s.registry}); diags.HasErrors() {
						b.Fatal(diags)
					}
				}
			})
		}
	}
}
