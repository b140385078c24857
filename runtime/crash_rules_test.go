package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/runtime/host"
)

// Rules on a host whose processes die. The data are switches with VLANs, which are files there.

// network is a document: names of VLANs by switch and number.
type network map[string]map[string]string

// document gives it as a value of the language, with its elements in that order.
func (n network) document() string {
	var b strings.Builder
	b.WriteString("{ switches = [")
	for _, s := range slices.Sorted(maps.Keys(n)) {
		fmt.Fprintf(&b, "{ name = %q, vlans = [", s)
		for _, v := range slices.Sorted(maps.Keys(n[s])) {
			fmt.Fprintf(&b, "{ id = %s, name = %q },", v, n[s][v])
		}
		b.WriteString("] },")
	}
	b.WriteString("] }")
	return b.String()
}

// files is the host as it is when the network is as the document says.
func (n network) files() map[string]string {
	files := map[string]string{}
	for s, vlans := range n {
		files["/sw/"+s] = "up"
		for v, name := range vlans {
			files["/vlan/"+s+"-"+v] = name
		}
	}
	return files
}

// kind is how rules are written.
type ruleKind struct {
	retrieves bool // what is there, and do not go by what was last converged
	commands  bool // act by commands, and not by files
	replaces  bool // delete and create in place of an update
	parallel  bool
	purges    bool // what it finds
	hides     bool // the names of VLANs are sensitive
}

func (k ruleKind) site(n network) string {
	set := func(name, path, text string) string {
		if k.commands {
			return fmt.Sprintf("state %q {\n param \"node\" {}\n param \"path\" {}\n command \"do\" {\n argv = [\"set\", %s, %s]\n }\n }\n", name, path, text)
		}
		return fmt.Sprintf("state %q {\n param \"node\" {}\n param \"path\" {}\n file \"do\" {\n path = %s\n content = %s\n }\n }\n", name, path, text)
	}
	unset := func(name, path string) string {
		if k.commands {
			return fmt.Sprintf("state %q {\n param \"path\" {}\n command \"do\" {\n argv = [\"unset\", %s]\n }\n }\n", name, path)
		}
		return fmt.Sprintf("state %q {\n param \"path\" {}\n file \"do\" {\n path = %s\n ensure = \"absent\"\n }\n }\n", name, path)
	}
	const ofSwitch, ofVLAN = `"/sw/${param.path.switches}"`, `"/vlan/${param.path.switches}-${param.path.vlans}"`
	update := "update = state.vlan\n"
	if k.replaces {
		update = ""
	}
	retrieve := ""
	document := n.document()
	if k.hides {
		document = regexp.MustCompile(`, name = ("\w+") },`).ReplaceAllString(document, ", name = sensitive($1) },")
	}
	text := "site {\n name = \"crash\"\n}\ndata \"network\" {\n value = " + document + "\n}\n" +
		set("switch", ofSwitch, `"up"`) + set("vlan", ofVLAN, "param.node.name") + unset("no_switch", ofSwitch) + unset("no_vlan", ofVLAN) + logs("h", "")
	if k.retrieves {
		retrieve = fmt.Sprintf("purge = %t\n", k.purges)
		text += "state \"show\" {\n command \"show\" {\n argv = [\"show\"]\n plan = true\n }\n}\n"
		retrieve += "retrieve = jsondecode(state.show.command.show.stdout)\n"
	}
	return text + fmt.Sprintf(`
	rule "switch" {
		data     = data.network
		select   = "switches[name]"
		create   = state.switch
		update   = state.switch
		delete   = state.no_switch
		parallel = %t
		%s
	}
	rule "vlan" {
		data     = data.network
		select   = "switches[name].vlans[id]"
		create   = state.vlan
		%s
		delete   = state.no_vlan
		notify   = [state.h]
		parallel = %[1]t
		purge    = %[4]t
	}
	`, k.parallel, retrieve, update, k.retrieves && k.purges)
}

// show answers what is there, in the shape of the document.
func (w *world) show(context.Context, host.Command) (host.Result, error) {
	type vlan struct {
		ID   json.Number `json:"id"`
		Name string      `json:"name"`
	}
	type device struct {
		Name  string `json:"name"`
		Model string `json:"model"` // which nobody wants in particular
		VLANs []vlan `json:"vlans"`
	}
	devices := []device{}
	for path, text := range tree(w.t, w.Memory) {
		if name, ok := strings.CutPrefix(path, "/sw/"); ok && strings.HasSuffix(text, "up") {
			devices = append(devices, device{Name: name, Model: "x"})
		}
	}
	for path, text := range tree(w.t, w.Memory) {
		name, id, ok := strings.Cut(strings.TrimPrefix(path, "/vlan/"), "-")
		i := slices.IndexFunc(devices, func(d device) bool { return d.Name == name })
		if ok && i >= 0 && strings.HasPrefix(path, "/vlan/") {
			devices[i].VLANs = append(devices[i].VLANs, vlan{json.Number(id), plainText(text)})
		}
	}
	answer, err := json.Marshal(map[string]any{"switches": devices})
	return host.Result{Stdout: answer}, err
}

// plainText is what a file holds, as tree tells it.
func plainText(text string) string { return text[strings.LastIndex(text, " ")+1:] }

func drawNetwork(t *rapid.T, label string) network {
	n := network{}
	for _, s := range []string{"a", "b", "c"} {
		if rapid.IntRange(0, 3).Draw(t, label+" has "+s) == 0 {
			continue
		}
		n[s] = map[string]string{}
		for _, v := range []string{"1", "2", "3"} {
			if name := rapid.SampledFrom([]string{"", "office", "guests"}).Draw(t, label+" "+s+v); name != "" {
				n[s][v] = name
			}
		}
	}
	if len(n) == 0 || len(n["a"]) == 0 { // that all is gone has to be said in particular
		n["a"] = map[string]string{"9": "rest"}
	}
	return n
}

// From any document to any other, or back, and however one process after the other ends: the host becomes what the new one says, every handler that was due has
// run, and the apply after that does nothing.
func TestRulesAnyEnd(t *testing.T) {
	rapidtest.For(t, "60")
	rapid.Check(t, func(t *rapid.T) {
		k := ruleKind{retrieves: rapid.Bool().Draw(t, "retrieves"), commands: rapid.Bool().Draw(t, "commands"), replaces: rapid.Bool().Draw(t, "replaces"),
			parallel: rapid.Bool().Draw(t, "parallel"), purges: rapid.Bool().Draw(t, "purges"), hides: rapid.Bool().Draw(t, "hides")}
		before, after := drawNetwork(t, "before"), drawNetwork(t, "after")
		s := &crashSite{name: "rules", text: k.site(before), edited: true, then: k.site(after), rules: []rule{{deed: "/vlan/", handler: "h"}},
			files: map[string]string{"/sw/.keep": "", "/vlan/.keep": ""}}
		s.compile(t)
		w := s.world(t, rapid.SampledFrom([]int{1, 4}).Draw(t, "workers"))
		defer os.RemoveAll(w.state)
		if _, err := w.process(&fate{}); err != nil {
			t.Fatalf("the first apply: %v\n%s", err, w.story())
		}
		if err := w.has(before); err != nil {
			t.Fatalf("after the first apply %v\n%s", err, w.story())
		}
		w.run = s.edit
		if k.retrieves && k.purges {
			w.meddle(t)
		}
		ops := w.disturb(t, true)
		switch rapid.IntRange(0, 3).Draw(t, "in the end") {
		case 0:
			_, _ = w.resume(&fate{}) // a status may be lost
		case 1: // what was begun with a node is known, though it is wanted again as it was before
			after = before
			w.run = s.run
		}
		err := w.recovered()
		if err == nil {
			err = w.has(after)
		}
		if err == nil && k.hides && !k.retrieves { // what a program prints that is not sensitive is kept as its output
			err = w.keepsSecret("office", "guests")
		}
		if err != nil {
			t.Fatalf("%+v from %v to %v, ended at %q: %v\n%s", k, before, after, ops, err, w.story())
		}
	})
}

// disturb has processes begin or go on with the run, one after the other, of which each may die or fail and, with power, the power with it. It gives at which operations.
func (w *world) disturb(t *rapid.T, power bool) (ops []string) {
	for i := range rapid.IntRange(0, 3).Draw(t, "processes") {
		f := drawFate(t)
		if rapid.Bool().Draw(t, "resumes") {
			_, _ = w.resume(f) // the last one tells
		} else {
			_, _ = w.process(f)
		}
		ops = append(ops, f.op)
		if f.died() && power && rapid.Bool().Draw(t, "lost power") {
			lose(rapid.Bool().Draw(t, "host"), rapid.Bool().Draw(t, "journal"))(w, i)
		}
	}
	return ops
}

// meddle adds switches and VLANs that no rule has made, of which some may be wanted.
func (w *world) meddle(t *rapid.T) {
	foreign := drawNetwork(t, "foreign")
	if rapid.Bool().Draw(t, "another switch") {
		foreign["d"] = map[string]string{"1": "office"}
	}
	for path, text := range foreign.files() {
		w.must(w.WriteFile(background, path, host.Text(text), host.Meta{}))
	}
}

// keepsSecret looks for texts in all that runs which have ended well, and what is remembered of nodes, have left in the state folder.
func (w *world) keepsSecret(texts ...string) error {
	return filepath.WalkDir(w.state, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, text := range texts {
			if err == nil && strings.Contains(string(data), text) {
				err = fmt.Errorf("%s has %q", path, text)
			}
		}
		return err
	})
}

// has compares what is there with a network.
func (w *world) has(n network) error {
	want, got := n.files(), map[string]string{}
	for path, text := range tree(w.t, w.Memory) {
		if !strings.HasSuffix(path, "/.keep") && (strings.HasPrefix(path, "/sw/") || strings.HasPrefix(path, "/vlan/")) {
			got[path] = plainText(text)
		}
	}
	if !maps.Equal(want, got) {
		return fmt.Errorf("there is %v, and not %v", got, want)
	}
	return nil
}

// One process dies, the one that goes on with its run finds done what the first has done, records that, and dies; then the host loses power, and
// the records do not: what they say is done has stayed.
func TestRulesFoundDoneIsDurable(t *testing.T) {
	before, after := network{"a": {"1": "office", "2": "office"}, "b": {"1": "lab"}}, network{"a": {"1": "guests"}}
	k := ruleKind{retrieves: true}
	s := &crashSite{name: "rules", text: k.site(before), edited: true, then: k.site(after), rules: []rule{{deed: "/vlan/", handler: "h"}},
		files: map[string]string{"/sw/.keep": "", "/vlan/.keep": ""}}
	s.compile(t)
	trial := func(first, second int) (met bool) {
		w := s.world(t, 1)
		defer os.RemoveAll(w.state)
		_, err := w.process(&fate{})
		w.must(err)
		w.run = s.edit
		f, g := &fate{at: first, how: dies}, &fate{at: second, how: dies}
		_, _ = w.process(f) // dead
		_, _ = w.resume(g)  // dead
		lose(true, false)(w, first)
		if err = w.recovered(); err == nil {
			err = w.has(after)
		}
		if err != nil {
			t.Fatalf("dead at operations %d, %s, and %d, %s: %v\n%s", first, f.op, second, g.op, err, w.story())
		}
		return f.met()
	}
	step := 31
	if *all {
		step = 1
	}
	for first := 1; trial(first, 1); first++ {
		for second := 2 + first%step; second < 90; second += step {
			trial(first, second)
		}
	}
}
