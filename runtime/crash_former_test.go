package runtime_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/runtime/host"
)

// json gives the network as a document.
func (n network) json(t failer) []byte {
	type vlan struct {
		ID   json.Number `json:"id"`
		Name string      `json:"name"`
	}
	type device struct {
		Name  string `json:"name"`
		VLANs []vlan `json:"vlans"`
	}
	list := []device{}
	for _, s := range slices.Sorted(maps.Keys(n)) {
		d := device{Name: s}
		for _, v := range slices.Sorted(maps.Keys(n[s])) {
			d.VLANs = append(d.VLANs, vlan{json.Number(v), n[s][v]})
		}
		list = append(list, d)
	}
	data, err := json.Marshal(map[string]any{"switches": list})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// becomes makes the host what a network says, behind the back of everybody.
func (w *world) becomes(n network) {
	for path := range tree(w.t, w.Memory) {
		if !strings.HasSuffix(path, "/.keep") && (strings.HasPrefix(path, "/sw/") || strings.HasPrefix(path, "/vlan/")) {
			w.must(w.Remove(path))
		}
	}
	for path, text := range n.files() {
		w.must(w.WriteFile(background, path, host.Text(text), host.Meta{}))
	}
}

// A host that remembers nothing, or something that is true no more, is told what was there: however one process after the other ends, it becomes what is
// wanted, and whoever does not tell it again finds nothing to do. A run that goes on after its death needs to be told nothing, either; of what is seen by none to
// end well the next apply makes sure.
func TestFormerAnyEnd(t *testing.T) {
	rapidtest.For(t, "60")
	rapid.Check(t, func(t *rapid.T) {
		k := ruleKind{retrieves: rapid.Bool().Draw(t, "retrieves"), commands: rapid.Bool().Draw(t, "commands"), replaces: rapid.Bool().Draw(t, "replaces"),
			parallel: rapid.Bool().Draw(t, "parallel"), hides: rapid.Bool().Draw(t, "hides")}
		past, before, after := drawNetwork(t, "past"), drawNetwork(t, "before"), drawNetwork(t, "after")
		s := &crashSite{name: "rules", text: k.site(past), edited: true, then: k.site(after), files: map[string]string{"/sw/.keep": "", "/vlan/.keep": ""}}
		s.compile(t)
		told := compileFor(t, registry(), fstest.MapFS{"site.hcl": {Data: []byte(k.site(after))}},
			lang.Target{Host: "host", Former: []lang.DataFile{{Name: "network", File: "before.json", Data: before.json(t)}}}).Run
		w := s.world(t, rapid.SampledFrom([]int{1, 4}).Draw(t, "workers"))
		defer os.RemoveAll(w.state)
		if rapid.Bool().Draw(t, "has a past") {
			if _, err := w.process(&fate{}); err != nil {
				t.Fatalf("the first apply: %v\n%s", err, w.story())
			}
		}
		w.becomes(before)
		w.run = told
		ops := w.disturb(t, true)
		err := w.endFormer(s, rapid.Bool().Draw(t, "the last one resumes"))
		if err == nil {
			err = w.has(after)
		}
		if err == nil && k.hides && !k.retrieves {
			err = w.keepsSecret("office", "guests")
		}
		if err != nil {
			t.Fatalf("%+v from %v, told to be %v, to %v, ended at %q: %v\n%s", k, past, before, after, ops, err, w.story())
		}
	})
}

// endFormer carries out undisturbed what is told of a former document, and then what is not.
func (w *world) endFormer(s *crashSite, resumes bool) error {
	hasEnded := false
	if resumes {
		_, err := w.resume(&fate{}) // a status may be lost
		hasEnded = err == nil
	}
	wasResumed := hasEnded
	if !hasEnded {
		if _, err := w.process(&fate{}); err != nil {
			return err
		}
	}
	w.run = s.edit
	before := len(w.history)
	result, err := w.process(&fate{})
	if err == nil && !wasResumed && (result.Counts.Changed > 0 || len(w.history) > before) {
		return fmt.Errorf("the apply without the former document has changed something: %+v", result.Counts)
	}
	if err != nil {
		return err
	}
	return w.recovered()
}
