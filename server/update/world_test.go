package update

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/sqlite"
)

// engine is one whose reads can fail, and whose writes are counted.
type engine struct {
	store.Engine
	mu     sync.Mutex
	reads  int
	fail   int // the read that fails, counted from when it is set; 0: none
	writes int // of rows of hosts
}

func (e *engine) Snapshot(ctx context.Context, f func(store.Querier) error) error {
	e.mu.Lock()
	e.reads++
	fails := e.fail == 1
	e.fail = max(e.fail-1, 0)
	e.mu.Unlock()
	if fails {
		return errors.New("the store is away")
	}
	return e.Engine.Snapshot(ctx, f)
}

func (e *engine) Begin(ctx context.Context) (store.Batch, error) {
	b, err := e.Engine.Begin(ctx)
	return &batch{b, e}, err
}

type batch struct {
	store.Batch
	engine *engine
}

func (b *batch) Exec(ctx context.Context, sql string, args []any) (int64, error) {
	if strings.Contains(sql, "INTO update_hosts") {
		b.engine.mu.Lock()
		b.engine.writes++
		b.engine.mu.Unlock()
	}
	return b.Batch.Exec(ctx, sql, args)
}

func (e *engine) count() (reads, writes int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.reads, e.writes
}

// world is a server with releases v1.1.0 and v1.2.0, and hosts h1, h2, … that run v1.0.0.
type world struct {
	*testing.T
	*Service
	engine  *engine
	options Options
	by      *access.Caller

	mu       sync.Mutex
	now      time.Time
	chain    *trust.Chain
	keyless  *trust.Chain // by which nobody may release
	names    map[trust.ID]string
	looks    map[string]Look
	wanted   map[string]string // the version that each host is to run
	listings int               // how often all hosts were listed
	failures []string
}

func newWorld(t *testing.T, count int) *world {
	t.Helper()
	w := &world{T: t, by: &access.Caller{Name: "admin"}, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), names: map[trust.ID]string{}, looks: map[string]Look{}, wanted: map[string]string{}}
	folder, err := contents.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	inner, err := sqlite.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w.engine = &engine{Engine: inner}
	kept, err := store.New(t.Context(), w.engine, store.Options{Migrations: append(access.Migrations(), Migrations()...)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kept.Close() })
	if _, err := kept.Campaign(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range count {
		w.runs(fmt.Sprint("h", i+1), "v1.0.0")
	}
	w.options = Options{Store: kept, Contents: folder, Settle: time.Nanosecond,
		Clock: func() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.now },
		Chain: func() *trust.Chain { w.mu.Lock(); defer w.mu.Unlock(); return w.chain },
		Look:  func(id trust.ID) Look { w.mu.Lock(); defer w.mu.Unlock(); return w.looks[w.names[id]] },
		Hosts: func(context.Context) (list []Enrolled, err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.listings++
			for i := range count {
				name := fmt.Sprint("h", i+1)
				list = append(list, Enrolled{ID: idOf(name), Name: name})
			}
			return list, nil
		},
		Want: func(id trust.ID, r *control.Release, _ []trust.Program) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if delete(w.wanted, w.names[id]); r != nil {
				w.wanted[w.names[id]] = r.Version
			}
		}}
	w.restart()
	w.releases(folder)
	return w
}

// releases makes a key that may release, and gives the server two releases.
func (w *world) releases(to contents.Store) {
	w.Helper()
	var keys [3]trust.PrivateKey
	for i := range keys {
		var err error
		if keys[i], err = trust.GenerateKey(); err != nil {
			w.Fatal(err)
		}
	}
	for _, verb := range []trust.Verb{trust.VerbAssign, trust.VerbRelease} {
		document, err := trust.Sign(trust.KindDocument, trust.Document{Generation: 1, Number: 1, Issued: time.Now(), Recovery: keys[0].Public(), Keys: []trust.Delegated{
			{Key: keys[1].Public(), Name: "server", Verbs: []trust.Verb{trust.VerbTrust}}, {Key: keys[2].Public(), Name: "releases", Verbs: []trust.Verb{verb}}}}, keys[1], keys[0])
		if err != nil {
			w.Fatal(err)
		}
		w.keyless = w.chain
		if w.chain, err = trust.ParseChain([]*trust.Signed{document}); err != nil {
			w.Fatal(err)
		}
	}
	for _, version := range []string{"v1.1.0", "v1.2.0"} {
		program := trust.Content{SHA256: trust.DigestOf([]byte(version)), Size: int64(len(version))}
		signed, err := trust.Sign(trust.KindRelease, trust.Release{Format: trust.ReleaseFormat, Version: version, Programs: []trust.Program{
			{Name: "tenet", OS: "linux", Arch: "amd64", Content: program}}}, keys[2])
		if err == nil {
			err = to.Put(w.Context(), contents.Digest(program.SHA256.String()), strings.NewReader(version))
		}
		if err == nil {
			_, err = w.Add(w.Context(), w.by, signed, "")
		}
		if err != nil {
			w.Fatal(err)
		}
	}
}

// restart is a start of the server: hosts are offered nothing until it says so.
func (w *world) restart() {
	clear(w.wanted)
	w.Service = New(w.options)
	w.later(time.Second) // what connects at once has done so
}

// idOf is the id of a host.
func idOf(name string) trust.ID {
	digest := sha256.Sum256([]byte(name))
	return trust.ID(strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(digest[:])))
}

func (w *world) runs(name, version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names[idOf(name)], w.looks[name] = name, Look{Program: &trust.Running{Name: "tenet", Version: version, OS: "linux", Arch: "amd64"}}
}

func (w *world) later(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// start begins an update, in batches of one host.
func (w *world) start(version string) *Update {
	w.Helper()
	u, err := w.Start(w.Context(), w.by, Request{Version: version, Batch: []string{"1"}})
	if err != nil {
		w.Fatal(err)
	}
	w.round()
	return u
}

func (w *world) round() {
	w.Helper()
	if err := w.Round(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// run drives updates for a while, as a server does.
func (w *world) run() {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	ended := make(chan struct{})
	s := w.Service
	go func() {
		defer close(ended)
		s.Run(ctx, func(err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.failures = append(w.failures, err.Error())
		})
	}()
	before, _ := w.engine.count()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if reads, _ := w.engine.count(); reads >= before+20 {
			break
		}
		if time.Now().After(deadline) {
			w.Error("no rounds are made")
			break
		}
		s.Poke()
	}
	cancel()
	<-ended
}

// expect demands the phase of the newest update, and what hosts are to run: "h1:v1.1.0 …".
func (w *world) expect(phase Phase, want string) *Update {
	w.Helper()
	u, err := w.Show(w.Context(), 0)
	if err != nil {
		w.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for name, version := range w.wanted {
		list = append(list, name+":"+version)
	}
	slices.Sort(list)
	if got := strings.Join(list, " "); u.Phase != phase || got != want {
		w.Errorf("it is %s (%s), and hosts are to run %q, instead of %s and %q", u.Phase, u.Reason, got, phase, want)
	}
	return u
}
