package custom_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/tenetcm/tenet/lang/sandbox"
	"github.com/tenetcm/tenet/modules/custom"
	"github.com/tenetcm/tenet/runtime/host"
)

// No source makes it panic or hang: loaded, and carried out on a host.
func FuzzModule(f *testing.F) {
	names, err := filepath.Glob("testdata/modules/*.star")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(src))
	}
	f.Add(minimal)
	f.Fuzz(func(t *testing.T, src string) {
		site := fstest.MapFS{"modules/x.star": {Data: []byte(src)}, "modules/_lines.star": {Data: []byte("def put(*a): pass\n")}}
		start := time.Now()
		set, list := custom.Load(site, custom.Dir, custom.Options{Limits: sandbox.Limits{Steps: 50_000, Memory: 1 << 24}})
		if len(set.Modules()) == 0 && !list.HasErrors() {
			t.Error("no module, and nothing to say why")
		}
		for _, d := range list {
			if d.Summary == "" || d.Range.File == "" {
				t.Errorf("%+v", d)
			}
		}
		for _, m := range set.Modules() {
			values := map[string]any{}
			for _, a := range m.Attributes {
				if a.Key || a.Required {
					values[a.Name] = "/x"
				}
			}
			want, err := m.Decode(values, nil)
			if err != nil || m.Check(want) != nil {
				continue
			}
			h := host.NewShadow(host.NewMemory())
			ctx := context.Background()
			if m.IsAct() {
				_, _, _ = m.Act(ctx, h, want)
				continue
			}
			have, err := m.Read(ctx, h, want)
			if err != nil {
				continue
			}
			filled := m.Fill(have, want)
			m.Diff(have, filled)
			_ = m.Write(ctx, h, have, filled)
			if m.Remove != nil && have != nil {
				_ = m.Remove(ctx, h, have)
			}
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("it took %s", took)
		}
	})
}
