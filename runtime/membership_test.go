package runtime_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// asMember compiles a site as it is for a member of a cluster by which alone it has what is named; without
// a name it is for a machine in no cluster.
func asMember(t *testing.T, cluster, text string, keys ...string) *states.StateRun {
	t.Helper()
	run := compile(t, modules.Standard(), "site {\n name = \"lab\"\n}\n"+text).Run
	if cluster == "" {
		return run
	}
	run.Cluster = &site.Membership{Name: cluster, Members: []string{"web"}}
	for i := range run.Invocations {
		for k := range run.Invocations[i].Parts {
			if p := &run.Invocations[i].Parts[k]; slices.Contains(keys, p.Key) {
				p.Options.Cluster = cluster
			}
		}
	}
	run.Revision += cluster + strings.Join(keys, " ") // as it would be
	return run
}

func (m *managedHost) carryOut(t *testing.T, run *states.StateRun, h host.Host) outcome {
	t.Helper()
	record, err := m.folder.Start(t.Context(), journal.Meta{Run: run})
	if err != nil {
		t.Fatal(err)
	}
	o := carry(t, runtime.Apply, run, runtime.Options{Host: h, Journal: record})
	if err := record.Finish(journal.End{State: journal.Done}); err != nil {
		t.Fatal(err)
	}
	return o
}

func (m *managedHost) memberOf(t *testing.T) string {
	t.Helper()
	is, err := m.folder.Membership()
	if err != nil {
		t.Fatal(err)
	}
	if is == nil {
		return ""
	}
	return is.Site + "/" + is.Name
}

const (
	benchFiles = "directory \"/d\" {}\nfile \"/d/bench\" {\n content = \"x\"\n require = [directory[\"/d\"]]\n}\n"
	ownFile    = "file \"/own\" {\n content = \"x\"\n}\n"
)

// What was made for a cluster goes in reverse when the machine leaves it, though the site does not prune, and
// nothing else does; then the machine is a member no more.
func TestLeaveCluster(t *testing.T) {
	m := newManaged(t)
	m.carryOut(t, asMember(t, "bench", benchFiles+ownFile, "/d", "/d/bench"), m.Memory)
	if got := m.memberOf(t); got != "lab/bench" {
		t.Fatalf("it is a member of %q", got)
	}
	// What one of its own declarations takes over stays, and what the cluster declares no more does, too, without prune.
	m.carryOut(t, asMember(t, "bench", "directory \"/d\" {}\n"+ownFile, "/d"), m.Memory)
	if got := m.holds(t, "lab"); got != "/d /d/bench /own" {
		t.Fatalf("it holds %s", got)
	}
	left := asMember(t, "", "")
	// A run of a part of the site, as that of a hook, leaves all of it as it is.
	hook := *left
	hook.Partial = true
	m.carryOut(t, &hook, m.Memory)
	if got := m.holds(t, "lab"); got != "/d /d/bench /own" || m.memberOf(t) != "lab/bench" {
		t.Fatalf("it holds %s, and is a member of %q", got, m.memberOf(t))
	}
	managed, err := m.folder.Managed()
	if err != nil {
		t.Fatal(err)
	}
	plan := carry(t, runtime.Plan, left, runtime.Options{Host: m.Memory, Managed: managed})
	o := m.carryOut(t, left, m.Memory)
	// What stays has no place in the order of what goes.
	for name, found := range map[string]outcome{"plan": plan, "apply": o} {
		list := strings.Split(found.orphanList(), ", ")
		gone := slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == "/own" })
		if len(list) != 3 || !slices.Equal(gone, []string{"-/d/bench", "-/d"}) {
			t.Errorf("the %s finds %s", name, list)
		}
	}
	if got := m.holds(t, "lab"); got != "/own" || m.memberOf(t) != "" {
		t.Errorf("it holds %s, and is a member of %q", got, m.memberOf(t))
	}
}

// What its own declarations take over from a cluster stays, when it leaves that.
func TestTakenOverFromCluster(t *testing.T) {
	m := newManaged(t)
	m.carryOut(t, asMember(t, "bench", ownFile, "/own"), m.Memory)
	m.carryOut(t, asMember(t, "bench", ownFile), m.Memory)
	m.carryOut(t, asMember(t, "", ""), m.Memory)
	if got := m.holds(t, "lab"); got != "/own" || m.memberOf(t) != "" {
		t.Errorf("it holds %q, and is a member of %q", got, m.memberOf(t))
	}
}

// As long as something of a cluster cannot be removed the machine is a member of it; other clusters have to wait.
func TestLeavingFails(t *testing.T) {
	m := newManaged(t)
	m.carryOut(t, asMember(t, "bench", ownFile, "/own"), m.Memory)
	other := asMember(t, "table", "")
	if _, err := m.folder.Start(t.Context(), journal.Meta{Run: other}); err == nil || !strings.Contains(err.Error(), "it is a member of the cluster bench of the site lab") {
		t.Errorf("another cluster begins: %v", err)
	}
	broken := &removalFails{m.Memory}
	m.carryOut(t, asMember(t, "", ""), broken)
	if got := m.memberOf(t); got != "lab/bench" {
		t.Errorf("it is a member of %q", got)
	}
	m.carryOut(t, asMember(t, "", ""), m.Memory)
	if got := m.memberOf(t) + m.holds(t, "lab"); got != "" {
		t.Errorf("it is left with %q", got)
	}
	m.carryOut(t, other, m.Memory)
	if got := m.memberOf(t); got != "lab/table" {
		t.Errorf("it is a member of %q", got)
	}
}

// removalFails removes nothing.
type removalFails struct{ host.Host }

func (f *removalFails) OpenDir(path string) (host.Dir, error) { return host.DirByPath(f, path) }
func (f *removalFails) NoFollow() host.Host                   { return host.NoFollowByPath(f) }
func (f *removalFails) ForRun(string) host.Host               { return f }
func (f *removalFails) Remove(string) error                   { return errors.New("the device is busy") }
