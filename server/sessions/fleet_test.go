package sessions_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"filippo.io/age"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/agent"
	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/channel"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/orchestrate"
	"github.com/tenetcm/tenet/runtime/runner"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/server/broker/memory"
	"github.com/tenetcm/tenet/server/sessions"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/sqlite"
)

// fleet is a server with agents in one process.
type fleet struct {
	t        *testing.T
	server   trust.PrivateKey
	chain    *trust.Chain
	document *trust.Signed
	store    *store.Store
	broker   *memory.Broker
	sessions *sessions.Sessions
	told     chan *control.Item
	full     atomic.Bool
	quota    int64
	burst    int64
	clock    func() time.Time // nil: time.Now

	mu       sync.Mutex
	hosts    map[trust.ID]*subject
	contents map[trust.Digest][]byte
	starts   int // how many hosts may fetch at once; 0: any number
	begun    map[trust.ID]bool
	copies   []trust.ID
	failed   []error
	fetched  int
	denied   bool // no ticket counts
}

// subject is one host.
type subject struct {
	name   string
	key    trust.PrivateKey
	age    *age.X25519Identity
	dir    string
	root   string
	locked bool
	cancel context.CancelFunc
	done   chan error
	logs   []error
}

func newKey(t *testing.T) trust.PrivateKey {
	t.Helper()
	key, err := trust.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newFleet(t *testing.T, options ...func(*fleet)) *fleet {
	t.Helper()
	f := &fleet{t: t, server: newKey(t), broker: memory.New(), hosts: map[trust.ID]*subject{}, contents: map[trust.Digest][]byte{}, told: make(chan *control.Item, 10000)}
	for _, set := range options {
		set(f)
	}
	recovery := newKey(t)
	var err error
	f.document, err = trust.Sign(trust.KindDocument, trust.Document{Generation: 1, Number: 1, Issued: time.Now(), Recovery: recovery.Public(),
		Keys: []trust.Delegated{{Key: f.server.Public(), Name: "server", Verbs: append(channel.Verbs(), trust.VerbTrust, trust.VerbAssign)}}}, f.server, recovery)
	if err != nil {
		t.Fatal(err)
	}
	if f.chain, err = trust.ParseChain([]*trust.Signed{f.document}); err != nil {
		t.Fatal(err)
	}
	engine, err := sqlite.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if f.store, err = store.New(t.Context(), engine, store.Options{Migrations: append(sessions.Migrations(), sessions.ProgramMigration(), sessions.UsageMigration(), sessions.StreamMigration(), sessions.RunsMigration(), sessions.DriftMigration(), sessions.LinesMigration(), sessions.ObjectionsMigration(), sessions.GapsMigration())}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.store.Close() })
	if _, err := f.store.Campaign(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.open(1)
	t.Cleanup(func() {
		for _, h := range f.hosts {
			f.stop(h)
		}
		f.broker.Close()
		if t.Failed() {
			for _, err := range f.failed {
				t.Log("server:", err)
			}
		}
	})
	return f
}

// open begins the server's part, as each start of the server does.
func (f *fleet) open(term uint64) {
	f.t.Helper()
	var err error
	f.sessions, err = sessions.Open(f.t.Context(), sessions.Options{Store: f.store, Broker: f.broker, Hosts: f, Signer: f, Term: term, IsFull: f.full.Load, Quota: f.quota, Burst: f.burst, Clock: f.clock,
		Told: func(_ trust.ID, items []*control.Item) {
			for _, i := range items {
				f.told <- i
			}
		},
		Failed: func(err error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.failed = append(f.failed, err)
		}})
	if err == nil {
		err = f.sessions.Listen()
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fleet) MayReport(id trust.ID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hosts[id] != nil
}

func (f *fleet) MayReceive(id trust.ID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hosts[id] != nil && !f.hosts[id].locked
}

func (f *fleet) NoticeCopy(_ context.Context, id trust.ID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.copies = append(f.copies, id)
	f.hosts[id].locked = true
	return nil
}

func (f *fleet) Identity(_ context.Context, id trust.ID) (trust.PublicKey, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hosts[id] == nil {
		return trust.PublicKey{}, errors.New("there is no such host")
	}
	return f.hosts[id].key.Public(), nil
}

func (f *fleet) Chain() *trust.Chain { return f.chain }

func (f *fleet) SignAssignment(a *trust.Assignment) (*trust.Signed, error) {
	return trust.Sign(trust.KindAssignment, a, f.server)
}

func (f *fleet) SignRequest(r *trust.Request) (*trust.Signed, error) {
	return trust.Sign(trust.KindRequest, r, f.server)
}

// add makes a host, and starts its agent.
func (f *fleet) add(name string) *subject {
	f.t.Helper()
	h := f.enroll(name)
	f.start(h)
	return h
}

// enroll makes a host without an agent.
func (f *fleet) enroll(name string) *subject {
	f.t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		f.t.Fatal(err)
	}
	h := &subject{name: name, key: newKey(f.t), age: key, dir: f.t.TempDir(), root: f.t.TempDir()}
	f.mu.Lock()
	f.hosts[h.key.Public().ID()] = h
	f.mu.Unlock()
	return h
}

// start starts a host's agent, as after a reboot.
func (f *fleet) start(h *subject) {
	f.t.Helper()
	local, err := host.NewLocal(host.LocalOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	state := filepath.Join(h.dir, "state")
	r := &runner.Runner{Host: local, StateDir: state, Registry: modules.Standard(), Program: "test", Continue: func(context.Context) (func() error, error) {
		return func() error { return nil }, nil
	}}
	id := hostIdentity{h, f}
	a, err := agent.New(agent.Options{
		Dir: filepath.Join(h.dir, "agent"), Identity: id, Unsealing: func() []age.Identity { return []age.Identity{h.age} },
		Connect: func(handler link.Handler) (link.Link, error) {
			return f.broker.Dial(link.Address{Host: id.ID(), Instance: rand.Text()}, handler), nil
		},
		Fetch: f.fetch(id.ID()), Machine: r, Registry: modules.Standard(), StateDir: state, Boot: "boot", RetryBase: 50 * time.Millisecond,
		Serve: func(ctx context.Context, c *wire.Conn, o wire.Opening) error { return runner.Serve(ctx, c, o, r) },
		Log: func(err error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			h.logs = append(h.logs, err)
		},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel, h.done = cancel, make(chan error, 1)
	go func(done chan error) { done <- a.Run(ctx) }(h.done)
}

// stop ends a host's agent.
func (f *fleet) stop(h *subject) {
	if h.cancel == nil {
		return
	}
	h.cancel()
	h.cancel = nil
	if err := <-h.done; err != nil {
		f.t.Error(err)
	}
	if f.t.Failed() {
		for _, err := range h.logs {
			f.t.Logf("%s: %v", h.name, err)
		}
	}
}

func (f *fleet) fetch(id trust.ID) func(context.Context, string, trust.Content, string) (string, error) {
	return func(_ context.Context, dir string, c trust.Content, ticket string) (string, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		data, ok := f.contents[c.SHA256]
		if !ok || ticket != string(id)+c.SHA256.String() || f.denied {
			return "", errors.New("403 that is not for you")
		}
		f.fetched++
		path := filepath.Join(dir, c.SHA256.String())
		return path, os.WriteFile(path, data, 0o600)
	}
}

// want has a site wanted of a host: its text may name the host's folder as ROOT.
func (f *fleet) want(h *subject, text string, files map[string]string) {
	f.t.Helper()
	source := fstest.MapFS{"site.hcl": {Data: bytes.ReplaceAll([]byte(text), []byte("ROOT"), []byte(h.root))}}
	for name, data := range files {
		source[name] = &fstest.MapFile{Data: []byte(data)}
	}
	loaded, list := lang.Load(source, lang.Options{Registry: modules.Standard()})
	if list.HasErrors() {
		f.t.Fatal(list)
	}
	site := &orchestrate.Site{Site: loaded, Origin: "server:/shop"}
	compiled, list, err := site.Compile(f.t.Context(), h.name, nil)
	if err != nil || list.HasErrors() {
		f.t.Fatal(list, err)
	}
	b := bundle.Of(compiled.Job())
	sealed, contents, err := b.Seal(modules.Standard(), h.age.Recipient().String())
	if err != nil {
		f.t.Fatal(err)
	}
	a := &trust.Assignment{Format: trust.AssignmentFormat, Site: "shop", Revision: fmt.Sprint("r", time.Now().UnixNano()), Identity: trust.DigestOf([]byte(text)),
		Bundle: trust.Content{SHA256: trust.DigestOf(sealed), Size: int64(len(sealed))}, Recipient: h.age.Recipient().String(), Program: "test", Until: time.Now().Add(time.Hour)}
	f.mu.Lock()
	f.contents[a.Bundle.SHA256] = sealed
	for _, c := range contents {
		in, err := c.Open()
		if err != nil {
			f.t.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			f.t.Fatal(err)
		}
		f.contents[c.SHA256] = data
		a.Files = append(a.Files, c.Content)
	}
	f.mu.Unlock()
	f.assign(h, a)
}

func (f *fleet) assign(h *subject, a *trust.Assignment) {
	f.t.Helper()
	id := h.key.Public().ID()
	if err := f.store.Write(f.t.Context(), func(tx store.Tx) error { return f.sessions.Assign(tx, id, a) }); err != nil {
		f.t.Fatal(err)
	}
	if err := f.sessions.Wake(f.t.Context(), id); err != nil {
		f.t.Fatal(err)
	}
}

// await waits until an agent tells something.
func (f *fleet) await(what string, is func(*control.Item) bool) *control.Item {
	f.t.Helper()
	limit := time.After(3 * time.Minute) // what is lost is said again after 20 s
	for {
		select {
		case i := <-f.told:
			if is(i) {
				return i
			}
		case <-limit:
			f.t.Fatalf("nobody tells that %s", what)
		}
	}
}

func loopIs(p control.Phase, c control.Condition) func(*control.Item) bool {
	return func(i *control.Item) bool { return i.Loop != nil && i.Loop.Phase == p && i.Loop.Condition == c }
}

func (f *fleet) forgetTargets(id trust.ID) {
	f.t.Helper()
	err := f.store.Write(f.t.Context(), func(tx store.Tx) error {
		_, err := tx.Exec(`DELETE FROM sessions_targets WHERE host = $1`, string(id))
		return err
	})
	if err == nil {
		err = f.sessions.Wake(f.t.Context(), id)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// tryAssign has nothing wanted of a host any more.
func (f *fleet) tryAssign(id trust.ID) error {
	err := f.store.Write(f.t.Context(), func(tx store.Tx) error {
		return f.sessions.Assign(tx, id, &trust.Assignment{Format: trust.AssignmentFormat, Site: "shop", Revision: "r9", Absent: true, Until: time.Now().Add(time.Hour)})
	})
	if err != nil {
		return err
	}
	return f.sessions.Wake(f.t.Context(), id)
}

func (f *fleet) resume() {
	f.t.Helper()
	var done func()
	err := f.store.Write(f.t.Context(), func(tx store.Tx) (err error) {
		done, err = f.sessions.Resume(tx)
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	done()
}
