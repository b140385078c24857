package states_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"pgregory.net/rapid"
)

func TestAddresses(t *testing.T) {
	for _, c := range []struct{ is, want string }{
		{states.LabelAddress("file", "motd"), "file.motd"},
		{states.LabelAddress("file", "/etc/motd"), `file["/etc/motd"]`},
		{states.LabelAddress("file", "<a&b>"), `file["<a&b>"]`},
		{states.InstanceAddress("state.site", `a"b`), `state.site["a\"b"]`},
		{states.WithoutWave("state.h#12"), "state.h"},
		{states.WithoutWave(`state.h#2.file["a#1"]`), `state.h.file["a#1"]`},
		{states.WithoutWave(`file["a#1"]`), `file["a#1"]`},
		{states.WithoutWave("state.h"), "state.h"},
	} {
		if c.is != c.want {
			t.Errorf("%s, want %s", c.is, c.want)
		}
	}
	for text, is := range map[string]bool{"a": true, "_a-1": true, "": false, "1a": false, "-a": false, "a.b": false, "ä": false} {
		if states.IsIdentifier(text) != is {
			t.Errorf("IsIdentifier(%q) = %v", text, !is)
		}
	}
}

func TestWithoutWaveLeavesLabels(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		base := states.LabelAddress("file", rapid.String().Draw(r, "label"))
		base = states.InstanceAddress(base, rapid.String().Draw(r, "key"))
		if is := states.WithoutWave(base); is != base {
			r.Fatalf("%s became %s", base, is)
		}
		if is := states.WithoutWave(base + "#3"); is != base {
			r.Fatalf("%s#3 became %s", base, is)
		}
	})
}

func TestSource(t *testing.T) {
	site := fstest.MapFS{
		"small": {Data: []byte("small")},
		"large": {Data: []byte(strings.Repeat("x", host.InlineLimit+1))},
	}
	typ := actType[struct {
		Source *states.Source `state:"source" doc:"Source."`
	}]()
	m := states.Define(typ)
	content := func(name, sum string) error {
		r, err := m.Decode(map[string]any{"source": map[string]any{
			"path": name, "sha256": sum, "size": json.Number(fmt.Sprint(len(site[name].Data))),
		}}, site)
		if err != nil {
			return err
		}
		c, err := r.(*struct {
			Source *states.Source `state:"source" doc:"Source."`
		}).Source.Content()
		if err == nil && c.Sum() != sum {
			return fmt.Errorf("the content of %s has the digest %s", name, c.Sum())
		}
		return err
	}
	for name, file := range site {
		sum := sha256.Sum256(file.Data)
		if err := content(name, hex.EncodeToString(sum[:])); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := content("small", strings.Repeat("0", 64)); err == nil || !strings.Contains(err.Error(), "has changed since the site was loaded") {
		t.Errorf("a file that has changed: %v", err)
	}
	if err := content("small", "short"); err == nil {
		t.Error("a source without digest is accepted")
	}
}

func TestInEach(t *testing.T) {
	for _, c := range []struct {
		address, full string
		want          bool
	}{
		{`component.x.state.s`, `component.x["a"].state.s`, true},
		{`component.x["a"].state.s`, `component.x["a"].state.s`, true},
		{`component.x["b"].state.s`, `component.x["a"].state.s`, false},
		{`component.x.state.s`, `component.xy["a"].state.s`, false},
		{`component.x.component.y.file["/etc/motd"]`, `component.x["a.b]"].component.y["\""].file["/etc/motd"]`, true},
		{`component.x.component.y["k"].state.s`, `component.x["a"].component.y["k"].state.s`, true},
		{`component.x.component.y["k"].state.s`, `component.x["a"].component.y["l"].state.s`, false},
		{`component.x["a"].component.y.state.s`, `component.x["a"].component.y["l"].state.s`, true},
		{`component.x.component.y`, `component.x["a"].component.y`, true},
		{`component.x.component.y`, `component.x["a"].component.y["l"]`, false},
		{`component.x`, `component.x["a"]`, false},
		{`component.x.state.s`, `component.x["a"].state.s["k"]`, false},
		{`component.x.state.s["k"]`, `component.x["a"].state.s["k"]`, true},
		{`state.s`, `component.x["a"].state.s`, false},
		{``, `component.x["a"].state.s`, false},
		{`component.x.`, `component.x["a"].`, true},
	} {
		if got := states.InEach(c.address, c.full); got != c.want {
			t.Errorf("InEach(%s, %s) is %v", c.address, c.full, got)
		}
	}
}
