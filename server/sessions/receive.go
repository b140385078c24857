package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// probeFor is how long an instance may take to say that it is alive, when another one speaks for the same host.
const probeFor = 5 * time.Second

// receive takes a packet in. Who it is from the broker says; whether that host is heard is decided here.
func (s *Sessions) receive(from link.Address, p link.Packet) {
	if !s.Hosts.MayReport(from.Host) {
		// Whichever broker let it in: it has to go.
		if err := s.Broker.Disconnect(from); err != nil {
			s.Failed(err)
		}
		return
	}
	if p.Session != "" {
		s.relays.receive(from, p)
		return
	}
	s.traffic.received.Add(1)
	m, err := control.Decode(p.Data)
	if err == nil {
		err = s.take(context.Background(), from, m)
	}
	if err != nil {
		s.traffic.failed.Add(1)
		s.complain(from.Host, fmt.Errorf("a message of the host %s: %w", from.Host.Short(), err))
	}
}

// take takes a message in.
func (s *Sessions) take(ctx context.Context, from link.Address, m control.Message) error {
	h := s.host(from.Host)
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.publish()
	h.seen = s.Clock()
	h.noteSeen() // a commit may take a while
	h.core.Locked = !s.Hosts.MayReceive(from.Host)
	if h.behind {
		if err := s.reload(ctx, h); err != nil {
			return err
		}
		h.behind = false
	}
	switch m := m.(type) {
	case *control.Hello:
		return s.hello(ctx, h, from, m)
	case *control.Batch:
		return s.batch(ctx, h, from, m)
	case *control.Pulse:
		s.send(from, s.server().Pulse(&h.core, m))
	case *control.Shown:
		return s.shown(ctx, h, m)
	case *control.Claim:
		s.claim(h, from, m)
	default:
		return fmt.Errorf("%T is not an agent's", m)
	}
	return nil
}

// hello answers one. Of a host for which another process has spoken until now, that one is asked whether it is alive.
func (s *Sessions) hello(ctx context.Context, h *host, from link.Address, m *control.Hello) error {
	if m.Trial { // of a program that is tried beside the agent: nothing changes
		core := clone(&h.core)
		s.send(from, s.server().Hello(&core, m))
		return nil
	}
	if h.instance != "" && h.instance != from.Instance {
		now := s.Clock()
		if h.probe == from.Instance && now.Sub(h.probed) <= probeFor {
			h.probe = ""
			h.instance = from.Instance // so that a third one is not taken for these two again
			return s.Hosts.NoticeCopy(ctx, from.Host)
		}
		h.probe, h.probed = h.instance, now
		s.send(link.Address{Host: from.Host, Instance: h.instance}, &control.Wake{})
	}
	before := clone(&h.core)
	boot, program, objections := h.boot, h.core.Program, h.objections
	core := s.server()
	answer := core.Hello(&h.core, m)
	if err := s.noteProgram(ctx, h, program); err != nil {
		h.core = before
		return err
	}
	if h.core.Refused != "" { // what it may have is a release
		h.instance = from.Instance
		s.claims.renew(from, m.Session)
	}
	if _, refused := answer.(*control.Refusal); !refused {
		h.boot, h.objections = m.Boot, s.objections(h, m)
		if boot != h.boot || before.Spoken != h.core.Spoken || !maps.Equal(before.Held, h.core.Held) || !slices.Equal(before.Streams, h.core.Streams) || !isLike(objections, h.objections) {
			if err := s.Store.Write(ctx, h.save); err != nil {
				h.core, h.boot, h.objections = before, boot, objections
				return err
			}
		}
		if h.instance != from.Instance {
			s.relays.drop(link.Address{Host: from.Host, Instance: h.instance})
		}
		h.instance = from.Instance
		s.claims.renew(from, m.Session)
	}
	s.send(from, answer)
	return nil
}

// clone copies a host as far as messages change it.
func clone(h *control.Host) control.Host {
	c := *h
	c.Streams, c.Held = slices.Clone(h.Streams), maps.Clone(h.Held)
	return c
}

// batch takes in what an agent has to tell, and says how far it is stored.
func (s *Sessions) batch(ctx context.Context, h *host, from link.Address, b *control.Batch) error {
	if s.IsFull != nil && s.IsFull() {
		s.limit(h, from, b, noRoom, fullAgain)
		return nil
	}
	before := clone(&h.core)
	taken, answer := s.server().Batch(&h.core, b)
	if !taken {
		s.send(from, answer)
		return nil
	}
	t, err := s.parseItems(ctx, h, b)
	if err != nil {
		h.core = before
		return err
	}
	used, wait, ok := s.spend(h, t.cost())
	if !ok {
		h.core = before
		s.limit(h, from, b, s.overQuota(), wait)
		return nil
	}
	err = s.Store.Write(ctx, func(tx store.Tx) error {
		if err := t.save(tx); err != nil {
			return err
		}
		if err := saveUsage(tx, h.core.ID, used); err != nil {
			return err
		}
		return saveHost(tx, &h.core, h.boot)
	})
	if err != nil {
		h.core = before
		return err
	}
	h.usage, h.limit = used, nil
	t.remember(h)
	s.streamed.wake()
	if t.update != nil {
		h.update = t.update
	}
	s.send(from, answer)
	if s.Told != nil && len(t.items) > 0 {
		s.Told(h.core.ID, t.items)
	}
	return nil
}

// shown looks at what a host holds and the server does not know.
func (s *Sessions) shown(ctx context.Context, h *host, m *control.Shown) error {
	core := s.server()
	was := core.Recovering
	core.Shown(&h.core, m)
	if was == core.Recovering && s.server().Seen == core.Seen {
		return nil
	}
	recovers := false
	err := s.Store.Write(ctx, func(tx store.Tx) error {
		now, _, err := loadServer(tx)
		if recovers = err == nil && core.Seen >= now.Epoch; !recovers { // a recovery from it has ended meanwhile
			return err
		}
		now.Recovering, now.Seen = true, max(now.Seen, core.Seen)
		return saveServer(tx, &now)
	})
	if err != nil || !recovers {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.core.Recovering, s.core.Seen = true, max(s.core.Seen, core.Seen)
	return nil
}

// Resume ends a recovery, as part of a transaction; done is called after the commit. What hosts hold that the server does not know is left to them
// from then on: whoever resumes has seen it.
func (s *Sessions) Resume(tx store.Tx) (done func(), err error) {
	core, _, err := loadServer(tx)
	if err != nil {
		return nil, err
	}
	core.Resume()
	hosts, err := loadHosts(tx)
	if err != nil {
		return nil, err
	}
	accepted := map[trust.ID]map[string]trust.Position{}
	for id, h := range hosts {
		for _, site := range h.core.Unknown() {
			if h.core.Accepted == nil {
				h.core.Accepted = map[string]trust.Position{}
			}
			h.core.Accepted[site] = h.core.Held[site].Position
			accepted[id] = h.core.Accepted
		}
	}
	for id, sites := range accepted {
		data, err := json.Marshal(sites)
		if err != nil {
			return nil, err
		}
		if _, err := tx.Exec(`UPDATE sessions_hosts SET accepted = $1 WHERE host = $2`, data, string(id)); err != nil {
			return nil, err
		}
	}
	return func() {
		s.mu.Lock()
		s.core.Epoch, s.core.Recovering = core.Epoch, false
		s.mu.Unlock()
		for id, sites := range accepted {
			h := s.host(id)
			h.mu.Lock()
			h.core.Accepted = sites
			h.mu.Unlock()
		}
	}, saveServer(tx, &core)
}

// Unknown lists, by host, the sites of which hosts hold something that the server does not know: a person decides on them.
func (s *Sessions) Unknown() map[trust.ID][]string {
	all := map[trust.ID][]string{}
	for _, h := range s.all() {
		h.mu.Lock()
		if sites := h.core.Unknown(); len(sites) > 0 {
			all[h.core.ID] = sites
		}
		h.mu.Unlock()
	}
	return all
}

// names tells whether an assignment names all of some contents.
func (t *Target) names(list []trust.Digest) bool {
	named := make(map[trust.Digest]bool, len(t.Files)+1)
	named[t.Bundle.SHA256] = true
	for _, f := range t.Files {
		named[f.SHA256] = true
	}
	return !slices.ContainsFunc(list, func(d trust.Digest) bool { return !named[d] })
}
