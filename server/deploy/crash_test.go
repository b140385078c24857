package deploy

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
)

// Whatever people do, and whenever the server ends and starts again or a transaction fails: each target that a host has was
// given by a deployment or by a person's pin, and is in the audit, once and as it is.
func TestTargetsAreAudited(t *testing.T) {
	rapidtest.For(t, "12")
	rapid.Check(t, func(r *rapid.T) {
		names := []string{"web1", "web2", "web3"}
		p := newPlace(t, names...)
		pieces := rapid.IntRange(0, 2).Draw(r, "targets at once")
		p.targetsAtOnce = pieces
		contents := rapid.StringMatching("[ab]")
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			host := p.id(rapid.SampledFrom(names).Draw(r, "host"))
			last := int64(0)
			if list, err := p.Deployments(t.Context(), p.ann, Filter{Site: "shop", Limit: 1}); err == nil && len(list) > 0 {
				last = list[0].ID
			}
			// What cannot be done is refused, and changes nothing.
			switch rapid.IntRange(0, 11).Draw(r, "step") {
			case 0:
				of := shop(contents.Draw(r, "content"), names...)
				of.Rollout.Batch[0].N = rapid.IntRange(1, len(names)).Draw(r, "batch")
				p.deploy(of, Request{})
			case 1:
				p.away[host] = p.now
			case 2:
				delete(p.away, host)
			case 3:
				p.tell(host, fmt.Sprintf("%q", contents.Draw(r, "fact")))
			case 4:
				_, _ = p.Rollback(t.Context(), p.bob, Return{Site: "shop", Hosts: rapid.SampledFrom(names).Draw(r, "back"), To: 0, Why: ""})
			case 5:
				_, _ = p.Unpin(t.Context(), p.bob, "shop", "*", "")
			case 6:
				_, _ = p.Continue(t.Context(), p.bob, last, "")
			case 7:
				_, _ = p.Abort(t.Context(), p.bob, last, "")
			case 8: // another process goes on
				p.Service = New(p.Options)
				p.targetsAtOnce = pieces
			case 9:
				p.now = p.now.Add(time.Duration(rapid.IntRange(-10, 10).Draw(r, "minutes")) * time.Minute)
			case 10:
				p.fails, p.spared = errors.New("the power is cut"), rapid.IntRange(0, 2).Draw(r, "spared")
				_, _ = p.Round(t.Context())
				p.fails = nil
			default:
				_, err := p.Round(t.Context())
				p.must(err)
				p.checkRests(r)
				p.live()
			}
			p.checkKept(r)
		}
		p.checkTargets(r)
	})
}

// Of many targets only so many change in one transaction. Where one fails those before it are there, with their hosts, and nothing of the others; another process does the rest, once.
func TestTargetsInPieces(t *testing.T) {
	names := []string{"web1", "web2", "web3", "web4", "web5"}
	p := newPlace(t, names...)
	p.targetsAtOnce = 2
	all := shop("one", names...)
	all.Rollout = &site.Rollout{} // in one batch
	d := p.deploy(all, Request{})
	_, err := p.Round(t.Context()) // evaluates
	p.must(err)
	p.fails, p.spared = errors.New("the power is cut"), 3
	if _, err := p.Round(t.Context()); !errors.Is(err, p.fails) {
		t.Fatalf("the error is lost: %v; %d targets, %+v", err, len(p.assigned()), p.get(d.ID).Why)
	}
	begun := func() (n int) {
		for _, h := range p.get(d.ID).Hosts {
			if h.Turn > 0 {
				n++
			}
		}
		return n
	}
	if now := p.get(d.ID); len(p.assigned()) != 2 || begun() != 2 || now.Phase != Rolling || now.Progress.Turn != 1 {
		t.Fatalf("there are %d targets, %d hosts have begun, and the deployment is %s in turn %d", len(p.assigned()), begun(), now.Phase, now.Progress.Turn)
	}
	p.fails = nil
	p.Service = New(p.Options)
	p.settle() // the others begin once those are over
	if p.expect(d.ID, Done, ""); len(p.assigned()) != len(names) || p.audited("target.assign") != len(names) {
		t.Errorf("another process has brought it to %d targets, of which %d are in the audit", len(p.assigned()), p.audited("target.assign"))
	}
}

// checkTargets compares what hosts were given with the audit, and with what is kept of it.
func (p *place) checkTargets(r *rapid.T) {
	given := map[string]trust.ID{}
	newest := map[trust.ID]trust.Assignment{}
	for _, a := range p.assigned() {
		given[a.Position.String()], newest[a.Host] = a.Host, a
	}
	var entries []access.Record
	var kept map[trust.ID]*targetRow
	p.must(p.Store.Read(p.t.Context(), func(s store.Reader) (err error) {
		if entries, err = access.ListAudit(s, access.AuditFilter{Action: "target.assign", Limit: 1000}); err == nil {
			kept, err = all[targetRow](s, targetsTable, "shop", "")
		}
		return err
	}))
	if len(entries) != len(given) {
		r.Fatalf("%d targets, %d in the audit", len(given), len(entries))
	}
	for _, e := range entries {
		if string(given[e.Detail["position"]]) != e.Host || e.Reason == "" {
			r.Fatalf("the audit has %+v, and %s got that", e, given[e.Detail["position"]])
		}
	}
	for id, a := range newest {
		if t := kept[id]; t == nil || t.Position != a.Position || t.Identity != a.Identity {
			r.Fatalf("%s has %s, and %+v is kept", id, a.Position, kept[id])
		}
	}
	if len(kept) != len(newest) {
		r.Fatalf("%d hosts have targets, and %d are kept", len(newest), len(kept))
	}
}

// text is something as it would be kept.
func (p *place) text(v any) string {
	p.t.Helper()
	out, err := json.Marshal(v)
	p.must(err)
	return string(out)
}

// checkKept compares what is kept of sites between rounds with what is in the store.
func (p *place) checkKept(r *rapid.T) {
	for name, k := range p.kept {
		now := &keptSite{site: name}
		p.must(p.Store.Read(p.t.Context(), func(s store.Reader) error { return p.readSite(s, now) }))
		if k.version != now.version || k.clusters != now.clusters {
			continue // it is not used any more
		}
		show := func(k *keptSite) string {
			var out []any
			for _, id := range slices.Sorted(maps.Keys(k.deployments)) {
				d := k.deployments[id]
				out = append(out, id, d.Deployment, d.Hosts, k.prepared[preparedOf{d.prepared(), d.evaluationDigest()}])
			}
			return p.text(append(out, k.pins, k.targets, k.rows))
		}
		if a, b := show(k), show(now); a != b {
			r.Fatalf("of %s is kept\n%s\nand in the store is\n%s", name, a, b)
		}
		for id, later := range k.later {
			if later != nil && p.text(later) != p.text(now.later[id]) {
				r.Fatalf("later than deployment %d: %v, and in the store %v", id, later, now.later[id])
			}
		}
	}
}

// checkRests holds deployments that rest to have nothing to do: made to look again, a round changes nothing.
func (p *place) checkRests(r *rapid.T) {
	if len(p.kept) == 0 {
		return
	}
	for _, k := range p.kept {
		for id := range k.deployments {
			if rest, rests := k.rests[id]; !rests || rest.version != k.version || rest.clusters != k.clusters {
				return
			}
		}
	}
	before, asked := p.versions(), p.asked
	for _, k := range p.kept {
		clear(k.rests)
	}
	_, err := p.Round(p.t.Context())
	p.must(err)
	if now := p.versions(); !maps.Equal(before, now) || p.asked != asked {
		r.Fatalf("deployments have rested, and there was something to do: %v, then %v", before, now)
	}
}

// versions are those of all sites.
func (p *place) versions() (list map[string]int64) {
	p.t.Helper()
	p.must(p.Store.Read(p.t.Context(), func(s store.Reader) (err error) {
		list, err = versions(s)
		return err
	}))
	return list
}
