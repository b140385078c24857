package api_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/api/client"
	"github.com/tenetcm/tenet/server/broker/memory"
	"github.com/tenetcm/tenet/server/enroll"
	"github.com/tenetcm/tenet/server/sessions"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/states"
)

func sessionTables() []store.Migration {
	return slices.Concat(sessions.Migrations(), []store.Migration{sessions.ProgramMigration(), sessions.UsageMigration(), sessions.StreamMigration(), sessions.RunsMigration(), sessions.DriftMigration(), sessions.LinesMigration(), sessions.ObjectionsMigration(), sessions.GapsMigration()})
}

// fleetWorld has hosts whose agents the test speaks for.
type fleetWorld struct {
	*hostWorld
	sessions *sessions.Sessions
	broker   *memory.Broker
	secret   string // of a token
	agents   map[trust.ID]*toldAgent
}

func startFleet(t *testing.T) *fleetWorld {
	t.Helper()
	w := &fleetWorld{broker: memory.New(), agents: map[trust.ID]*toldAgent{}}
	w.hostWorld = startHosts(t, func(h *hostWorld, o *api.Options) {
		var err error
		w.sessions, err = sessions.Open(t.Context(), sessions.Options{Store: h.store, Broker: w.broker, Hosts: h.registry, Signer: h.authority, Term: 1, Failed: func(err error) { t.Error(err) }})
		must(t, err)
		must(t, w.sessions.Listen())
		o.Sessions = w.sessions
	})
	t.Cleanup(func() { must(t, w.broker.Close()) })
	w.secret = w.token()
	return w
}

// host takes one in, with labels.
func (w *fleetWorld) host(name string, labels map[string]string) trust.ID {
	w.t.Helper()
	id := w.join(w.secret, name)
	by := enroll.By{Actor: "alice", Allow: func(access.Target) error { return nil }}
	_, err := w.registry.Approve(context.Background(), by, id, enroll.Approval{Labels: labels})
	must(w.t, err)
	return id
}

// want has something wanted of a host for a site.
func (w *fleetWorld) want(id trust.ID, site, revision string) {
	w.t.Helper()
	a := &trust.Assignment{Format: trust.AssignmentFormat, Site: site, Revision: revision, Absent: true, Until: time.Now().Add(time.Hour)}
	must(w.t, w.store.Write(context.Background(), func(tx store.Tx) error { return w.sessions.Assign(tx, id, a) }))
	must(w.t, w.sessions.Wake(context.Background(), id))
}

// ended is the end of a run of what is wanted now, which has changed some parts.
func (w *fleetWorld) ended(id trust.ID, site, run, stateRun string, changed int, ready bool) control.Item {
	at := time.Now()
	return control.Item{Run: &control.Run{Site: site, Run: run, Revision: "7", Started: at.Add(-time.Second), Ended: at, Failed: !ready, Counts: &states.Counts{Changed: changed},
		Report: &states.Report{Host: string(id), Run: run, Revision: stateRun, Ready: ready}}}
}

// loop is where the loop of a host is.
func loop(site string, phase control.Phase, condition control.Condition, reason string) control.Item {
	return control.Item{Loop: &control.Loop{Site: site, Phase: phase, Condition: condition, Reason: reason}}
}

// toldAgent is the agent of a host.
type toldAgent struct {
	link    link.Link
	got     chan control.Message
	session string
	last    uint64
}

// tell has a host tell things, and waits until they are kept.
func (w *fleetWorld) tell(id trust.ID, items ...control.Item) {
	w.t.Helper()
	a := w.agents[id]
	if a == nil {
		a = w.connect(id)
		w.agents[id] = a
	}
	b := &control.Batch{Session: a.session, Stream: "told", First: a.last + 1, Last: a.last + uint64(len(items))}
	for _, i := range items {
		i.At = time.Now()
		data, err := json.Marshal(i)
		must(w.t, err)
		b.Items = append(b.Items, data)
	}
	w.send(a, b)
	if stored := await[*control.Stored](w, a); stored.Through != b.Last {
		w.t.Fatalf("it is stored through %d, not %d", stored.Through, b.Last)
	}
	a.last = b.Last
}

func (w *fleetWorld) connect(id trust.ID) *toldAgent {
	w.t.Helper()
	a := &toldAgent{got: make(chan control.Message, 100), session: rand.Text()}
	connected := make(chan struct{}, 1)
	a.link = w.broker.Dial(link.Address{Host: id, Instance: rand.Text()}, link.Handler{
		Connected: func() { connected <- struct{}{} }, Disconnected: func(error) {},
		Receive: func(p link.Packet) {
			if m, err := control.Decode(p.Data); err == nil {
				a.got <- m
			}
		},
	})
	w.t.Cleanup(func() { a.link.Close() })
	<-connected
	w.send(a, &control.Hello{Versions: []int{control.Version}, Session: a.session, Stream: "told", First: 1})
	await[*control.Answer](w, a)
	return a
}

func (w *fleetWorld) send(a *toldAgent, m control.Message) {
	w.t.Helper()
	data, err := control.Encode(m)
	must(w.t, err)
	must(w.t, a.link.Send(link.Packet{Data: data}))
}

// await waits for a message of a type.
func await[M control.Message](w *fleetWorld, a *toldAgent) M {
	w.t.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case m := <-a.got:
			if one, ok := m.(M); ok {
				return one
			}
		case <-limit:
			w.t.Fatalf("there is no %T", *new(M))
		}
	}
}

// client is that of somebody who is logged in.
func (w *fleetWorld) client(secret string) *client.Client {
	w.t.Helper()
	c, err := client.New(client.Saved{URL: w.server.URL, Authority: trust.DigestOf(w.server.Certificate().Raw), Secret: secret})
	must(w.t, err)
	return c
}

// read gives what somebody gets for a path.
func read[T any](w *fleetWorld, secret, path string) (out T) {
	w.t.Helper()
	r := w.ask("GET", path, secret, "")
	if r.status != 200 {
		w.t.Fatalf("%s: %d %s", path, r.status, r.text)
	}
	must(w.t, json.Unmarshal([]byte(r.text), &out))
	return out
}
