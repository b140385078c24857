package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/states"
)

// Limits of a plan that a host tells.
const (
	maxRows     = 200_000
	maxRowBytes = store.MaxValue / 2 // it is kept as one value, with what belongs to it
	planLimit   = 10 * time.Minute
)

// Plan has a host plan what is sealed to it, on its shadow, and gives the rows. The sealed bundle and its files are contents that the host may fetch for that.
func (s *Sessions) Plan(ctx context.Context, id trust.ID, site string, sealed trust.Content, files []trust.Content) ([]states.Event, error) {
	return s.plan(ctx, id, s.SignAs("the server"), "", &trust.Assignment{Site: site, Bundle: sealed, Files: files})
}

// plan has a host plan for somebody; empty: for the server.
func (s *Sessions) plan(ctx context.Context, id trust.ID, sign Sign, user string, wanted *trust.Assignment) ([]states.Event, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, planLimit, fmt.Errorf("the host has not planned within %v", planLimit))
	defer cancel()
	defer s.offer(id, wanted)()
	conn, _, err := s.Dial(ctx, id, sign, wire.Opening{})
	if err != nil {
		return nil, err
	}
	defer conn.Close() // its end says nothing that matters any more
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	ask := &wire.Sealed{Site: wanted.Site, Bundle: wireContent(wanted.Bundle)}
	for _, f := range wanted.Files {
		ask.Files = append(ask.Files, wireContent(f))
	}
	if err := conn.Send(wire.KindRequest, wire.Request{Op: wire.OpPlan, User: user, From: "the server", Sealed: ask}); err != nil {
		return nil, err
	}
	return rows(conn)
}

// PlanTarget has a host plan what is wanted of it for a site now, for a person whose requests are decided about by sign: the rows say
// what differs. Nothing is wanted: there are none.
func (s *Sessions) PlanTarget(ctx context.Context, id trust.ID, site string, sign Sign, user string) ([]states.Event, error) {
	h := s.known(id)
	if h == nil {
		return nil, nil
	}
	h.mu.Lock()
	t := h.targets[site]
	h.mu.Unlock()
	if t == nil || t.Absent {
		return nil, nil
	}
	return s.plan(ctx, id, sign, user, &trust.Assignment{Site: site, Bundle: t.Bundle, Files: t.Files})
}

func wireContent(c trust.Content) wire.Content {
	return wire.Content{SHA256: c.SHA256.String(), Size: c.Size}
}

// rows reads what a host plans.
func rows(conn *wire.Conn) (list []states.Event, err error) {
	size := 0
	for {
		f, err := conn.Receive()
		if err != nil {
			return nil, fmt.Errorf("the host did not plan: %w", err)
		}
		if size += len(f.Data); size > maxRowBytes || len(list) > maxRows {
			return nil, fmt.Errorf("the host's plan is larger than %d MiB or %d rows", maxRowBytes>>20, maxRows)
		}
		switch f.Kind {
		case wire.KindEvent:
			var ev states.Event
			if err := json.Unmarshal(f.Data, &ev); err != nil {
				return nil, fmt.Errorf("a row of the host's plan: %w", err)
			}
			if ev.Type == states.EventPart {
				list = append(list, ev)
			}
		case wire.KindEnd:
			var end wire.End
			if err := f.Decode(&end); err != nil {
				return nil, err
			}
			if end.Failure != nil {
				return nil, &diag.HintError{Code: end.Failure.Code, Err: fmt.Errorf("%.2000s", diag.Clean(end.Failure.Message, "\n", '�')), Hint: diag.Clean(end.Failure.Hint, "\n", '�')}
			}
			return list, nil
		}
	}
}

// offer lets a host fetch contents of what is not wanted of it yet, until it is taken back.
func (s *Sessions) offer(id trust.ID, wanted *trust.Assignment) (end func()) {
	h := s.host(id)
	o := &Target{Assignment: *wanted}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.offers = append(h.offers, o)
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		for i, one := range h.offers {
			if one == o {
				h.offers = append(h.offers[:i:i], h.offers[i+1:]...)
				return
			}
		}
	}
}

// mayFetch tells whether contents are wanted of a host, or offered to it, for a site.
func (h *host) mayFetch(site string, list []trust.Digest) bool {
	if site == "" {
		return !slices.ContainsFunc(list, func(d trust.Digest) bool { return !h.fetchable[d] })
	}
	if t := h.targets[site]; t != nil && t.names(list) {
		return true
	}
	for _, o := range h.offers {
		if o.Site == site && o.names(list) {
			return true
		}
	}
	return false
}
