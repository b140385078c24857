package sessions

import (
	"context"
	"time"

	"github.com/tenetcm/tenet/server/store"
)

// GapsMigration makes the index by which old gaps are found. It came after other tables of a server, and stands behind them.
func GapsMigration() store.Migration {
	return store.Migration{Name: "gaps by their age", SQL: `CREATE INDEX sessions_gaps_at ON sessions_gaps (at);`}
}

// sweepChunk is how many rows a write of Sweep removes at most: others wait for it meanwhile, and it has only so much time.
const sweepChunk = 200

// sweeps are the statements by which Sweep removes the oldest rows of a table: those from before $1, $2 at most. Of the stream the newest row stays, after
// which numbers go on.
func sweeps() []string {
	return []string{
		`DELETE FROM sessions_events WHERE (host, run, part) IN (SELECT host, run, part FROM sessions_events WHERE at < $1 ORDER BY at LIMIT $2)`,
		`DELETE FROM sessions_runs WHERE (host, run) IN (SELECT host, run FROM sessions_runs WHERE told < $1 ORDER BY told LIMIT $2)`,
		`DELETE FROM sessions_gaps WHERE (host, stream, first) IN (SELECT host, stream, first FROM sessions_gaps WHERE at < $1 ORDER BY at LIMIT $2)`,
		`DELETE FROM sessions_stream WHERE n IN (SELECT n FROM sessions_stream WHERE at < $1 AND n < (SELECT MAX(n) FROM sessions_stream) ORDER BY at LIMIT $2)`,
	}
}

// Sweep removes the events, runs and gaps that were told before a time: by the server's clock, since that of a host may say anything. It does so in many
// writes, between which others come: where it fails some are removed already.
func (s *Sessions) Sweep(ctx context.Context, before time.Time) error {
	for _, sql := range sweeps() {
		if err := removeChunks(ctx, s.Store, sql, before); err != nil {
			return err
		}
	}
	return nil
}

// removeChunks runs a statement that removes as many rows as its last parameter says, each time as a write of its own, until it finds fewer.
func removeChunks(ctx context.Context, to *store.Store, sql string, args ...any) error {
	for {
		var n int64
		err := to.Write(ctx, func(tx store.Tx) (err error) {
			n, err = tx.Exec(sql, append(args[:len(args):len(args)], int64(sweepChunk))...)
			return err
		})
		if err != nil || n < sweepChunk {
			return err
		}
	}
}
