package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/runtime/channel"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/runtime/wire"
)

// loggedIDs lists what a log has of requests. Each of its lines has to be whole.
func loggedIDs(t interface{ Fatalf(string, ...any) }, in folder) map[string]bool {
	ids := map[string]bool{}
	for _, name := range []string{formerName, requestsName} {
		data, _ := readFile(in, name) // there may be none
		for _, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
			var r struct{ ID string }
			if line == "" {
				continue
			}
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatalf("a line of %s: %v: %q", name, err, line)
			}
			ids[r.ID] = true
		}
	}
	return ids
}

// Wherever the power is cut: what was begun stands in the log, as whole lines, until a file of newer ones has taken its place.
func TestRequestsAfterTheLossOfPower(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		d := newDisk()
		var asked []string // the ids of all requests, in their order
		begun := map[string]bool{}
		for range rapid.IntRange(1, 5).Draw(t, "lives") {
			d.cutAt = rapid.IntRange(1, 30).Draw(t, "cut")
			in, _ := d.open("agent")
			l, err := openRequests(in)
			for range rapid.IntRange(1, 10).Draw(t, "requests") {
				if err != nil {
					break
				}
				l.limit = 600
				id := trust.NewRequestID()
				asked = append(asked, id)
				if err = l.begin(channel.Asked{ID: id, Verb: channel.VerbOf(wire.OpApply), Operator: strings.Repeat("é", 1000)}); err == nil {
					begun[id] = true
				}
			}
			if err != nil && !errors.Is(err, errDead) {
				t.Fatalf("%v", err)
			}
			d = d.restart(rng)
		}
		in, _ := d.open("agent")
		if _, err := openRequests(in); err != nil {
			t.Fatalf("%v", err)
		}
		ids := loggedIDs(t, in)
		newer := 0 // that are in the log. Two fill a file, also where the power was cut after one of them was written
		for _, id := range slices.Backward(asked) {
			if begun[id] && !ids[id] && newer < 2 {
				t.Fatalf("the request %s was begun, and is in no log: %d are, %d newer ones", id, len(ids), newer)
			}
			if ids[id] {
				newer++
			}
		}
	})
}

// The log is bounded, and what only reads is not in it.
func TestRequestsAreBounded(t *testing.T) {
	d := newDisk()
	in, _ := d.open("agent")
	l, err := openRequests(in)
	if err != nil {
		t.Fatal(err)
	}
	l.limit = 10 << 10
	for n := range 500 {
		for _, verb := range []trust.Verb{channel.Open, channel.VerbOf(wire.OpPing), channel.VerbOf(wire.OpExec)} {
			if err := l.begin(channel.Asked{ID: fmt.Sprint(verb, n), Verb: verb, Operator: strings.Repeat("x", 1<<20)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	size := 0
	for _, node := range d.folders["agent"].files {
		size += len(node.data)
	}
	ids := loggedIDs(t, in)
	if size > 25<<10 || len(ids) < 20 || !ids["exec499"] {
		t.Errorf("%d requests in %d bytes", len(ids), size)
	}
	for id := range ids {
		if !strings.HasPrefix(id, "exec") {
			t.Errorf("%s is in the log", id)
		}
	}
}
