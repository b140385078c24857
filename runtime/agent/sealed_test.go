package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/states"
)

// sealFile seals a version of a site with a file to the host, and gives the assignment that names all of it. The server has the contents.
func (w *world) sealFile(site, version, text string) *trust.Assignment {
	w.t.Helper()
	source := map[string]any{"path": "motd", "sha256": trust.DigestOf([]byte(text)).String(), "size": json.Number(fmt.Sprint(len(text)))}
	run := &states.StateRun{Format: states.Format, Site: site, Host: "web", Revision: version, Invocations: []states.Invocation{{Address: "state.x", State: "x",
		Parts: []states.Part{{Address: "file.motd", Type: "file", Values: map[string]any{"path": "/etc/motd", "source": source}}}}}}
	files := states.WithTrees(context.Background(), fstest.MapFS{"motd": {Data: []byte(text)}}, nil)
	sealed, contents, err := bundle.Of(&machine.Job{Run: run, Files: files, Origin: "server:/" + site}).Seal(modules.Standard(), w.sealing.Recipient().String())
	if err != nil {
		w.t.Fatal(err)
	}
	a := &trust.Assignment{Format: trust.AssignmentFormat, Host: w.host.ID, Site: site, Revision: version, Identity: trust.DigestOf([]byte(site + version)),
		Bundle: trust.Content{SHA256: trust.DigestOf(sealed), Size: int64(len(sealed))}, Recipient: w.sealing.Recipient().String(), Program: "test", Until: time.Now().Add(24 * time.Hour)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.contents[a.Bundle.SHA256] = sealed
	for _, c := range contents {
		in, err := c.Open()
		if err != nil {
			w.t.Fatal(err)
		}
		if w.contents[c.SHA256], err = io.ReadAll(in); err != nil {
			w.t.Fatal(err)
		}
		a.Files = append(a.Files, c.Content)
	}
	return a
}

// The signature covers the run, its site, and each file that it needs: what is sealed to the host, and has come by a server that may sign nothing, is carried out
// only as it was signed.
func TestOnlyWhatIsSigned(t *testing.T) {
	for name, test := range map[string]struct {
		site   string // that the bundle is of
		change func(*trust.Assignment)
		why    string // empty: it is carried out
	}{
		"as it was signed":         {"shop", func(*trust.Assignment) {}, ""},
		"a file that is not named": {"shop", func(a *trust.Assignment) { a.Files = nil }, "what was signed does not name it"},
		"a file of another size":   {"shop", func(a *trust.Assignment) { a.Files[0].Size++ }, "what was signed does not name it"},
		"a run of another site":    {"other", func(a *trust.Assignment) { a.Site = "shop" }, "is a run of other"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.mustStart()
				first := w.assign("shop", "1")
				w.wait(time.Minute)
				w.expectConverged("shop", "1", first)
				a := w.sealFile(test.site, "2", "welcome")
				test.change(a)
				at := w.sign(a)
				w.wait(time.Minute)
				if test.why == "" {
					w.expectConverged("shop", "2", at)
				} else if l := w.loop("shop"); w.machine.version("shop") != "1" || w.machine.version("other") != "" || l.Phase != control.PhaseRetrying || !strings.Contains(l.Reason, test.why) {
					t.Errorf("it has %q, and says %+v", w.machine.version("shop"), l)
				}
				w.end()
			})
		})
	}
}

// What was signed and lies here is fetched anew where the disk has damaged it.
func TestDamagedBundleIsFetchedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.mustStart()
		at := w.assign("shop", "1")
		w.wait(time.Minute)
		path := filepath.Join(w.dir, "agent", sealedDir, w.agent.core.Held["shop"].Bundle.SHA256.String())
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, bytes.Repeat([]byte{0}, len(data)), 0o600); err != nil {
			t.Fatal(err)
		}
		w.machine.drift("shop")
		w.wait(2 * time.Hour)
		w.expectConverged("shop", "1", at)
		w.end()
	})
}
