package deploy

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/evaluate"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/sqlite"
	"github.com/tenetcm/tenet/states"
)

// place is a server with hosts, all of which are in memory.
type place struct {
	t testing.TB
	*Service
	now        time.Time
	hosts      []Enrolled
	loops      map[trust.ID]control.Loop
	away       map[trust.ID]time.Time
	held       map[trust.ID]trust.Position
	objections map[trust.ID]*Objection
	facts      map[trust.ID]map[string]json.RawMessage
	since      map[trust.ID]time.Time
	given      map[trust.ID]map[string]json.RawMessage
	when       map[trust.ID]time.Time
	asked      int
	made       map[trust.Digest]string         // of whose cluster an identity makes a host a member
	broken     error                           // of whatever evaluates
	slow       string                          // the host whose evaluation takes too long
	fails      error                           // of Assign, after it has written
	spared     int                             // how many targets are given until it fails
	rows       func(trust.ID) []states.Event   // what a host would do; nil: one thing, by its facts
	stuck      func(context.Context, trust.ID) // what a host does before it plans; nil: nothing
	ann        *access.Caller
	bob        *access.Caller
}

// toySite is what a site is in these tests.
type toySite struct {
	Name    string        `json:"name"`
	Hosts   []string      `json:"hosts"`
	Content string        `json:"content"`
	Rollout *site.Rollout `json:"rollout"`
	Windows site.Schedule `json:"windows"`
	// Reads says of which host's output "port" each reads.
	Reads    map[string]string `json:"reads"`
	Clusters []site.Cluster    `json:"clusters"`
	Rules    bool              `json:"rules"` // it has some
}

func newPlace(t testing.TB, names ...string) *place {
	t.Helper()
	p := &place{t: t, now: time.Unix(1.7e9, 0).UTC(), loops: map[trust.ID]control.Loop{}, away: map[trust.ID]time.Time{}, held: map[trust.ID]trust.Position{}, objections: map[trust.ID]*Objection{},
		facts: map[trust.ID]map[string]json.RawMessage{}, since: map[trust.ID]time.Time{},
		given: map[trust.ID]map[string]json.RawMessage{}, when: map[trust.ID]time.Time{}, made: map[trust.Digest]string{}}
	everything := access.AllGrants()
	p.ann, p.bob = &access.Caller{Name: "ann", Grants: everything}, &access.Caller{Name: "bob", Grants: everything}
	for _, name := range names {
		p.enroll(name)
	}
	engine, err := sqlite.Open(t.Context(), t.TempDir())
	p.must(err)
	migrations := append(append(access.Migrations(), Migrations()...), PlanMigration(), ClusterMigration(), OutlineMigration(), MembersMigration(), VersionMigration(), PolicyMigration(), ClassMigration())
	migrations = append(migrations, store.Migration{Name: "test", SQL: `CREATE TABLE test_assigned (n BIGINT NOT NULL PRIMARY KEY, host TEXT NOT NULL, body BYTES NOT NULL) STRICT;`})
	s, err := store.New(t.Context(), engine, store.Options{Migrations: migrations})
	p.must(err)
	t.Cleanup(func() { _ = s.Close() })
	_, err = s.Campaign(t.Context())
	p.must(err)
	kept, err := contents.OpenFolder(t.TempDir())
	p.must(err)
	t.Cleanup(func() { _ = kept.Close() })
	p.Service = New(Options{Store: s, Contents: kept, Dir: t.TempDir(), Hosts: p, Seen: p, Targets: p, Planner: p, Evaluate: p, Clock: func() time.Time { return p.now }, Program: "test"})
	return p
}

func (p *place) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) enroll(name string) trust.ID {
	id := trust.ID(strings.Repeat(string(rune('a'+len(p.hosts))), 51) + "a")
	p.hosts = append(p.hosts, Enrolled{ID: id, Name: name, Sealing: "age1" + name, Labels: map[string]string{"role": name[:1]}})
	p.tell(id, `"debian"`)
	return id
}

func (p *place) id(name string) trust.ID {
	return p.hosts[slices.IndexFunc(p.hosts, func(e Enrolled) bool { return e.Name == name })].ID
}

func (p *place) tell(id trust.ID, os string) {
	p.facts[id], p.since[id] = map[string]json.RawMessage{"os": json.RawMessage(os)}, p.now
	if p.Service != nil {
		p.Told(id, []*control.Item{{Facts: &control.Facts{}}})
	}
}

// List is Hosts'.
func (p *place) List(context.Context) ([]Enrolled, error) { return slices.Clone(p.hosts), nil }

// Loop is Seen's.
func (p *place) Loop(host trust.ID, _ string) (control.Loop, bool) {
	l, ok := p.loops[host]
	return l, ok
}

// Held is Seen's.
func (p *place) Held(host trust.ID, _ string) trust.Position { return p.held[host] }

// Objection is Objections's.
func (p *place) Objection(host trust.ID, _ string) *Objection { return p.objections[host] }

// Away is Seen's.
func (p *place) Away(host trust.ID) time.Time { return p.away[host] }

// Facts is Seen's.
func (p *place) Facts(host trust.ID) (map[string]json.RawMessage, time.Time) {
	return p.facts[host], p.since[host]
}

// Outputs is Seen's.
func (p *place) Outputs(host trust.ID, _ string) (map[string]json.RawMessage, time.Time) {
	return p.given[host], p.when[host]
}

// give has a host give a port to others.
func (p *place) give(id trust.ID, port string) {
	p.given[id], p.when[id] = map[string]json.RawMessage{"port": json.RawMessage(port)}, p.now
	p.Told(id, []*control.Item{{Outputs: &control.Outputs{Site: "shop"}}})
}

// Assign is Targets'.
func (p *place) Assign(tx store.Tx, host trust.ID, a *trust.Assignment) error {
	var n int64
	if _, err := store.One(tx, `SELECT CAST(COALESCE(MAX(n), 0) + 1 AS BIGINT) FROM test_assigned`, nil, &n); err != nil {
		return err
	}
	a.Position = trust.Position{Epoch: 1, N: uint64(n)}
	if err := a.Check(); err != nil && !strings.Contains(err.Error(), "age1") && !strings.Contains(err.Error(), "key") {
		return err
	}
	body, _ := json.Marshal(a)
	if _, err := tx.Exec(`INSERT INTO test_assigned (n, host, body) VALUES ($1, $2, $3)`, n, string(host), body); err != nil {
		return err
	}
	if p.spared--; p.spared >= 0 {
		return nil
	}
	return p.fails
}

// Wake is Targets'.
func (p *place) Wake(context.Context, ...trust.ID) error { return nil }

// Plan is Planner's.
func (p *place) Plan(ctx context.Context, host trust.ID, _ string, made *Prepared) (*HostPlan, error) {
	if p.stuck != nil {
		p.stuck(ctx, host)
	}
	if p.rows != nil {
		return &HostPlan{Rows: p.rows(host)}, nil
	}
	return &HostPlan{Rows: []states.Event{{Type: "part", Address: "file.motd", Reason: string(p.facts[host]["os"])}}}, nil
}

// Ask is Asker's.
func (p *place) Ask(_ context.Context, q evaluate.Question) (*evaluate.Answer, error) {
	p.asked++
	if p.broken != nil {
		return nil, p.broken
	}
	data, err := os.ReadFile(filepath.Join(q.Dir, "site.json"))
	if err != nil {
		return nil, &diag.HintError{Code: evaluate.CodeSite, Message: "there is no site"}
	}
	var s toySite
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(q.Hosts, func(h evaluate.Recipient) bool { return h.Name == p.slow }) {
		return nil, &diag.HintError{Code: evaluate.CodeLimit, Message: "it takes too long"}
	}
	a := &evaluate.Answer{Name: s.Name, Rollout: s.Rollout, Clusters: s.Clusters}
	for _, name := range s.Hosts {
		a.Hosts = append(a.Hosts, site.Host{Name: name, Executor: "agent", Windows: s.Windows})
	}
	for _, h := range q.Hosts {
		r := evaluate.Result{Host: h.Name, Absent: !slices.Contains(s.Hosts, h.Name), Empty: s.Content == "" && isOfNone(q.Joined, h.Name)}
		r.Read = []evaluate.Value{evaluate.ValueOf(q.Facts, h.Name, "os")}
		r.Identity = trust.DigestOf(fmt.Append(nil, h.Name, s.Content, string(q.Facts[h.Name]["os"]), r.Absent))
		if in := membershipsIn(q.Joined)[h.Name]; in.name != "" {
			text := in.name + ": " + strings.Join(in.members, " ")
			r.Identity = trust.DigestOf(fmt.Append(nil, r.Identity, text))
			p.made[r.Identity] = text
		}
		if s.Rules && q.AllowEmpty {
			r.Identity = trust.DigestOf(fmt.Append(nil, r.Identity, "may be empty"))
		}
		if s.Content == "broken" {
			r.Error = "no such role"
		}
		if giver := s.Reads[h.Name]; giver != "" {
			v := evaluate.Value{Host: giver, Name: "port", IsOutput: true}.In(q.Facts, q.Outputs)
			r.Read = append(r.Read, v)
			r.Identity = trust.DigestOf(fmt.Append(nil, r.Identity, v.Digest))
			if v.Digest.IsZero() {
				r.Waits, r.Identity = []string{"port of " + giver}, trust.Digest{}
			}
		}
		if !r.Absent && len(r.Waits) == 0 {
			r.Sealed = []byte("sealed " + r.Identity.String())
		}
		a.Results = append(a.Results, r)
	}
	return a, nil
}

// archive packs a site.
func archive(t testing.TB, s toySite) *bytes.Buffer {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	if err := w.WriteHeader(&tar.Header{Name: "./site.json", Mode: 0o644, Size: int64(len(data)), Typeflag: tar.TypeReg}); err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write(data)
	_ = w.Close()
	return &out
}

// deploy uploads a site and deploys it.
func (p *place) deploy(s toySite, q Request) *Deployment {
	p.t.Helper()
	r, err := p.Upload(p.t.Context(), p.ann, s.Name, archive(p.t, s), "")
	p.must(err)
	q.Site, q.Revision = r.Site, r.Number
	d, err := p.Create(p.t.Context(), p.ann, q)
	p.must(err)
	return d
}

// assigned lists what hosts were assigned, in order.
func (p *place) assigned() (out []trust.Assignment) {
	p.t.Helper()
	p.must(p.Store.Read(p.t.Context(), func(r store.Reader) error {
		return r.Query(`SELECT body FROM test_assigned ORDER BY n`, nil, func(row store.Row) error {
			var body []byte
			var a trust.Assignment
			if err := row.Scan(&body); err != nil {
				return err
			}
			out = append(out, a)
			return json.Unmarshal(body, &out[len(out)-1])
		})
	}))
	return out
}

// live has hosts that are there converge to what they were assigned.
func (p *place) live() {
	for _, a := range p.assigned() {
		if p.away[a.Host].IsZero() {
			p.loops[a.Host] = control.Loop{Position: a.Position, Phase: control.PhaseWaiting, Condition: control.ConditionConverged}
		}
	}
}

// Round is the service's, with the plans that it has hosts begin.
func (p *place) Round(ctx context.Context) (bool, error) {
	again, err := p.Service.Round(ctx)
	p.plans.all.Wait()
	return again, err
}

// settle goes on until nothing comes of it any more.
func (p *place) settle() {
	p.t.Helper()
	for range 30 {
		_, err := p.Round(p.t.Context())
		p.must(err)
		p.live()
	}
}

func (p *place) get(id int64) *Deployment {
	p.t.Helper()
	d, err := p.Deployment(p.t.Context(), p.ann, id)
	p.must(err)
	return d
}

func (p *place) expect(id int64, phase Phase, code Code) *Deployment {
	p.t.Helper()
	d := p.get(id)
	if d.Phase != phase || d.Why.Code != code {
		p.t.Fatalf("deployment %d is %s (%s), want %s (%s)", id, d.Phase, d.Why.Code, phase, code)
	}
	return d
}

// audited counts the entries of an action.
func (p *place) audited(action string) int {
	p.t.Helper()
	n := 0
	p.must(p.Store.Read(p.t.Context(), func(r store.Reader) error {
		list, err := access.ListAudit(r, access.AuditFilter{Action: action, Limit: 1000})
		n = len(list)
		return err
	}))
	return n
}

func shop(content string, hosts ...string) toySite {
	return toySite{Name: "shop", Hosts: hosts, Content: content, Rollout: &site.Rollout{Batch: []site.Amount{{N: 1}}}}
}

func isOfNone(joined map[string][]string, host string) bool {
	return membershipsIn(joined)[host].name == ""
}
