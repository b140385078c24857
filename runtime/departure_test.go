package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// A member of a cluster whose rules configure a switch, by a program that the cluster's role brings along.

// benchSwitch is a simulated machine with that switch.
type benchSwitch struct {
	*managedHost
	vlans, saved map[string]string
	calls        []string // of the program
	fails        bool     // it deletes nothing
}

const switchTool = "/sw"

func newBenchSwitch(t testing.TB) *benchSwitch {
	s := &benchSwitch{managedHost: newManaged(t), vlans: map[string]string{}}
	s.Handle("sw", func(_ context.Context, c host.Command) (host.Result, error) {
		s.calls = append(s.calls, strings.Join(c.Argv[1:], " "))
		if _, err := s.Lstat(switchTool); err != nil {
			return host.Result{}, errors.New("the program is gone")
		}
		switch c.Argv[1] {
		case "set":
			s.vlans[c.Argv[2]] = c.Argv[3]
		case "remove":
			if s.fails {
				return host.Result{ExitCode: 1}, nil
			}
			delete(s.vlans, c.Argv[2])
		case "save":
			s.saved = maps.Clone(s.vlans)
		}
		return host.Result{}, nil
	})
	return s
}

// benchSite is a site with the cluster. more is what the deletion has beside its arguments; the rule is the host's own, too, with own.
func benchSite(vlans map[string]string, more string, own bool) string {
	var list strings.Builder
	for _, id := range slices.Sorted(maps.Keys(vlans)) {
		fmt.Fprintf(&list, "{ id = %s, name = %q }, ", id, vlans[id])
	}
	roles := ""
	if own {
		roles = "roles = [\"bench\"]"
	}
	return fmt.Sprintf(`
		site {
			name = "lab"
		}
		host "h" {
			%s
		}
		cluster "bench" {
			hosts = "h"
			roles = ["bench"]
		}
		role "bench" {
			file %q {
				content = "x"
			}
			data "network" {
				value = { leader = try(host.cluster.leader, null), vlans = [%s] }
			}
			rule "vlan" {
				data    = data.network
				select  = "vlans[id]"
				create  = state.set
				update  = state.set
				delete  = state.remove
				notify  = [handler.save]
				require = [file[%[2]q]]
			}
			state "set" {
				param "node" {}
				command "set" {
					argv = ["sw", "set", param.node.id, param.node.name]
				}
			}
			state "remove" {
				param "path" {}
				command "remove" {
					argv = ["sw", "remove", param.path.vlans]
					%[4]s
				}
			}
			handler "save" {
				command "save" {
					argv = ["sw", "save"]
				}
			}
		}
	`, roles, switchTool, list.String(), more)
}

const bareSite = "site {\n name = \"lab\"\n}\nhost \"h\" {}\n"

// runOf compiles a site for the host, be it that it has joined the cluster.
func runOf(t failer, text string, joined bool) *states.StateRun {
	t.Helper()
	target := lang.Target{Host: "h", Clusters: map[string][]string{}}
	if joined {
		target.Clusters["bench"] = []string{"h"}
	}
	return compileFor(t, modules.Standard(), fstest.MapFS{"site.hcl": {Data: []byte(text)}}, target).Run
}

func (s *benchSwitch) run(t *testing.T, run *states.StateRun) outcome {
	t.Helper()
	record, err := s.folder.Start(t.Context(), journal.Meta{Run: run})
	if err != nil {
		t.Fatal(err)
	}
	o := carry(t, runtime.Apply, run, runtime.Options{Host: s.Memory, Journal: record, Past: record.Ledger()})
	if err := record.Finish(journal.End{State: journal.Done}); err != nil {
		t.Fatal(err)
	}
	return o
}

// remembers lists what the machine remembers of rules.
func (s *benchSwitch) remembers(t *testing.T) []string {
	t.Helper()
	past, err := s.folder.Ledger()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(past.Nodes["lab"]))
}

// remainder is what is left of the cluster; empty: nothing.
func (s *benchSwitch) remainder(t *testing.T) string {
	t.Helper()
	if list := s.remembers(t); len(list) > 0 && !slices.Equal(list, []string{"data.network"}) {
		return fmt.Sprint("it remembers ", list)
	}
	if len(s.vlans)+len(s.saved) > 0 || s.holds(t, "lab") != "" || s.memberOf(t) != "" {
		return fmt.Sprintf("it has %v, saved %v, holds %q and is a member of %q", s.vlans, s.saved, s.holds(t, "lab"), s.memberOf(t))
	}
	return ""
}

// Nodes that rules of a cluster have made are deleted by the rule's own state when the machine leaves, though the site declares neither any more:
// before the program goes that does it, and with the handler that this owes.
func TestRulesOfClusterLeave(t *testing.T) {
	s := newBenchSwitch(t)
	site := benchSite(map[string]string{"10": "lab", "20": "dut"}, "", false)
	member := runOf(t, site, true)
	s.run(t, member)
	if len(s.vlans) != 2 || len(s.saved) != 2 {
		t.Fatalf("it has %v, and saved %v", s.vlans, s.saved)
	}
	s.calls = nil
	if s.run(t, member); len(s.calls) > 0 {
		t.Errorf("applied again it calls %v", s.calls)
	}
	left := runOf(t, bareSite, false)
	past, err := s.folder.Ledger()
	if err != nil {
		t.Fatal(err)
	}
	managed, err := s.folder.Managed()
	if err != nil {
		t.Fatal(err)
	}
	plan := carry(t, runtime.Plan, left, runtime.Options{Host: s.Memory, Managed: managed, Past: past})
	if ev := plan.parts[`rule.vlan["10"].delete.command.remove`]; ev.Action != states.Execute || ev.Reason != "it is wanted no more" {
		t.Errorf("the plan says of a node: %s, %s", ev.Action, ev.Reason)
	}
	s.calls, s.fails = nil, true
	s.run(t, left)
	if len(s.vlans) != 2 || s.memberOf(t) != "lab/bench" {
		t.Errorf("nothing can be deleted; it has %v, and is a member of %q", s.vlans, s.memberOf(t))
	}
	s.calls, s.fails = nil, false
	s.run(t, left)
	if got := strings.Join(s.calls, ", "); got != "remove 10, remove 20, save" {
		t.Errorf("it calls %s", got)
	}
	if got := s.remainder(t); got != "" {
		t.Error(got)
	}
	s.calls = nil
	if s.run(t, left); len(s.calls) > 0 {
		t.Errorf("applied again it calls %v", s.calls)
	}
}

// What deletes nodes and cannot be remembered, or is not there, leaves them, and the run says so; what the host's own role has rules for is its.
func TestRulesOfClusterStay(t *testing.T) {
	vlans := map[string]string{"10": "lab"}
	for name, c := range map[string]struct {
		member, left, note string
	}{
		"sensitive": {benchSite(vlans, "sensitive = true", false), bareSite, `kept: rule.vlan["10"] (rule.vlan.delete.command.remove is sensitive)`},
		"no delete": {strings.Replace(benchSite(vlans, "", false), "delete  = state.remove", "", 1), bareSite, `kept: rule.vlan["10"] (the rule has no delete)`},
		"own":       {benchSite(vlans, "", false), benchSite(vlans, "", true), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newBenchSwitch(t)
			s.run(t, runOf(t, c.member, true))
			s.calls = nil
			o := s.run(t, runOf(t, c.left, false))
			if len(s.calls) > 0 || len(s.vlans) != 1 || s.memberOf(t) != "" {
				t.Errorf("it calls %v, has %v, and is a member of %q", s.calls, s.vlans, s.memberOf(t))
			}
			said := ""
			for _, ev := range o.events {
				if ev.Type == states.EventSaid {
					said += ev.Reason + "\n"
				}
			}
			if !strings.Contains(said, c.note) || c.note == "" && strings.Contains(said, "kept") {
				t.Errorf("it says %q", said)
			}
		})
	}
}

// Of up to fifty peers that vanish, whose switches refuse, and that join and leave, each has in the end what the cluster's rules want of it, or nothing.
func TestRulesOfVanishingPeers(t *testing.T) {
	rapidtest.For(t, "20")
	rapid.Check(t, func(r *rapid.T) {
		peers := make([]*benchSwitch, rapid.SampledFrom([]int{1, 3, 50}).Draw(r, "peers"))
		for i := range peers {
			peers[i] = newBenchSwitch(t)
		}
		isMember := make([]bool, len(peers))
		var vlans map[string]string
		turn := func(isCalm bool) {
			member, left := runOf(t, benchSite(vlans, "", false), true), runOf(t, bareSite, false)
			for i, s := range peers {
				if s.fails = !isCalm && rapid.IntRange(0, 3).Draw(r, "refuses") == 0; !isCalm && rapid.IntRange(0, 2).Draw(r, "is away") == 0 {
					continue
				}
				if isMember[i] {
					s.run(t, member)
				} else {
					s.run(t, left)
				}
			}
		}
		for range rapid.IntRange(1, 3).Draw(r, "turns") {
			vlans = map[string]string{}
			for _, id := range []string{"10", "20", "30"} {
				if rapid.Bool().Draw(r, "has "+id) {
					vlans[id] = rapid.SampledFrom([]string{"lab", "dut"}).Draw(r, "name")
				}
			}
			if len(vlans) == 0 { // a rule that selects nothing any more is refused
				vlans["10"] = "lab"
			}
			for i := range peers {
				isMember[i] = rapid.IntRange(0, 2).Draw(r, "wants") > 0
			}
			turn(false)
		}
		turn(true)
		turn(true)
		for i, s := range peers {
			if isMember[i] && !maps.Equal(s.vlans, vlans) {
				r.Errorf("%d has %v, and is to have %v", i, s.vlans, vlans)
			}
			if got := s.remainder(t); !isMember[i] && got != "" {
				r.Errorf("%d has left: %s", i, got)
			}
		}
	})
}

// A handler that the host has by other means, too, runs once for the deletions, be it notified by something else or not.
func TestHandlerOfClusterAndHost(t *testing.T) {
	own := fmt.Sprintf("file %q {\n content = \"x\"\n}\nhandler \"save\" {\n command \"save\" {\n argv = [\"sw\", \"save\"]\n }\n}\n", switchTool)
	notifier := "file \"/own\" {\n content = \"x\"\n notify = [handler.save]\n}\n"
	member := strings.Replace(benchSite(map[string]string{"10": "lab"}, "", false), "file \"/sw\" {\n\t\t\t\tcontent = \"x\"\n\t\t\t}", "", 1)
	member = member[:strings.Index(member, "handler \"save\"")] + "}\n" + own
	for _, more := range []string{"", notifier} {
		s := newBenchSwitch(t)
		s.run(t, runOf(t, member, true))
		s.calls = nil
		s.run(t, runOf(t, bareSite+own+more, false))
		if got := strings.Join(s.calls, ", "); got != "remove 10, save" || s.memberOf(t) != "" {
			t.Errorf("it calls %s, and is a member of %q", got, s.memberOf(t))
		}
	}
}
