package sessions

import (
	"context"
	"fmt"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// saveSeenEvery is how often it is kept when hosts were seen last.
const saveSeenEvery = time.Minute

// lostAfter is how long a host may be silent until it counts as lost: three signs of life.
const lostAfter = 3 * control.Heartbeat

// loadSeen reads when hosts were seen last.
func (s *Sessions) loadSeen(data []byte) error {
	if data == nil {
		return nil
	}
	var seen map[trust.ID]int64
	if err := s.compressor.unpack(data, &seen); err != nil {
		return fmt.Errorf("when hosts were seen last: %w", err)
	}
	for id, at := range seen {
		s.host(id).seen = time.UnixMilli(at).UTC()
	}
	return nil
}

// SaveSeen keeps when hosts were seen last, as one value.
func (s *Sessions) SaveSeen(ctx context.Context) error {
	seen := map[trust.ID]int64{}
	for _, h := range s.all() {
		h.mu.Lock()
		if !h.seen.IsZero() {
			seen[h.core.ID] = h.seen.UnixMilli()
		}
		h.mu.Unlock()
	}
	data, err := s.compressor.pack(seen)
	if err != nil {
		return err
	}
	core := s.server()
	return s.Store.Write(ctx, func(tx store.Tx) error {
		n, err := tx.Exec(`UPDATE sessions_server SET last_seen = $1 WHERE id = $2`, data, serverRow)
		if err != nil || n > 0 {
			return err
		}
		if err := saveServer(tx, core); err != nil {
			return err
		}
		_, err = tx.Exec(`UPDATE sessions_server SET last_seen = $1 WHERE id = $2`, data, serverRow)
		return err
	})
}

// tellClaimsEvery is how often hosts are looked at that wait for a turn.
const tellClaimsEvery = time.Second

// Run keeps when hosts were seen last, and answers those that wait for a turn, until the context ends.
func (s *Sessions) Run(ctx context.Context) {
	ticker, claims := time.NewTicker(saveSeenEvery), time.NewTicker(tellClaimsEvery)
	defer ticker.Stop()
	defer claims.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-claims.C:
			s.tellClaims()
		case <-ticker.C:
			if err := s.SaveSeen(ctx); err != nil && ctx.Err() == nil {
				s.Failed(err)
			}
		}
	}
}

// lost tells whether a host counts as lost: after the server has started nobody does for a while.
func (s *Sessions) lost(seen time.Time) bool {
	now := s.Clock()
	return now.Sub(seen) > lostAfter && now.Sub(s.started) > lostAfter
}
