package deploy

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/lang/site"
)

// A host that reads what another one gives begins once that is there, and is evaluated again when it changes.
func TestOutputs(t *testing.T) {
	p := newPlace(t, "db1", "web1")
	s := shop("one", "db1", "web1")
	s.Rollout, s.Reads = &site.Rollout{}, map[string]string{"web1": "db1"}
	d := p.deploy(s, Request{})
	p.settle()
	web := func() *Host { return p.get(d.ID).Hosts[1] }
	if w := web(); w.Why.Code != CodeOutput || w.Turn != 0 || len(p.assigned()) != 1 {
		t.Fatalf("it does not wait: %+v, %d targets", w, len(p.assigned()))
	}
	p.expect(d.ID, Done, "")
	p.give(p.id("db1"), "80") // what it waits for is not gathered
	p.settle()
	if w := web(); w.State != "ready" || len(p.assigned()) != 2 {
		t.Fatalf("it has not begun: %+v, %d targets", w, len(p.assigned()))
	}
	asked := p.asked
	p.give(p.id("db1"), "80")
	p.now = p.now.Add(Between)
	p.settle()
	if p.asked != asked {
		t.Error("the same was given, and it was evaluated anew")
	}
	for i := range maxChanges {
		p.give(p.id("db1"), fmt.Sprint(81+i))
		p.settle()
		if len(p.assigned()) != 2+i {
			t.Error("changes are not gathered")
		}
		p.now = p.now.Add(Between)
		p.settle()
		if len(p.assigned()) != 3+i {
			t.Fatalf("change %d: %d targets", i+1, len(p.assigned()))
		}
	}
	p.give(p.id("db1"), "90")
	p.now = p.now.Add(Between)
	p.settle()
	if w := web(); w.Why.Code != CodeUnsteady || w.Why.Ask == "" || len(p.assigned()) != 2+maxChanges {
		t.Fatalf("a person is not asked: %+v, %d targets", w, len(p.assigned()))
	}
	_, err := p.Continue(t.Context(), p.ann, d.ID, "it is moving")
	p.must(err)
	p.settle()
	if w := web(); w.State != "ready" || len(p.assigned()) != 3+maxChanges {
		t.Fatalf("a person lets it pass: %+v, %d targets", w, len(p.assigned()))
	}
	if _, err := p.Continue(t.Context(), p.ann, d.ID, ""); err == nil {
		t.Error("there is nothing to be continued")
	}
	s.Content = "two" // another revision counts anew
	d = p.deploy(s, Request{})
	p.settle()
	if w := web(); w.State != "ready" {
		t.Errorf("in the next revision: %+v", w)
	}
}

// Hosts that read what they give one another are refused, before anything begins.
func TestOutputCycle(t *testing.T) {
	p := newPlace(t, "db1", "db2", "web1")
	s := shop("one", "db1", "db2", "web1")
	s.Reads = map[string]string{"db1": "db2", "db2": "db1", "web1": "db1"}
	d := p.deploy(s, Request{})
	p.settle()
	if got := p.expect(d.ID, Failed, CodeCycle).Why.Text; got != "hosts read what they give one another: db1, which reads of db2, which reads of db1" {
		t.Error(got)
	}
	if len(p.assigned()) > 0 {
		t.Error("something has begun")
	}
}

// A cycle is found exactly where there is one.
func TestCycle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a", "b", "c", "d", "e"}
		reads := map[string][]string{}
		for _, n := range names {
			reads[n] = rapid.SliceOfNDistinct(rapid.SampledFrom(append(names, "elsewhere")), 0, 2, rapid.ID[string]).Draw(t, n)
		}
		found := cycle(reads)
		for i := range len(found) - 1 {
			if !slices.Contains(reads[found[i]], found[i+1]) {
				t.Fatalf("%v: %s does not read of %s", found, found[i], found[i+1])
			}
		}
		if found != nil && (len(found) < 2 || found[0] != found[len(found)-1]) {
			t.Fatalf("%v is none", found)
		}
		left := slices.Clone(names) // those that read of nobody that is left go, until none does
		for range names {
			left = slices.DeleteFunc(left, func(n string) bool {
				return !slices.ContainsFunc(reads[n], func(g string) bool { return slices.Contains(left, g) })
			})
		}
		if (len(left) > 0) != (found != nil) {
			t.Fatalf("%v are in cycles or read of them, and found was %v", left, found)
		}
	})
}
