package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"filippo.io/age"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/agent/programs"
	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/channel"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/reconcile"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// world is an agent on a disk that can fail, a machine that notes what is done to it, and a server at the other end of a link in memory. It
// lives in a bubble of package synctest: its hours take no time.
type world struct {
	t        *testing.T
	server   trust.PrivateKey
	identity trust.PrivateKey
	sealing  *age.X25519Identity
	document *trust.Signed
	later    []*trust.Signed // documents that the host has got by renewals
	dir      string          // of contents

	disk    *disk
	limits  streamLimits
	agent   *Agent
	clock   func() time.Time
	end     func()
	machine *fakeMachine

	mu         sync.Mutex
	core       control.Server
	host       control.Host
	items      map[string]map[uint64][]byte // by stream
	contents   map[trust.Digest][]byte
	link       *memoryLink
	cut        bool // nothing comes through
	lose       func(control.Message) bool
	turn       func(*control.Claim) *control.Turn // nil: tickets for all
	held       map[string]trust.Position          // as Hellos said
	objections []control.Objection                // of the newest Hello
	logs       []error
	packets    []link.Packet // of sessions, from the agent

	programs  *programs.Folder // nil: the agent takes no releases up
	telemetry *site.Telemetry  // of what is wanted; nil: none

	tries []string // the versions that it has tried
}

func newKey(t *testing.T) trust.PrivateKey {
	t.Helper()
	key, err := trust.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, server: newKey(t), identity: newKey(t), dir: t.TempDir(), disk: newDisk(), items: map[string]map[uint64][]byte{}, contents: map[trust.Digest][]byte{}, held: map[string]trust.Position{}}
	recovery := newKey(t)
	var err error
	if w.sealing, err = age.GenerateX25519Identity(); err != nil {
		t.Fatal(err)
	}
	w.document, err = trust.Sign(trust.KindDocument, trust.Document{Generation: 1, Number: 1, Issued: time.Now(), Recovery: recovery.Public(),
		Keys: []trust.Delegated{{Key: w.server.Public(), Name: "server", Verbs: append(channel.Verbs(), trust.VerbTrust, trust.VerbAssign, trust.VerbRelease)}}}, w.server, recovery)
	if err != nil {
		t.Fatal(err)
	}
	chain, err := w.chain()
	if err != nil {
		t.Fatal(err)
	}
	w.core = control.Server{Term: 1, Epoch: 1, Chain: chain}
	w.host = control.Host{ID: w.identity.ID(), Targets: map[string]control.Target{}}
	w.machine = &fakeMachine{world: w, applied: map[string]string{}, facts: map[string]any{"hostname": "web"}}
	return w
}

func (w *world) chain() (*trust.Chain, error) {
	return trust.ParseChain(append([]*trust.Signed{w.document}, w.later...))
}

// start starts an agent on what the disk has.
func (w *world) start() error {
	a, err := New(Options{
		Dir: filepath.Join(w.dir, "agent"), Identity: fakeIdentity{w}, Unsealing: func() []age.Identity { return []age.Identity{w.sealing} }, Connect: w.connect,
		Fetch: w.fetch, Machine: w.machine, Registry: modules.Standard(), StateDir: filepath.Join(w.dir, "state"), Boot: "boot",
		Serve: func(context.Context, *wire.Conn, wire.Opening) error { return nil },
		Log: func(err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.logs = append(w.logs, err)
		},
		Clock: w.clock, open: w.disk.open, limits: w.limits,
		Programs: w.programs, Program: &trust.Running{Name: "tenet", Version: "v1.0.0", OS: "linux", Arch: "amd64"},
		Try: func(_ context.Context, _, version string) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.tries = append(w.tries, version)
			return errors.New("it is bad")
		},
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	w.agent = a
	go func() { done <- a.Run(ctx) }()
	w.end = func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, errDead) {
			w.t.Error(err)
		}
		w.end = func() {}
	}
	return nil
}

// mustStart starts an agent, which has no reason not to.
func (w *world) mustStart() {
	w.t.Helper()
	if err := w.start(); err != nil {
		w.t.Fatal(err)
	}
}

// wait lets time pass, and what goes on come to an end.
func (w *world) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// assign has a version of a site wanted.
func (w *world) assign(site, version string) trust.Position {
	w.t.Helper()
	return w.assignKept(site, version, nil)
}

// assignKept says how the host is kept so, too.
func (w *world) assignKept(site, version string, o *reconcile.Options) trust.Position {
	w.t.Helper()
	b := bundle.Of(&machine.Job{Run: &states.StateRun{Format: states.Format, Site: site, Host: "web", Revision: version, Reconcile: o, Telemetry: w.telemetry}, Origin: "server:/" + site})
	sealed, _, err := b.Seal(modules.Standard(), w.sealing.Recipient().String())
	if err != nil {
		w.t.Fatal(err)
	}
	a := &trust.Assignment{Format: trust.AssignmentFormat, Host: w.host.ID, Site: site, Revision: version, Identity: trust.DigestOf([]byte(site + version)),
		Bundle: trust.Content{SHA256: trust.DigestOf(sealed), Size: int64(len(sealed))}, Recipient: w.sealing.Recipient().String(), Program: "test", Until: time.Now().Add(24 * time.Hour)}
	w.mu.Lock()
	w.contents[a.Bundle.SHA256] = sealed
	w.mu.Unlock()
	return w.sign(a)
}

// sign gives an assignment its position, and tells the agent that there is something.
func (w *world) sign(a *trust.Assignment) trust.Position {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	a.Position = w.core.Assign(&w.host, a.Site)
	signed, err := trust.Sign(trust.KindAssignment, a, w.server)
	if err != nil {
		w.t.Fatal(err)
	}
	w.host.Targets[a.Site] = control.Target{Position: a.Position, Signed: signed}
	w.send(&control.Wake{})
	return a.Position
}

// told gives the items that the server has, in order.
func (w *world) told() []*control.Item {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []*control.Item
	for _, s := range w.host.Streams {
		for n := uint64(1); n <= s.Stored; n++ {
			if data, ok := w.items[s.ID][n]; ok {
				item, err := control.ParseItem(data)
				if err != nil {
					w.t.Fatal(err)
				}
				all = append(all, item)
			}
		}
	}
	return all
}

// loop gives what was told last of a site's loop.
func (w *world) loop(site string) control.Loop {
	w.t.Helper()
	var last control.Loop
	for _, i := range w.told() {
		if i.Loop != nil && i.Loop.Site == site {
			last = *i.Loop
		}
	}
	return last
}

// expectConverged demands that a site is as it is wanted, and that the server knows it.
func (w *world) expectConverged(site, version string, at trust.Position) {
	w.t.Helper()
	if l := w.loop(site); l.Phase != control.PhaseWaiting || l.Condition != control.ConditionConverged || l.Position != at {
		w.t.Errorf("of %s the server knows %+v, and %s is wanted", site, l, at)
	}
	if got := w.machine.version(site); got != version {
		w.t.Errorf("of %s the machine has %q, and %q is wanted", site, got, version)
	}
}

func (w *world) fetch(_ context.Context, dir string, c trust.Content, ticket string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	data, ok := w.contents[c.SHA256]
	if !ok || ticket != c.SHA256.String() {
		return "", errors.New("403 that is not for you")
	}
	path := filepath.Join(dir, c.SHA256.String())
	return path, os.WriteFile(path, data, 0o600)
}

// fakeIdentity is who the host is.
type fakeIdentity struct{ *world }

func (i fakeIdentity) ID() trust.ID                         { return i.identity.ID() }
func (i fakeIdentity) Name() string                         { return "web" }
func (i fakeIdentity) Chain() (*trust.Chain, error)         { return i.chain() }
func (i fakeIdentity) KeepDocuments(...*trust.Signed) error { return nil }
func (i fakeIdentity) Keys() *trust.HostKeys {
	return &trust.HostKeys{Identity: i.identity.Public(), Sealing: i.sealing.Recipient().String(), Number: 1}
}
func (i fakeIdentity) Sign(kind trust.Kind, content any) (*trust.Signed, error) {
	return trust.Sign(kind, content, i.identity)
}
