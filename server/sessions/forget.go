package sessions

import (
	"context"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// histories are the statements by which the rows of a host are removed of which there may be many: those of $1, $2 at most.
func histories() []string {
	return []string{
		`DELETE FROM sessions_events WHERE (host, run, part) IN (SELECT host, run, part FROM sessions_events WHERE host = $1 LIMIT $2)`,
		`DELETE FROM sessions_runs WHERE (host, run) IN (SELECT host, run FROM sessions_runs WHERE host = $1 LIMIT $2)`,
		`DELETE FROM sessions_gaps WHERE (host, stream, first) IN (SELECT host, stream, first FROM sessions_gaps WHERE host = $1 LIMIT $2)`,
		`DELETE FROM sessions_outputs WHERE (host, site, name) IN (SELECT host, site, name FROM sessions_outputs WHERE host = $1 LIMIT $2)`,
	}
}

// RemoveHistory removes what there may be much of, of a host that may tell nothing any more: events, runs, gaps and outputs, in many writes. What it has told
// in the stream of all hosts goes by its age.
func (s *Sessions) RemoveHistory(ctx context.Context, id trust.ID) error {
	for _, sql := range histories() {
		if err := removeChunks(ctx, s.Store, sql, string(id)); err != nil {
			return err
		}
	}
	return nil
}

// RemoveHost removes all else that is kept of a host, in a transaction of the caller's, who calls DropHost after the commit.
func (s *Sessions) RemoveHost(tx store.Tx, id trust.ID) error {
	for _, table := range []string{"hosts", "targets", "loops", "reports", "facts", "signed_outputs", "programs", "usage", "objections", "events", "runs", "gaps", "outputs"} {
		if _, err := tx.Exec(`DELETE FROM sessions_`+table+` WHERE host = $1`, string(id)); err != nil {
			return err
		}
	}
	return nil
}

// DropHost takes a host out of memory, and out of what is kept of memory.
func (s *Sessions) DropHost(ctx context.Context, id trust.ID) error {
	h := s.known(id)
	if h == nil {
		return nil
	}
	h.mu.Lock()
	wasSeen := !h.seen.IsZero()
	h.mu.Unlock()
	s.mu.Lock()
	delete(s.hosts, id)
	s.mu.Unlock()
	s.complaints.drop(id)
	if !wasSeen {
		return nil
	}
	return s.SaveSeen(ctx)
}
