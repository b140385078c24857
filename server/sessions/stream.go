package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// StreamMigration makes the table of the stream of all hosts. It came after other tables of a server, and stands behind them.
func StreamMigration() store.Migration {
	return store.Migration{Name: "the stream of all hosts", SQL: streamTables}
}

// streamTables hold what hosts tell in the order in which it was taken in: n is the number of a row's first item in the stream of all hosts.
const streamTables = `
CREATE TABLE sessions_stream (
	n     BIGINT NOT NULL PRIMARY KEY,
	count BIGINT NOT NULL,
	host  TEXT NOT NULL,
	at    BIGINT NOT NULL,
	items BYTES NOT NULL
) STRICT;
CREATE INDEX sessions_stream_at ON sessions_stream (at);
`

// Told is one thing that a host has told.
type Told struct {
	Number   int64           `json:"number"` // among what all hosts have told
	Host     trust.ID        `json:"host"`
	Stream   string          `json:"stream"`   // of the host
	Sequence uint64          `json:"sequence"` // in that; of a gap its last one
	Site     string          `json:"site,omitempty"`
	Kind     string          `json:"kind"` // "event", "run", "loop", "update" or "gap"
	At       time.Time       `json:"at"`   // by the host's clock; of a gap by the server's
	Data     json.RawMessage `json:"data"`
}

// The kinds.
const (
	ToldEvent  = "event"  // a control.Event
	ToldRun    = "run"    // a control.Run without its report
	ToldLoop   = "loop"   // a control.Loop
	ToldUpdate = "update" // a control.Update
	ToldGap    = "gap"    // a HostGap
)

// HostGap is what a host could not tell any more.
type HostGap struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
}

// wakeup wakes all who wait for something, once each time.
type wakeup struct {
	mu sync.Mutex
	c  chan struct{}
}

// wait gives what is closed by the next wake.
func (w *wakeup) wait() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.c == nil {
		w.c = make(chan struct{})
	}
	return w.c
}

func (w *wakeup) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.c != nil {
		close(w.c)
		w.c = nil
	}
}

// toldOf gives an item as the stream has it; nil: that is no part of it.
func toldOf(host trust.ID, stream string, number uint64, i *control.Item) (*Told, error) {
	t := &Told{Host: host, Stream: stream, Sequence: number, At: i.At}
	var what any
	switch {
	case i.Event != nil:
		t.Kind, t.Site, what = ToldEvent, i.Event.Site, i.Event
	case i.Run != nil:
		short := *i.Run
		short.Report = nil
		t.Kind, t.Site, what = ToldRun, i.Run.Site, short
	case i.Loop != nil:
		t.Kind, t.Site, what = ToldLoop, i.Loop.Site, i.Loop
	case i.Update != nil:
		t.Kind, what = ToldUpdate, i.Update
	default:
		return nil, nil
	}
	var err error
	t.Data, err = json.Marshal(what)
	return t, err
}

// saveStream adds what a batch tells to the stream of all hosts. Transactions come one after the other, so numbers are committed in their order.
func (t *batchContent) saveStream(tx store.Tx) error {
	list := t.told
	if t.batch.Gap {
		data, err := json.Marshal(HostGap{t.batch.First, t.batch.Last})
		if err != nil {
			return err
		}
		list = []*Told{{Host: t.host, Stream: t.stream, Sequence: t.batch.Last, Kind: ToldGap, At: t.at, Data: data}}
	}
	if len(list) == 0 {
		return nil
	}
	n := int64(1)
	if _, err := store.One(tx, `SELECT n + count FROM sessions_stream ORDER BY n DESC LIMIT 1`, nil, &n); err != nil {
		return err
	}
	for i, one := range list {
		one.Number = n + int64(i)
	}
	data, err := t.compressor.pack(list)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO sessions_stream (n, count, host, at, items) VALUES ($1, $2, $3, $4, $5)`, n, int64(len(list)), string(t.host), t.at, data)
	return err
}

// Stream gives what hosts have told after a number, up to some; first is the oldest number that is kept, and last the newest.
func (s *Sessions) Stream(ctx context.Context, after int64) (list []*Told, first, last int64, err error) {
	const some = 20 // rows
	err = s.Store.Read(ctx, func(r store.Reader) error {
		list, first, last = nil, 1, 0
		if _, err := store.One(r, `SELECT n FROM sessions_stream ORDER BY n LIMIT 1`, nil, &first); err != nil {
			return err
		}
		if _, err := store.One(r, `SELECT n + count - 1 FROM sessions_stream ORDER BY n DESC LIMIT 1`, nil, &last); err != nil {
			return err
		}
		begin, err := beginOfStream(r, after)
		if err != nil {
			return err
		}
		return r.Query(nextInStream, []any{begin, int64(some)}, func(row store.Row) error {
			var data []byte
			if err := row.Scan(&data); err != nil {
				return err
			}
			var items []*Told
			if err := s.compressor.unpack(data, &items); err != nil {
				return fmt.Errorf("what hosts have told is damaged: %w", err)
			}
			for _, one := range items {
				if one.Number > after {
					list = append(list, one)
				}
			}
			return nil
		})
	})
	return list, first, last, err
}

// The queries for the stream: by its key alone, as a reader makes them each time that it is woken.
const (
	rowOfStream  = `SELECT n, count FROM sessions_stream WHERE n <= $1 ORDER BY n DESC LIMIT 1`
	nextInStream = `SELECT items FROM sessions_stream WHERE n >= $1 ORDER BY n LIMIT $2`
)

// beginOfStream gives the number from which on rows have what comes after an item: that of the item's own row, where that has more.
func beginOfStream(r store.Reader, after int64) (int64, error) {
	var n, count int64
	found, err := store.One(r, rowOfStream, []any{after}, &n, &count)
	if err != nil || found && n+count-1 > after {
		return n, err
	}
	return after + 1, nil
}

// StreamEpoch names the numbers of Stream: those of another one, as before the server was restored, mean nothing.
func (s *Sessions) StreamEpoch() uint64 { return s.server().Epoch }

// Streamed gives what is closed once there may be more in the stream.
func (s *Sessions) Streamed() <-chan struct{} { return s.streamed.wait() }
