package services

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/agent/daemon"
	"github.com/tenetcm/tenet/server/api/client"
)

// An agent that runs takes other keys up while it runs: it stays the same host and the same process, connects again, and is given what is deployed then.
func TestRotationWhileRunning(t *testing.T) {
	t.Parallel()
	f := newFarm(t, "", 2, "127.0.0.1")
	f.connected(2)
	f.done(f.deploy())
	running, stopped := f.hosts[0], f.hosts[1]
	stopped.end()
	for _, h := range []*farmHost{running, stopped} {
		before, err := f.client.Host(t.Context(), h.name)
		if err != nil {
			t.Fatal(err)
		}
		process := h.cmd
		if h == running {
			refuseRotation(t, filepath.Join(f.dir, h.name+".state"))
		}
		if err := daemon.Rotate(t.Context(), filepath.Join(f.dir, h.name+".state")); err != nil {
			t.Fatal(err)
		}
		after, err := f.client.Host(t.Context(), h.name)
		if err != nil {
			t.Fatal(err)
		}
		if after.ID != before.ID || after.Keys.Connection == before.Keys.Connection || after.Keys.Sealing == before.Keys.Sealing || h.cmd != process {
			t.Errorf("%s: %+v, and was %+v", h.name, after.Keys, before.Keys)
		}
	}
	rotationOfNone(t, filepath.Join(f.dir, stopped.name+".state"))
	stopped.start()
	f.connected(2)
	id := f.deploy()
	f.done(id)
	for _, h := range f.hosts {
		f.check(h)
	}
	n := 0
	for _, err := range f.client.Audit(t.Context(), client.AuditFilter{Action: "host.keys"}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d entries in the audit", n)
	}
}

// refuseRotation has an agent that runs refuse a request for keys, and remove it: the next one is heeded as soon all the same.
func refuseRotation(t *testing.T, stateDir string) {
	t.Helper()
	name := filepath.Join(daemon.Folder(stateDir), "identity", "rotation.json")
	if err := os.WriteFile(name, []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		_, err := os.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil || time.Now().After(end) {
			t.Fatalf("the request is still there (%v)", err)
		}
	}
}

// rotationOfNone wants to be told that whoever has the folder has made no keys of a request.
func rotationOfNone(t *testing.T, stateDir string) {
	t.Helper()
	who, err := daemon.Load(stateDir)
	if err != nil {
		t.Fatal(err)
	}
	defer who.Close()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	go func() {
		for ctx.Err() == nil {
			_ = os.Remove(filepath.Join(daemon.Folder(stateDir), "identity", "rotation.json")) // it may not be there yet
			time.Sleep(10 * time.Millisecond)
		}
	}()
	if err := daemon.Rotate(t.Context(), stateDir); diag.CodeOf(err) != "refused" || diag.HintOf(err) == "" {
		t.Errorf("a request that comes to nothing: %v", err)
	}
}
