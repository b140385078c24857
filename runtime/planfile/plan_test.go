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

	"filippo.io/age"

	"github.com/tenetcm/tenet/lang/secrets"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/states"
)

const sumOfText = "b9e68e1bea3e5b19ca6b2f98b73a54b73daafaa250484902e09982e07a12e733" // of "text\n"

// plan is one with something of everything.
func plan() *planfile.Plan {
	call := &states.Expr{}
	text := `{"call":"upper","args":[{"ref":"command.c","attribute":"stdout","from":["command.c"]}]}`
	if err := json.Unmarshal([]byte(text), call); err != nil {
		panic(err)
	}
	return &planfile.Plan{
		Program: "1.2.3", Created: time.Unix(1_800_000_000, 0).UTC(), Origin: "/srv/site",
		Host: planfile.Host{Name: "web1", Hostname: "web1", Machine: "abc", Root: "/tree"},
		Run: &states.StateRun{
			Format: states.Format, Site: "shop", Host: "web1", Revision: "sha256:0", Prune: true,
			Moved:   []states.Moved{{From: "a", To: "b"}},
			LeftOut: []states.Resource{{Type: "file", Key: "/left", Address: "file.left"}},
			Invocations: []states.Invocation{
				{Address: "file.a", State: "file.a", Parts: []states.Part{{Address: "file.a", ID: "1", Type: "file", Key: "/a", Ensure: states.Present,
					Values: map[string]any{"path": "/a", "mode": "0644",
						"source": map[string]any{"path": "files/a", "sha256": sumOfText, "size": json.Number("5")}}}}},
				{Address: "command.c", State: "command.c", Requires: []string{"file.a"}, Parts: []states.Part{{Address: "command.c", ID: "2", Type: "command",
					Ensure: states.Present, Values: map[string]any{"argv": []any{"true"}, "timeout": "1m0s"}, Options: states.PartOptions{Timeout: time.Minute}}}},
				{Address: "file.b", State: "file.b", Requires: []string{"command.c"}, Parts: []states.Part{{Address: "file.b", ID: "3", Type: "file", Key: "/b",
					Ensure: states.Present, Values: map[string]any{"path": "/b"}, Results: map[string]*states.Expr{"content": call}}}},
			},
			Blocks:   []states.Block{{Address: "block.b", Members: []string{"file.a"}, Confirm: &states.Confirm{Timeout: time.Minute, Command: []string{"true"}}}},
			Joins:    []states.Join{{Address: "join#1", After: []string{"file.a"}}},
			Handlers: []states.Invocation{{Address: "state.h", State: "state.h", Handler: true, LeftOut: true, Parts: []states.Part{}}},
		},
		Places: map[string]journal.Source{"file.a": {File: "site.hcl", Line: 3, Column: 1, Text: `file "a" {`}},
		Rows: []states.Event{
			{Seq: 1, Type: states.EventRun, Mode: "plan"},
			{Seq: 2, Time: time.Now(), Type: states.EventPart, Address: "file.a", Invocation: "file.a", Action: states.Create, Certain: new(true), Duration: 5,
				Changes: []states.Change{{Attribute: "mode", To: "0644"}, {Attribute: "size", From: json.Number("1"), To: json.Number("2")}}},
			{Seq: 3, Type: states.EventSummary, Counts: &states.Counts{Create: 1}},
		},
		Counts:  states.Counts{Changed: 1, Create: 1},
		Files:   fstest.MapFS{"files/a": {Data: []byte("text\n")}, "modules/m.star": {Data: []byte("m")}, "other": {}},
		Modules: []machine.Modules{{Dir: ".", Files: []string{"modules/m.star"}}},
	}
}

func save(t testing.TB, p *planfile.Plan, keys ...*secrets.File) []byte {
	t.Helper()
	data, err := p.Bytes(modules.Standard(), keys)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func none() ([]secrets.Identity, error) { return nil, errors.New("asked for keys") }

func TestPlanComesBackAsItWas(t *testing.T) {
	want := plan()
	data := save(t, want)
	if !bytes.Equal(data, save(t, plan())) {
		t.Error("the same plan gives other bytes")
	}
	got, err := planfile.Open(data, none)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Run, want.Run) {
		t.Errorf("the run is\n%#v, want\n%#v", got.Run, want.Run)
	}
	if len(got.Rows) != 1 || got.Rows[0].Seq != 0 || !got.Rows[0].Time.IsZero() || got.Rows[0].Duration != 0 {
		t.Errorf("the rows are %v", got.Rows)
	}
	if diffs, err := planfile.Compare(got.Rows, want.Rows); err != nil || len(diffs) > 0 {
		t.Errorf("a row differs from itself: %v, %v", diffs, err)
	}
	if text, err := fs.ReadFile(got.Files, "files/a"); err != nil || string(text) != "text\n" {
		t.Errorf("a file is %q, %v", text, err)
	}
	if _, err := fs.Stat(got.Files, "other"); err == nil {
		t.Error("a file that nobody names is in it")
	}
	got.Run, got.Rows, got.Files = nil, nil, nil
	want.Run, want.Rows, want.Files = nil, nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v, want %#v", got, want)
	}
}

// reader makes a file of secrets, and the key that opens it.
func reader(t testing.TB, name string) (*secrets.File, secrets.Identity) {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	to, list := secrets.ParseRecipients("recipients", []byte(id.Recipient().String()+"\n"))
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	file, err := secrets.New(name, to)
	if err != nil {
		t.Fatal(err)
	}
	key, err := secrets.ParseIdentity(secrets.IdentityFile{Name: "key", Data: []byte(id.String())})
	if err != nil {
		t.Fatal(err)
	}
	return file, key
}

func secretPlan() *planfile.Plan {
	p := plan()
	p.Run.Secrets = []string{"hunter2-and-more"}
	p.Run.Invocations[0].Parts[0].Sensitive = []string{"content"}
	p.Run.Invocations[0].Parts[0].Values["content"] = "hunter2-and-more"
	return p
}

func TestSecretPlan(t *testing.T) {
	p := secretPlan()
	if _, err := p.Bytes(modules.Standard(), nil); err == nil {
		t.Error("it is saved in clear text")
	}
	first, one := reader(t, "secrets.age")
	second, two := reader(t, "secrets/prod.age")
	data := save(t, p, first, second)
	if bytes.Contains(data, []byte("hunter2")) || bytes.Contains(data, []byte("file.a")) {
		t.Error("it can be read")
	}
	for _, ids := range [][]secrets.Identity{nil, {one}, {two}} {
		if _, err := planfile.Open(data, func() ([]secrets.Identity, error) { return ids, nil }); err == nil {
			t.Errorf("opened with %d of 2 keys", len(ids))
		}
	}
	got, err := planfile.Open(data, func() ([]secrets.Identity, error) { return []secrets.Identity{one, two}, nil })
	if err != nil {
		t.Fatal(err)
	}
	if !got.Encrypted || !slices.Equal(got.Run.Secrets, p.Run.Secrets) || got.Run.Invocations[0].Parts[0].Values["content"] != "hunter2-and-more" {
		t.Errorf("it comes back as %#v", got)
	}
}

// What makes a plan secret: each alone.
func TestSecret(t *testing.T) {
	literal := &states.Expr{Kind: states.ExprLiteral, Value: "x", Sensitive: true}
	for name, change := range map[string]func(r *states.StateRun){
		"a secret":  func(r *states.StateRun) { r.Secrets = []string{"x"} },
		"a file":    func(r *states.StateRun) { r.SecretFiles = map[string]string{"secrets.age": "sha256:0"} },
		"a value":   func(r *states.StateRun) { r.Invocations[0].Parts[0].Sensitive = []string{"mode"} },
		"a result":  func(r *states.StateRun) { r.Invocations[2].Parts[0].Sensitive = []string{"content"} },
		"a literal": func(r *states.StateRun) { r.Invocations[2].Parts[0].Results["content"] = literal },
		"a guard": func(r *states.StateRun) {
			r.Invocations[0].Guards = []states.Guard{{Results: map[string]*states.Expr{"when": literal}}}
		},
		"a part's": func(r *states.StateRun) {
			r.Invocations[0].Parts[0].Guards = []states.Guard{{Results: map[string]*states.Expr{"when": literal}}}
		},
		"of handlers": func(r *states.StateRun) {
			r.Handlers = r.Invocations[:1]
			r.Invocations = nil
			r.Handlers[0].Parts[0].Sensitive = []string{"mode"}
		},
	} {
		p := plan()
		if planfile.Secret(p.Run) {
			t.Fatal("it is secret before")
		}
		if change(p.Run); !planfile.Secret(p.Run) {
			t.Errorf("%s: it is not secret", name)
		}
	}
}

// Whatever byte is another one: it is refused, and nobody is asked for a key where
// the file tells that it is damaged.
func TestPlanIsWholeOrRefused(t *testing.T) {
	file, key := reader(t, "secrets.age")
	for name, data := range map[string][]byte{"plain": save(t, plan()), "encrypted": save(t, secretPlan(), file)} {
		ids := func() ([]secrets.Identity, error) {
			t.Errorf("%s: asked for a key", name)
			return []secrets.Identity{key}, nil
		}
		for i := range data {
			other := bytes.Clone(data)
			other[i] ^= 1 << (i % 8)
			if _, err := planfile.Open(other, ids); !errors.As(err, new(*planfile.DamagedError)) {
				t.Fatalf("%s, byte %d: %v", name, i, err)
			}
		}
		for _, n := range []int{0, 1, 50, len(data) / 2, len(data) - 1} {
			if _, err := planfile.Open(data[:n], ids); !errors.As(err, new(*planfile.DamagedError)) {
				t.Errorf("%s, %d bytes of it: %v", name, n, err)
			}
		}
	}
}

func TestPlanIsNotSaved(t *testing.T) {
	for name, change := range map[string]func(*planfile.Plan){
		"no UTF-8":         func(p *planfile.Plan) { p.Run.Invocations[0].Parts[0].Values["owner"] = "\xff" },
		"no UTF-8 in it":   func(p *planfile.Plan) { p.Run.Invocations[0].Parts[0].Values["x"] = []any{map[string]any{"a": "\xff"}} },
		"a file is gone":   func(p *planfile.Plan) { p.Files = fstest.MapFS{} },
		"a name leads out": func(p *planfile.Plan) { p.Modules[0].Files = []string{"../x"} },
	} {
		p := plan()
		change(p)
		if _, err := p.Bytes(modules.Standard(), nil); err == nil {
			t.Errorf("%s: it is saved", name)
		}
	}
}

// Another format, of the file or of the run, is told with who wrote it; so is
// something that this version does not know.
func TestOtherVersions(t *testing.T) {
	make := func(format string, entries map[string]string) []byte {
		about := map[string]any{"host": planfile.Host{Name: "h"}, "counts": states.Counts{}}
		w, err := planfile.NewArchive(format, "9.9.9", time.Unix(0, 0), about)
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
	good := map[string]string{"run.json": `{"format":"tenet.run/1","host":"h","revision":"","invocations":[]}`, "rows.json": "[]", "places.json": "{}"}
	with := func(name, text string) map[string]string {
		m := map[string]string{name: text}
		for k, v := range good {
			if k != name {
				m[k] = v
			}
		}
		return m
	}
	if _, err := planfile.Open(make(planfile.Format, good), none); err != nil {
		t.Errorf("a small plan: %v", err)
	}
	for name, data := range map[string][]byte{
		"the file": make("tenet.plan/2", nil), "the run": make(planfile.Format, with("run.json", `{"format":"tenet.run/2","invocations":[]}`)),
		"a word":      make(planfile.Format, with("run.json", `{"format":"tenet.run/1","host":"h","revision":"","invocations":[],"undo":true}`)),
		"a row":       make(planfile.Format, with("rows.json", `[{"type":"part","undo":true}]`)),
		"no rows":     make(planfile.Format, map[string]string{"run.json": good["run.json"]}),
		"more":        make(planfile.Format, with("more.json", "{}")),
		"two values":  make(planfile.Format, with("rows.json", "[] []")),
		"other JSON":  make(planfile.Format, with("rows.json", "{}")),
		"deep values": make(planfile.Format, with("run.json", `{"invocations":`+strings.Repeat("[", 20_000))),
	} {
		_, err := planfile.Open(data, none)
		if !errors.As(err, new(*planfile.DamagedError)) && !errors.As(err, new(*planfile.FormatError)) {
			t.Errorf("%s: %v", name, err)
		} else if (name == "the file" || name == "the run" || name == "a word") && !strings.Contains(err.Error(), "9.9.9") {
			t.Errorf("%s: %v does not tell who wrote it", name, err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(save(f, plan()))
	file, key := reader(f, "secrets.age")
	f.Add(save(f, secretPlan(), file))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		p, err := planfile.Open(rightDigest(data), func() ([]secrets.Identity, error) { return []secrets.Identity{key}, nil })
		if err == nil && (p.Run == nil || p.Files == nil) {
			t.Error("half a plan")
		}
	})
}

func ExamplePlan() {
	p := plan()
	data, err := p.Bytes(modules.Standard(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	again, err := planfile.Open(data, nil) // no keys: it is not encrypted
	if err != nil {
		fmt.Println(err)
		return
	}
	differences, err := planfile.Compare(again.Rows, p.Rows)
	fmt.Println(again.Run.Host, len(differences), err)
	// Output: web1 0 <nil>
}
