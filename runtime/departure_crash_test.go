package runtime_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/runtime/journal"
)

// mortalBench is a site with the cluster bench, whose rule makes VLANs by commands; with byFiles by files. The handler writes to the log of the world.
func mortalBench(vlans map[string]string, byFiles bool) string {
	var list strings.Builder
	for _, id := range slices.Sorted(maps.Keys(vlans)) {
		fmt.Fprintf(&list, "{ id = %s, name = %q }, ", id, vlans[id])
	}
	set, unset := "command \"do\" {\n argv = [\"set\", \"/vlan/${param.node.id}\", param.node.name]\n }", "command \"do\" {\n argv = [\"unset\", \"/vlan/${param.path.vlans}\"]\n }"
	if byFiles {
		set, unset = "file \"do\" {\n path = \"/vlan/${param.node.id}\"\n content = param.node.name\n }", "file \"do\" {\n path = \"/vlan/${param.path.vlans}\"\n ensure = \"absent\"\n }"
	}
	return fmt.Sprintf(`
		site {
			name = "lab"
		}
		host "h" {}
		cluster "bench" {
			hosts = "h"
			roles = ["bench"]
		}
		role "bench" {
			file "/program" {
				content = "x"
			}
			data "network" {
				value = { vlans = [%s] }
			}
			rule "vlan" {
				data    = data.network
				select  = "vlans[id]"
				create  = state.set
				update  = state.set
				delete  = state.remove
				notify  = [handler.h]
				require = [file["/program"]]
			}
			state "set" {
				param "node" {}
				%s
			}
			state "remove" {
				param "path" {}
				%s
			}
			handler "h" {
				command "run" {
					argv = ["run", "h"]
				}
			}
		}
	`, list.String(), set, unset)
}

// However one process after the other ends while a machine joins a cluster, gets another document and leaves: in the end it has what the cluster's rules want of it, or
// nothing of it, every handler that was due has run, and the apply after that does nothing.
func TestLeaveClusterAnyEnd(t *testing.T) {
	rapidtest.For(t, "60")
	rapid.Check(t, func(r *rapid.T) {
		byFiles := rapid.Bool().Draw(r, "by files")
		s := &crashSite{name: "bench", rules: []rule{{deed: "/vlan/", handler: "h"}}, files: map[string]string{"/vlan/.keep": ""}}
		w := s.world(r, rapid.SampledFrom([]int{1, 4}).Draw(r, "workers"))
		defer os.RemoveAll(w.state)
		left := runOf(r, bareSite, false)
		isMember, want, ops := true, map[string]string{}, []string{}
		for range rapid.IntRange(2, 4).Draw(r, "turns") {
			if isMember = rapid.IntRange(0, 2).Draw(r, "is member") > 0; !isMember {
				w.run = left
			} else {
				want = map[string]string{"9": "office"} // that all is gone has to be said in particular
				for _, id := range []string{"1", "2", "3"} {
					if name := rapid.SampledFrom([]string{"", "office", "guests"}).Draw(r, id); name != "" {
						want[id] = name
					}
				}
				w.run = runOf(r, mortalBench(want, byFiles), true)
			}
			w.earlier = append(w.earlier, w.run.Revision)
			if rapid.Bool().Draw(r, "undisturbed") {
				if err := w.recovered(); err != nil {
					r.Fatalf("member: %t, of %v, ended at %q: %v\n%s", isMember, want, ops, err, w.story())
				}
				ops = append(ops, "applied")
				continue
			}
			ops = append(ops, w.disturb(r, false)...)
		}
		if !isMember {
			want = nil
		}
		err := w.recovered()
		if err == nil {
			err = w.hasOfBench(t, want)
		}
		if err != nil {
			r.Fatalf("member: %t, of %v, ended at %q: %v\n%s", isMember, want, ops, err, w.story())
		}
	})
}

// hasOfBench compares what the machine has of the cluster with VLANs; none: it has left.
func (w *world) hasOfBench(t *testing.T, vlans map[string]string) error {
	folder, err := journal.Open(w.state)
	if err != nil {
		return err
	}
	m := &benchSwitch{managedHost: &managedHost{w.Memory, folder}, vlans: map[string]string{}}
	files := tree(w.t, w.Memory)
	for path, text := range files {
		if id, ok := strings.CutPrefix(path, "/vlan/"); ok && id != ".keep" {
			m.vlans[id] = plainText(text)
		}
	}
	switch {
	case len(vlans) == 0:
		if is := m.remainder(t); is != "" || files["/program"] != "" {
			return fmt.Errorf("it has left: %s, and has the program: %q", is, files["/program"])
		}
	case !maps.Equal(m.vlans, vlans):
		return fmt.Errorf("there is %v, and not %v", m.vlans, vlans)
	case m.memberOf(t) != "lab/bench" || files["/program"] == "":
		return fmt.Errorf("it is a member of %q, and has the program: %q", m.memberOf(t), files["/program"])
	}
	return nil
}
