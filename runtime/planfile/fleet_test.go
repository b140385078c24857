package planfile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/tenetcm/tenet/lang/secrets"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/states"
)

// hostPlan is plan for a host of a fleet.
func hostPlan(name string) *planfile.Plan {
	p := plan()
	p.Host = planfile.Host{Name: name, Hostname: "machine-" + name, Machine: "id-" + name}
	p.Run.Host, p.Run.Revision = name, "sha256:"+name
	return p
}

// fleetOf writes the plans of hosts, of which one cannot be reached, one has nothing to do, and
// one fails.
func fleetOf(t testing.TB, names ...string) *planfile.FleetWriter {
	t.Helper()
	p := plan()
	w := planfile.NewFleetWriter(planfile.Fleet{
		Program: "1.2.3", Created: time.Unix(1_800_000_000, 0).UTC(), Site: "shop", Origin: "controller:/srv/site", Files: p.Files, Modules: p.Modules,
		Rollout: &site.Rollout{Batch: []site.Amount{{N: 1}, {N: 10, Percent: true}}, MaxFailures: &site.Amount{N: 2}, Pause: time.Second, Order: "shuffle",
			Stages: []site.Stage{{Name: "db", Hosts: []string{"db1"}}}},
	}, modules.Standard())
	add := func(h planfile.FleetHost) {
		if err := w.Add(h); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		p := hostPlan(name)
		if err := w.Prepare(p.Host, p.Run, p.Places); err != nil {
			t.Fatal(err)
		}
		add(planfile.FleetHost{Host: planfile.Host{Name: name}, Status: "done", Counts: p.Counts, Rows: p.Rows})
	}
	failing := hostPlan("failing")
	failing.Rows[1].Outcome, failing.Rows[1].Error = states.Failed, &states.Failure{Code: "error", Message: "no"}
	if err := w.Prepare(failing.Host, failing.Run, failing.Places); err != nil {
		t.Fatal(err)
	}
	add(planfile.FleetHost{Host: planfile.Host{Name: "failing"}, Status: "failed", Counts: states.Counts{Failed: 1}, Rows: failing.Rows})
	add(planfile.FleetHost{Host: planfile.Host{Name: "idle"}, Status: "done"})
	add(planfile.FleetHost{Host: planfile.Host{Name: "gone"}, Status: "unreachable", Problem: &states.Failure{Code: "timeout", Message: "no answer", Hint: "is it on?"}})
	return w
}

func fleetBytes(t testing.TB, w *planfile.FleetWriter, keys ...*secrets.File) []byte {
	t.Helper()
	data, err := w.Bytes(keys)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// What hosts give one another comes back, and makes a secret of a file where it is one and known.
func TestFleetKeepsOutputs(t *testing.T) {
	for _, c := range []struct {
		out      states.Output
		isSecret bool
	}{
		{states.Output{Value: json.Number("12345678901234567890"), IsKnown: true}, false},
		{states.Output{Sensitive: true}, false},
		{states.Output{Value: "x", IsKnown: true, Sensitive: true}, true},
	} {
		for _, outputs := range []planfile.FleetOutputs{
			{Given: []states.HostOutput{{Host: "db1", Name: "port", Output: c.out}}},
			{Gives: map[string]states.Output{"port": c.out}},
		} {
			w := fleetOf(t)
			p := hostPlan("web1")
			if err := w.Prepare(p.Host, p.Run, p.Places); err != nil {
				t.Fatal(err)
			}
			if err := w.Add(planfile.FleetHost{Host: planfile.Host{Name: "web1"}, Status: "done", Rows: p.Rows, Outputs: outputs}); err != nil {
				t.Fatal(err)
			}
			if w.IsSecret() != c.isSecret {
				t.Errorf("%+v: secret: %t", outputs, w.IsSecret())
			}
			data, err := w.Bytes(nil)
			if c.isSecret != (err != nil) {
				t.Errorf("%+v is written without keys: %v", outputs, err)
			}
			if err != nil {
				continue
			}
			f, err := planfile.OpenFleet(data, none)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Hosts[f.Index("web1")].Outputs; !reflect.DeepEqual(got, outputs) {
				t.Errorf("%+v comes back as %+v", outputs, got)
			}
		}
	}
}

func TestFleetComesBackAsItWas(t *testing.T) {
	data := fleetBytes(t, fleetOf(t, "web1", "web2"))
	if !bytes.Equal(data, fleetBytes(t, fleetOf(t, "web1", "web2"))) {
		t.Error("the same plans give other bytes")
	}
	plan, f, err := planfile.Read(data, none)
	if err != nil || plan != nil {
		t.Fatal(plan, err)
	}
	if f.Program != "1.2.3" || f.Site != "shop" || f.Origin != "controller:/srv/site" || f.Encrypted || f.Created.Unix() != 1_800_000_000 {
		t.Errorf("it is %#v", f)
	}
	if r := f.Rollout; r == nil || len(r.Batch) != 2 || r.Batch[1].String() != "10%" || r.MaxFailures.N != 2 || r.Pause != time.Second || r.Stages[0].Hosts[0] != "db1" {
		t.Errorf("the rollout is %#v", f.Rollout)
	}
	for i, name := range []string{"web1", "web2"} {
		want := hostPlan(name)
		got, err := f.Plan(i)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Run, want.Run) || !reflect.DeepEqual(got.Places, want.Places) || got.Host != want.Host || got.Counts != want.Counts || got.Failed {
			t.Errorf("the plan of %s is %#v", name, got)
		}
		if differences, err := planfile.Compare(got.Rows, want.Rows); err != nil || len(differences) > 0 || len(got.Rows) != 1 {
			t.Errorf("the rows of %s differ: %v, %v", name, differences, err)
		}
		if text, err := fs.ReadFile(got.Files, "files/a"); err != nil || string(text) != "text\n" {
			t.Errorf("a file is %q, %v", text, err)
		}
	}
	if h := f.Hosts[2]; !h.HasFailed() || len(h.Rows) != 1 || h.Rows[0].Error.Message != "no" {
		t.Errorf("the host that fails is %#v", h)
	}
	if p, err := f.Plan(2); err != nil || !p.Failed {
		t.Errorf("its plan can be carried out: %v", err)
	}
	if p, err := f.Plan(3); p != nil || err != nil || f.Hosts[3].HasFailed() {
		t.Errorf("the idle host has a plan: %v, %v", p, err)
	}
	if h := f.Hosts[4]; h.Name != "gone" || h.Problem.Hint != "is it on?" || !h.HasFailed() {
		t.Errorf("the host that cannot be reached is %#v", h)
	}
	if f.Index("gone") != 4 || f.Index("nobody") != -1 || f.Identity() == "" {
		t.Error("hosts are not found by their names")
	}
}

// What hosts have in common is in the file once.
func TestFleetIsSmall(t *testing.T) {
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("web%03d", i))
	}
	few, many := len(fleetBytes(t, fleetOf(t, names[:100]...))), len(fleetBytes(t, fleetOf(t, names...)))
	if many > 12*few || many > 3<<20 {
		t.Errorf("100 hosts take %d bytes, and 1000 %d", few, many)
	}
}

func TestFleetWithSecrets(t *testing.T) {
	w := fleetOf(t, "web1")
	if w.IsSecret() {
		t.Error("it has secrets before")
	}
	p := secretPlan()
	p.Host, p.Run.Host = planfile.Host{Name: "db1"}, "db1"
	if err := w.Prepare(p.Host, p.Run, p.Places); err != nil {
		t.Fatal(err)
	}
	if err := w.Add(planfile.FleetHost{Host: p.Host, Status: "done", Rows: p.Rows}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Bytes(nil); err == nil || !w.IsSecret() {
		t.Error("it is saved in clear text")
	}
	file, key := reader(t, "secrets.age")
	data := fleetBytes(t, w, file)
	for _, text := range []string{"hunter2", "web1", "file.a"} {
		if bytes.Contains(data, []byte(text)) {
			t.Errorf("%s can be read", text)
		}
	}
	if _, err := planfile.OpenFleet(data, func() ([]secrets.Identity, error) { return nil, nil }); err == nil {
		t.Error("opened without a key")
	}
	f, err := planfile.OpenFleet(data, func() ([]secrets.Identity, error) { return []secrets.Identity{key}, nil })
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Plan(f.Index("db1"))
	if err != nil || !f.Encrypted || !slices.Equal(got.Run.Secrets, p.Run.Secrets) {
		t.Errorf("it comes back as %#v, %v", got, err)
	}
	if other, err := f.Plan(0); err != nil || len(other.Run.Secrets) > 0 {
		t.Errorf("another host has the secrets: %v", err)
	}
}

// A host that is prepared again, since its connection broke, counts as it was last; and the
// site may not have changed meanwhile.
func TestFleetPreparesAgain(t *testing.T) {
	w := fleetOf(t)
	p := hostPlan("web1")
	if err := w.Prepare(p.Host, p.Run, p.Places); err != nil {
		t.Fatal(err)
	}
	p.Run.Revision = "sha256:second"
	if err := w.Prepare(p.Host, p.Run, p.Places); err != nil {
		t.Fatal(err)
	}
	if err := w.Add(planfile.FleetHost{Host: p.Host, Status: "done", Rows: p.Rows}); err != nil {
		t.Fatal(err)
	}
	f, err := planfile.OpenFleet(fleetBytes(t, w), none)
	if err != nil || f.Hosts[f.Index("web1")].Revision != "sha256:second" {
		t.Errorf("it is %v", err)
	}
	other := hostPlan("web2")
	source := other.Run.Invocations[0].Parts[0].Values["source"].(map[string]any)
	source["sha256"] = strings.Repeat("0", 64)
	if err := w.Prepare(other.Host, other.Run, other.Places); err == nil || !strings.Contains(err.Error(), "files/a has changed meanwhile") {
		t.Errorf("another file of the same name: %v", err)
	}
	changed := planfile.NewFleetWriter(planfile.Fleet{Files: fstest.MapFS{"files/a": {Data: []byte("other")}}}, modules.Standard())
	if err := changed.Prepare(p.Host, p.Run, p.Places); err != nil {
		t.Fatal(err)
	}
	if _, err := changed.Bytes(nil); err == nil || !strings.Contains(err.Error(), "files/a has changed meanwhile") {
		t.Errorf("a file that has changed: %v", err)
	}
}

// Whatever byte is another one: it is refused.
func TestFleetIsWholeOrRefused(t *testing.T) {
	data := fleetBytes(t, fleetOf(t, "web1"))
	for i := range data {
		other := bytes.Clone(data)
		other[i] ^= 1 << (i % 8)
		if _, _, err := planfile.Read(other, none); !errors.As(err, new(*planfile.DamagedError)) {
			t.Fatalf("byte %d: %v", i, err)
		}
	}
	if _, err := planfile.Open(data, none); !errors.As(err, new(*planfile.FormatError)) {
		t.Errorf("as the plan of one host it gives %v", err)
	}
	if _, err := planfile.OpenFleet(save(t, plan()), none); !errors.As(err, new(*planfile.FormatError)) {
		t.Errorf("the plan of one host gives %v", err)
	}
}

const (
	smallRun   = `{"format":"tenet.run/1","site":"s","host":"h","revision":"sha256:1","invocations":[]}`
	smallIndex = `{"site":"s","origin":"o","hosts":[{"name":"h","hostname":"h","status":"done","counts":{},"run":"data/run","rows":"data/rows","places":"data/places"}]}`
)

// archiveOf is a file whose digests are right, whatever is in it.
func archiveOf(t testing.TB, entries map[string]string) []byte {
	t.Helper()
	w, err := planfile.NewArchive(planfile.FleetFormat, "9.9.9", time.Unix(0, 0), map[string]any{})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range entries {
		if err := w.Add(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	data, err := w.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A file that somebody has made by hand says nothing that cannot be.
func TestFleetOfAStranger(t *testing.T) {
	with := func(name, text string) map[string]string {
		m := map[string]string{"fleet.json": smallIndex, "data/run": smallRun, "data/rows": "[]", "data/places": "{}"}
		if m[name] = text; text == "" {
			delete(m, name)
		}
		return m
	}
	index := func(old, by string) map[string]string {
		if !strings.Contains(smallIndex, old) {
			t.Fatal(old)
		}
		return with("fleet.json", strings.Replace(smallIndex, old, by, 1))
	}
	entry := smallIndex[strings.Index(smallIndex, `{"name"`):strings.LastIndex(smallIndex, "]}")]
	if _, err := planfile.OpenFleet(archiveOf(t, with("fleet.json", smallIndex)), none); err != nil {
		t.Fatal(err)
	}
	for name, entries := range map[string]map[string]string{
		"no index":             with("fleet.json", ""),
		"no host":              index(entry, ""),
		"a host twice":         index(entry, entry+","+entry),
		"a host without name":  index(`"name":"h"`, `"name":""`),
		"a name with controls": index(`"name":"h"`, `"name":"h\u001b[2J"`),
		"a tree of a host":     index(`"name":"h"`, `"name":"h","root":"/"`),
		"the run of another":   index(`"name":"h"`, `"name":"other"`),
		"how it is reached":    index(`"name":"h"`, `"name":"h","address":"192.0.2.1"`),
		"no rows":              index(`"rows":"data/rows",`, ""),
		"rows that are null":   with("data/rows", "null"),
		"rows that are gone":   with("data/rows", ""),
		"no places":            index(`,"places":"data/places"`, ""),
		"a file of the site":   index(`"data/run"`, `"files/run"`),
		"something more":       with("data/more", "{}"),
		"another site":         with("data/run", strings.Replace(smallRun, `"site":"s"`, `"site":"t"`, 1)),
		"another run":          with("data/run", strings.Replace(smallRun, "tenet.run/1", "tenet.run/9", 1)),
		"a word":               with("data/run", strings.Replace(smallRun, `"host"`, `"undo":1,"host"`, 1)),
		"a rollout":            index(`"origin"`, `"rollout":{"batch":["-1"],"order":""},"origin"`),
	} {
		_, err := planfile.OpenFleet(archiveOf(t, entries), none)
		if !errors.As(err, new(*planfile.DamagedError)) && !errors.As(err, new(*planfile.FormatError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What can be read is whole: each host has its own plan, and written again it is the same.
func FuzzOpenFleet(f *testing.F) {
	f.Add([]byte(smallIndex), []byte(smallRun), []byte("[]"))
	var rows bytes.Buffer
	if err := json.NewEncoder(&rows).Encode(planfile.Rows(plan().Rows)); err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(smallIndex), []byte(smallRun), rows.Bytes())
	f.Fuzz(func(t *testing.T, index, run, rows []byte) {
		if len(index)+len(run)+len(rows) > 1<<16 {
			return
		}
		got, err := planfile.OpenFleet(archiveOf(t, map[string]string{
			"fleet.json": string(index), "data/run": string(run), "data/rows": string(rows), "data/places": "{}"}), none)
		if err != nil {
			return
		}
		w := planfile.NewFleetWriter(planfile.Fleet{Site: got.Site, Origin: got.Origin, Rollout: got.Rollout, Files: fstest.MapFS{}}, modules.Standard())
		names := map[string]bool{}
		for i, h := range got.Hosts {
			p, err := got.Plan(i)
			if err != nil || names[h.Name] || h.Name == "" || p != nil && (p.Run.Host != h.Name || p.Rows == nil) {
				t.Fatalf("the plan of %q: %v", h.Name, err)
			}
			names[h.Name] = true
			if p != nil {
				if err := w.Prepare(h.Host, p.Run, p.Places); err != nil {
					return // a text that JSON cannot hold, or a file that it does not have
				}
			}
			if err := w.Add(h); err != nil {
				t.Fatal(err)
			}
		}
		data, err := w.Bytes(nil)
		if err != nil {
			return
		}
		again, err := planfile.OpenFleet(data, none)
		if err != nil || again.Revision() != got.Revision() || len(again.Hosts) != len(got.Hosts) {
			t.Fatalf("written again it is another one: %v", err)
		}
	})
}

// A rollout is saved whole: what JSON leaves out of it would not be done when it is carried out.
func TestNothingOfARolloutIsLost(t *testing.T) {
	for _, typ := range []reflect.Type{reflect.TypeFor[site.Rollout](), reflect.TypeFor[site.Stage]()} {
		for field := range typ.Fields() {
			if tag := field.Tag.Get("json"); tag == "-" || tag == "" || !field.IsExported() {
				t.Errorf("%s.%s is not saved", typ.Name(), field.Name)
			}
		}
	}
}
