package update

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// interval is how often a round is made where nobody pokes.
const interval = 2 * time.Second

// lateInterval is how often an update that is done looks for hosts that are late: each time it goes through all of them.
const lateInterval = time.Minute

// restFactor is how many times as long as a round took none follows: while a release rolls each host that tells something asks for one, and each goes through
// all hosts of the update.
const restFactor = 4

// Run drives the newest update until the context ends. What goes wrong is reported once, until it is right again or something else goes wrong.
func (s *Service) Run(ctx context.Context, failed func(error)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	reported := ""
	for {
		begun := time.Now()
		err := s.Round(ctx)
		rest := time.NewTimer(restFactor * time.Since(begun))
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			reported = ""
		case err.Error() != reported:
			reported = err.Error()
			failed(fmt.Errorf("updates of agents: %w", err))
		}
		select {
		case <-ctx.Done():
			return
		case <-rest.C:
		}
		select {
		case <-ctx.Done():
			return
		case <-s.poke:
		case <-ticker.C:
		}
	}
}

// Round looks at the newest update once, brings it as far as it goes, and has hosts run what they are to run by it.
func (s *Service) Round(ctx context.Context) error {
	s.one.Lock()
	defer s.one.Unlock()
	if chain := s.Chain(); chain != s.chain { // who may release may be others now
		s.chain = chain
		s.stale.Store(true)
	}
	// Offers are put right even where the update cannot go on: one that has ended takes its offers back.
	return errors.Join(s.advance(ctx), s.offer(ctx))
}

// advance brings the newest update as far as it goes.
func (s *Service) advance(ctx context.Context) error {
	u, err := s.nextUpdate(ctx)
	if err != nil || u == nil {
		return err
	}
	err = s.bring(ctx, u)
	if s.failure = nil; u.Phase == Done {
		s.failure = err
	}
	return err
}

// bring brings an update as far as it goes.
func (s *Service) bring(ctx context.Context, u *Update) error {
	w, err := s.world(ctx, u)
	if err != nil {
		return err
	}
	before := u.snapshot()
	begun := u.Advance(w)
	if before.equals(u) {
		return nil
	}
	if len(begun) > 0 || u.Phase != before.phase {
		defer s.stale.Store(true) // after a write that failed, too: it may be there all the same
	}
	return s.Store.Write(ctx, func(tx store.Tx) error { return u.save(tx, before) })
}

// nextUpdate gives the newest update, where it is to be looked at now; nil: it is not.
func (s *Service) nextUpdate(ctx context.Context) (u *Update, err error) {
	err = s.Store.Read(ctx, func(r store.Reader) (err error) {
		if u, err = newestHead(r); err != nil || u == nil {
			return err
		}
		isEnded, now := u.isEnded(), s.now()
		if isEnded || u.Phase == Done && !now.Before(s.looked) && now.Before(s.looked.Add(lateInterval)) {
			if u = nil; !isEnded {
				return s.failure
			}
			return nil
		}
		return u.loadHosts(r)
	})
	if err == nil && u != nil && u.Phase == Done {
		s.looked = s.now()
	}
	return u, err
}

// world is what is known now, for an update.
func (s *Service) world(ctx context.Context, u *Update) (World, error) {
	_, release, err := s.release(ctx, u.Version)
	if err != nil {
		return World{}, err
	}
	enrolled, err := s.Hosts(ctx)
	if err != nil {
		return World{}, err
	}
	locked := map[trust.ID]string{}
	for _, h := range u.Hosts {
		locked[h.ID] = "it is not enrolled any more"
	}
	for _, e := range enrolled {
		if _, ok := locked[e.ID]; ok {
			locked[e.ID] = e.Locked
		}
	}
	return World{Now: s.now(), Settles: s.settles, Release: release, Look: func(id trust.ID) Look {
		l := s.Look(id)
		l.Locked = locked[id]
		return l
	}}, nil
}
