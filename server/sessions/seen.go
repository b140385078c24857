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

// loadSeen reads when hosts were seen last, and gives when any was.
func (s *Sessions) loadSeen(data []byte, hosts map[trust.ID]*host) (newest time.Time, err error) {
	if data == nil {
		return newest, nil
	}
	var seen map[trust.ID]int64
	if err := s.compressor.unpack(data, &seen); err != nil {
		return newest, fmt.Errorf("when hosts were seen last: %w", err)
	}
	for id, at := range seen {
		h := hosts[id]
		if h == nil {
			h = newHost(id)
			hosts[id] = h
		}
		if h.seen = time.UnixMilli(at).UTC(); h.seen.After(newest) {
			newest = h.seen
		}
	}
	return newest, nil
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

// connected tells whether a host is: it was heard of since the server has started, and lately.
func (s *Sessions) connected(h *host, now time.Time) bool {
	return s.isConnected(h.instance != "", h.seen, now)
}

func (s *Sessions) isConnected(hasInstance bool, seen, now time.Time) bool {
	if s.Standby {
		return now.Sub(seen) <= lostAfter+saveSeenEvery && !s.lost(seen)
	}
	return hasInstance && now.Sub(seen) <= lostAfter
}

// lost tells whether a host counts as lost: after the server has started nobody does for a while. That all are silent says nothing of hosts where it is another
// server that hears them. A host that was never heard of is not lost.
func (s *Sessions) lost(seen time.Time) bool {
	if seen.IsZero() { // it was never there
		return false
	}
	if s.Standby {
		s.mu.RLock()
		defer s.mu.RUnlock()
		return s.newest.Sub(seen) > lostAfter
	}
	now := s.Clock()
	return now.Sub(seen) > lostAfter && now.Sub(s.started) > lostAfter
}
