package bundle_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// named is a module whose values name a file and a directory of the site.
type named struct {
	Path   string         `state:"path,key" doc:"Path."`
	Source *states.Source `state:"source,in" doc:"Source."`
	Tree   *states.Tree   `state:"tree,in" doc:"Tree."`
}

func registry() *states.Registry {
	return states.NewRegistry(states.Define(states.Type[named]{
		Name: "named", Doc: "Names things.", NoAbsent: "it is an act",
		Act: func(_ context.Context, _ host.Host, want named) (bool, named, error) { return false, want, nil },
	}))
}

// sourceValue is the value of a source attribute.
func sourceValue(name string, data []byte) map[string]any {
	sum := sha256.Sum256(data)
	return map[string]any{"path": name, "sha256": hex.EncodeToString(sum[:]), "size": json.Number(fmt.Sprint(len(data)))}
}

// treeValue is the value of a tree attribute.
func treeValue(t testing.TB, site fs.FS, name string) map[string]any {
	t.Helper()
	entries, err := states.ReadTree(site, name)
	if err != nil {
		t.Fatal(err)
	}
	return states.NewTree(name, entries).Value()
}

// example is a bundle of a site: files and directories that it names, and modules.
func example(t testing.TB, site fstest.MapFS, files, trees, modules []string) *bundle.Bundle {
	t.Helper()
	inv := states.Invocation{Address: "state.x", State: "x"}
	add := func(values map[string]any) {
		inv.Parts = append(inv.Parts, states.Part{Address: fmt.Sprintf("named.n%d", len(inv.Parts)), Type: "named", Values: values})
	}
	for _, name := range files {
		add(map[string]any{"source": sourceValue(name, site[name].Data)})
	}
	for _, name := range trees {
		add(map[string]any{"tree": treeValue(t, site, name)})
	}
	b := &bundle.Bundle{
		Execution: "20261121-220045-3fa9c1", Origin: "here:/srv/site",
		Run:    &states.StateRun{Format: states.Format, Site: "shop", Host: "web1", Invocations: []states.Invocation{inv}, Secrets: []string{"hunter2"}},
		Places: map[string]journal.Source{"state.x": {File: "site.hcl", Line: 3, Text: "state \"x\" {"}},
		Rows:   []states.Event{{Type: states.EventPart, Address: "named.n0", Action: states.Create}}, Parallel: 3, LockTimeout: 7,
		Files: states.WithTrees(context.Background(), site, nil),
	}
	if len(modules) > 0 {
		b.Modules = []machine.Modules{{Dir: ".", Files: modules}}
	}
	return b
}

func site() fstest.MapFS {
	return fstest.MapFS{
		"motd":             {Data: []byte("welcome\n"), Mode: 0o644},
		"big":              {Data: []byte(strings.Repeat("0123456789abcdef", 1<<16)), Mode: 0o644},
		"www/index.html":   {Data: []byte("<p>"), Mode: 0o644},
		"www/empty":        {Mode: 0o600},
		"www/bin/run":      {Data: []byte("#!/bin/sh\n"), Mode: 0o755},
		"www/bin":          {Mode: fs.ModeDir | 0o700},
		"www/link":         {Data: []byte("../motd"), Mode: fs.ModeSymlink | 0o777},
		"modules/own.star": {Data: []byte("x = 1\n"), Mode: 0o644},
	}
}

func whole(t testing.TB) *bundle.Bundle {
	return example(t, site(), []string{"motd", "big"}, []string{"www"}, []string{"modules/own.star"})
}

// newStore is a store that does not keep the tests waiting for the disk, and counts
// how often it would.
func newStore(t testing.TB) (*bundle.Store, *int) {
	t.Helper()
	s, n := &bundle.Store{Dir: filepath.Join(t.TempDir(), "state")}, new(int)
	bundle.SetSync(s, func(int) error { *n++; return nil })
	return s, n
}

// send sends a bundle to a store, and gives what is received there and how many bytes
// went over.
func send(t testing.TB, b *bundle.Bundle, store *bundle.Store, have []byte) (*bundle.Bundle, int64, error) {
	t.Helper()
	a, z := net.Pipe()
	defer a.Close()
	defer z.Close()
	counted := &counter{w: a}
	sent := make(chan error, 1)
	go func() { sent <- b.Send(wire.New(a, counted, a.Close), have, registry()) }()
	got, err := store.Receive(wire.New(z, z, z.Close))
	z.Close()
	if failed := <-sent; err == nil && failed != nil {
		t.Fatalf("sent: %v", failed)
	}
	return got, counted.n, err
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(data []byte) (int, error) {
	c.n += int64(len(data))
	return c.w.Write(data)
}

// failer is a test of any kind.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// same compares what was received with what was sent.
func same(t failer, sent, got *bundle.Bundle) {
	t.Helper()
	if a, b := *sent, *got; true {
		a.Files, b.Files = nil, nil
		text := func(b bundle.Bundle) string {
			data, err := json.Marshal(b)
			if err != nil {
				t.Fatal(err)
			}
			return string(data) + fmt.Sprint(b.Run.Secrets, b.Rows == nil)
		}
		if text(a) != text(b) {
			t.Fatalf("sent %s\ngot  %s", text(a), text(b))
		}
	}
	sameFiles(t, sent, got)
}

func sameFiles(t failer, sent, got *bundle.Bundle) {
	t.Helper()
	sources, trees := planfile.Sources(sent.Run, registry())
	names := []string{}
	for _, s := range sources {
		names = append(names, s.Path)
	}
	for _, m := range sent.Modules {
		names = append(names, m.Files...)
	}
	for _, tree := range trees {
		want, err := states.ReadTree(sent.Files, tree.Path)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := states.ReadTree(got.Files, tree.Path)
		if err != nil || !reflect.DeepEqual(entries, want) {
			t.Fatalf("%s: %v, %v; want %v", tree.Path, entries, err, want)
		}
		for _, e := range entries {
			if e.Kind == host.Regular {
				names = append(names, filepath.Join(tree.Path, e.Name))
			}
		}
	}
	for _, name := range names {
		want, err := fs.ReadFile(sent.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, open := range []func() (io.ReadCloser, error){
			func() (io.ReadCloser, error) { return states.OpenFile(got.Files, name) },
			func() (io.ReadCloser, error) { return got.Files.Open(name) },
		} {
			f, err := open()
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(f)
			f.Close()
			if err != nil || string(data) != string(want) {
				t.Fatalf("%s: %d bytes, %v; want %d", name, len(data), err, len(want))
			}
		}
	}
}

func TestRoundTrip(t *testing.T) {
	store, synced := newStore(t)
	b := whole(t)
	if have := store.Have(b.Site()); len(have) != 0 {
		t.Errorf("a new store has %d bytes", len(have))
	}
	got, cold, err := send(t, b, store, nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, b, got)

	have := store.Have(b.Site())
	if len(have) != 7*wire.HaveSize {
		t.Errorf("it has %d contents", len(have)/wire.HaveSize)
	}
	got, warm, err := send(t, b, store, have)
	if err != nil {
		t.Fatal(err)
	}
	same(t, b, got)
	if *synced != 1 {
		t.Errorf("%d syncs: new contents want one, and what is there none", *synced)
	}
	if warm > cold-500 || warm > 1000 {
		t.Errorf("%d bytes went over first, and then %d", cold, warm)
	}
	// What was said to be there and is not, is asked for.
	empty, _ := newStore(t)
	if got, _, err = send(t, b, empty, have); err != nil {
		t.Fatal(err)
	}
	same(t, b, got)

	opened, err := store.Open(b.Execution)
	if err != nil || opened.Run != nil || opened.Origin != b.Origin {
		t.Fatalf("%+v, %v", opened, err)
	}
	sameFiles(t, b, opened)
	private(t, store.Dir)
	if err := store.Forget(b.Execution); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(b.Execution); !os.IsNotExist(err) {
		t.Errorf("after it was forgotten: %v", err)
	}
}

// TestFiles: modules are read through the files as those of any file system.
func TestFiles(t *testing.T) {
	store, _ := newStore(t)
	b := example(t, site(), []string{"motd"}, nil, []string{"modules/own.star"})
	got, _, err := send(t, b, store, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(got.Files, "motd", "modules/own.star"); err != nil {
		t.Error(err)
	}
	if _, err := states.OpenFile(got.Files, "../motd"); !os.IsNotExist(err) {
		t.Errorf("a file outside: %v", err)
	}
}

// private makes sure that nobody else may look into a folder, and that nothing in
// it holds a secret.
func private(t testing.TB, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = fs.ModeDir | 0o700
		}
		if info.Mode() != want {
			t.Errorf("%s has the mode %v", name, info.Mode())
		}
		if d.IsDir() {
			return nil
		}
		data, err := os.ReadFile(name)
		if strings.Contains(string(data), "hunter2") || strings.HasPrefix(filepath.Base(name), ".tenet-") {
			t.Errorf("%s should not be there", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
