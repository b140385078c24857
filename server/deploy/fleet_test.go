package deploy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/evaluate"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/sqlite"
)

// fleet is a server with many hosts, whose evaluation costs nothing: what is left is what deployments cost themselves.
type fleet struct {
	testing.TB
	*Service
	ann     *access.Caller
	hosts   []Enrolled
	numbers map[string]int // of hosts, by their names
	facts   map[string]json.RawMessage
	engine  *countedEngine

	mu        sync.Mutex
	loops     map[trust.ID]control.Loop
	n         uint64
	reads     func(host string) []string // of which other hosts a host reads the fact "os"; nil: of none
	given     []int                      // of how many hosts each question has had facts
	evaluated int                        // for how many hosts
	now       time.Time
	fails     func(host string) string                // why the site is wrong for a host; nil: for none
	breaks    bool                                    // hosts give up what they get
	own       map[trust.ID]map[string]json.RawMessage // facts of hosts that have others than all
}

// newFleet makes one with so many hosts.
func newFleet(t testing.TB, n int) *fleet {
	t.Helper()
	f := &fleet{TB: t, ann: &access.Caller{Name: "ann", Grants: access.AllGrants()}, loops: map[trust.ID]control.Loop{}, numbers: map[string]int{},
		facts: map[string]json.RawMessage{}, now: time.Unix(1.7e9, 0).UTC(), own: map[trust.ID]map[string]json.RawMessage{}}
	for i := range 30 {
		f.facts[fmt.Sprint("fact", i)] = json.RawMessage(`"a value of some length"`)
	}
	for i := range n {
		f.numbers[fleetName(i)] = i
		sum := sha256.Sum256([]byte(fleetName(i)))
		id := trust.ID(strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])))
		f.hosts = append(f.hosts, Enrolled{ID: id, Name: fleetName(i), Sealing: "age1" + fleetName(i), Labels: map[string]string{"role": "web"}})
	}
	engine, err := sqlite.Open(t.Context(), t.TempDir())
	f.must(err)
	f.engine = &countedEngine{Engine: engine}
	migrations := append(append(access.Migrations(), Migrations()...), PlanMigration(), ClusterMigration(), OutlineMigration(), MembersMigration(), VersionMigration(), PolicyMigration(), ClassMigration())
	s, err := store.New(t.Context(), f.engine, store.Options{Migrations: migrations})
	f.must(err)
	t.Cleanup(func() { _ = s.Close() })
	_, err = s.Campaign(t.Context())
	f.must(err)
	f.Service = New(Options{Store: s, Contents: &memoryContents{kept: map[contents.Digest][]byte{}}, Dir: t.TempDir(), Hosts: f, Seen: f, Targets: f, Evaluate: f, Clock: func() time.Time { return f.now }, Program: "test"})
	return f
}

func fleetName(i int) string { return fmt.Sprintf("host%05d", i) }

func (f *fleet) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// List is Hosts'.
func (f *fleet) List(context.Context) ([]Enrolled, error) { return f.hosts, nil }

// Loop is Seen's.
func (f *fleet) Loop(host trust.ID, _ string) (control.Loop, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l, ok := f.loops[host]
	return l, ok
}

// Held is Seen's.
func (f *fleet) Held(host trust.ID, _ string) trust.Position {
	l, _ := f.Loop(host, "")
	return l.Position
}

// Away is Seen's.
func (f *fleet) Away(trust.ID) time.Time { return time.Time{} }

// Facts is Seen's.
func (f *fleet) Facts(host trust.ID) (map[string]json.RawMessage, time.Time) {
	if own := f.own[host]; own != nil {
		return own, f.now.Add(-time.Hour)
	}
	return f.facts, f.now.Add(-time.Hour)
}

// Outputs is Seen's.
func (f *fleet) Outputs(trust.ID, string) (map[string]json.RawMessage, time.Time) {
	return nil, time.Time{}
}

// Assign is Targets'. The host takes it up at once.
func (f *fleet) Assign(_ store.Tx, host trust.ID, a *trust.Assignment) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	a.Position = trust.Position{Epoch: 1, N: f.n}
	f.loops[host] = control.Loop{Position: a.Position, Phase: control.PhaseWaiting, Condition: control.ConditionConverged}
	if f.breaks {
		f.loops[host] = brokenLoop(a.Position)
	}
	return nil
}

// Wake is Targets'.
func (f *fleet) Wake(context.Context, ...trust.ID) error { return nil }

// Ask is Asker's.
func (f *fleet) Ask(_ context.Context, q evaluate.Question) (*evaluate.Answer, error) {
	f.given = append(f.given, len(q.Facts))
	f.evaluated += len(q.Hosts)
	a := &evaluate.Answer{Name: "shop", Rollout: &site.Rollout{}}
	for _, h := range f.hosts {
		if len(q.Hosts) == 0 {
			a.Hosts = append(a.Hosts, site.Host{Name: h.Name, Executor: "agent"})
		}
	}
	for _, h := range q.Hosts {
		a.Hosts = append(a.Hosts, site.Host{Name: h.Name, Executor: "agent"})
		r := evaluate.Result{Host: h.Name, Identity: trust.DigestOf(fmt.Append(nil, h.Name, q.Dir)), Sealed: []byte("sealed"), Revision: "run", Components: []string{"web"}}
		if f.fails != nil {
			r.Error = f.fails(h.Name)
		}
		for i := range 10 {
			r.Read = append(r.Read, evaluate.ValueOf(q.Facts, h.Name, fmt.Sprint("fact", i)))
		}
		if f.reads != nil {
			for _, other := range f.reads(h.Name) {
				v := evaluate.ValueOf(q.Facts, other, "fact0")
				r.Read = append(r.Read, v)
				if v.Digest.IsZero() {
					r.Error = "a fact is missing"
				}
			}
		}
		a.Results = append(a.Results, r)
	}
	return a, nil
}

// deploy brings a revision with this content to all hosts, and gives the deployment.
func (f *fleet) deploy(content string) *Deployment {
	f.Helper()
	r, err := f.Upload(f.Context(), f.ann, "shop", archive(f, toySite{Name: "shop", Content: content}), "")
	f.must(err)
	d, err := f.Create(f.Context(), f.ann, Request{Site: "shop", Revision: r.Number})
	f.must(err)
	return d
}

// finish has rounds go on until a deployment is done, and gives how many it took.
func (f *fleet) finish(id int64) (rounds int) {
	f.Helper()
	for {
		_, err := f.Round(f.Context())
		f.must(err)
		rounds++
		d, err := f.Brief(f.Context(), f.ann, id)
		f.must(err)
		switch {
		case d.Phase == Done:
			return rounds
		case d.Phase != Planned && d.Phase != Rolling || rounds > len(f.hosts)+100:
			f.Fatalf("after %d rounds it is %s: %+v", rounds, d.Phase, d.Why)
		}
	}
}

// memoryContents keeps contents in memory.
type memoryContents struct {
	mu   sync.Mutex
	kept map[contents.Digest][]byte
}

// Put is contents.Store's.
func (m *memoryContents) Put(_ context.Context, d contents.Digest, r io.Reader) error {
	data, err := io.ReadAll(r)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept[d] = data
	return err
}

// Open is contents.Store's.
func (m *memoryContents) Open(_ context.Context, d contents.Digest, offset int64) (io.ReadCloser, int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.kept[d]
	if !ok {
		return nil, 0, contents.ErrNone
	}
	return io.NopCloser(bytes.NewReader(data[offset:])), int64(len(data)), nil
}

// Remove is contents.Store's.
func (m *memoryContents) Remove(context.Context, contents.Digest, time.Time) error { return nil }

// List is contents.Store's.
func (m *memoryContents) List(context.Context, func(contents.Info) error) error { return nil }

// countedEngine counts what a store has its database do.
type countedEngine struct {
	store.Engine
	mu sync.Mutex
	count
	most, batch int           // statements of one transaction that writes: the most, and of the present one
	held        time.Duration // the longest time from the begin of a transaction that writes to its commit
}

// count is what a database has done.
type count struct{ statements, rows int }

// longest is the most statements that a transaction has had which writes.
func (e *countedEngine) longest() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.most
}

// since gives what was done since it was called last.
func (e *countedEngine) since() count {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.count
	e.count, e.most, e.held = count{}, 0, 0
	return c
}

func (e *countedEngine) add(c count) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.statements, e.rows = e.statements+c.statements, e.rows+c.rows
}

// Snapshot is store.Engine's.
func (e *countedEngine) Snapshot(ctx context.Context, f func(store.Querier) error) error {
	return e.Engine.Snapshot(ctx, func(q store.Querier) error { return f(&countedQuerier{q, e}) })
}

// Begin is store.Engine's.
func (e *countedEngine) Begin(ctx context.Context) (store.Batch, error) {
	b, err := e.Engine.Begin(ctx)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	e.batch = 0
	e.mu.Unlock()
	return &countedBatch{b, countedQuerier{b, e}, time.Now()}, nil
}

type countedQuerier struct {
	store.Querier
	engine *countedEngine
}

// Query is store.Querier's.
func (q *countedQuerier) Query(ctx context.Context, sql string, args []any, each func(store.Row) error) error {
	c := count{statements: 1}
	defer func() { q.engine.add(c) }()
	return q.Querier.Query(ctx, sql, args, func(row store.Row) error {
		c.rows++
		return each(row)
	})
}

type countedBatch struct {
	store.Batch
	reads countedQuerier
	begun time.Time
}

// Commit is store.Batch's.
func (b *countedBatch) Commit(ctx context.Context) error {
	err := b.Batch.Commit(ctx)
	e := b.reads.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	e.held = max(e.held, time.Since(b.begun))
	return err
}

// Query is store.Querier's.
func (b *countedBatch) Query(ctx context.Context, sql string, args []any, each func(store.Row) error) error {
	return b.reads.Query(ctx, sql, args, each)
}

// Exec is store.Batch's.
func (b *countedBatch) Exec(ctx context.Context, sql string, args []any) (int64, error) {
	e := b.reads.engine
	e.add(count{statements: 1})
	e.mu.Lock()
	e.batch++
	e.most = max(e.most, e.batch)
	e.mu.Unlock()
	return b.Batch.Exec(ctx, sql, args)
}
