package sessions

import (
	"cmp"
	"fmt"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// What a host may tell. An agent that was cut off for weeks tells all that it has kept at once; after that, so much a day.
const (
	DefaultQuota = 32 << 20 // bytes a day
	DefaultBurst = control.MaxKept + control.MaxKept/8
	batchCost    = 1 << 10 // of what a batch takes besides its items
	runCost      = 256     // and a run
	fullAgain    = 5 * time.Minute
	leastAgain   = time.Minute
	mostAgain    = time.Hour
	day          = 24 * time.Hour
)

// Limit is why nothing that a host tells is taken in until later. Its agent keeps it, and tells it later.
type Limit struct {
	Why   string    `json:"why"`
	Since time.Time `json:"since"`
	Until time.Time `json:"until"` // when its agent is to try again
}

// usage is how much of what a host has told counts against its quota, as of a time: that becomes less from then on.
type usage struct {
	bytes int64
	at    time.Time
}

// now gives what counts at a time; quota is in bytes a day.
func (u usage) now(at time.Time, quota int64) usage {
	if passed := at.Sub(u.at); passed > 0 {
		u.bytes = max(0, u.bytes-int64(float64(quota)*(float64(passed)/float64(day))))
	}
	u.at = at
	return u
}

// UsageMigration makes the table of how much hosts have told. It came after other tables of a server, and stands behind them.
func UsageMigration() store.Migration {
	return store.Migration{Name: "how much hosts have told", SQL: `
CREATE TABLE sessions_usage (
	host  TEXT NOT NULL PRIMARY KEY,
	bytes BIGINT NOT NULL,
	at    BIGINT NOT NULL
) STRICT;
`}
}

func loadUsage(r store.Reader, get func(string) *host) error {
	return r.Query(`SELECT host, bytes, at FROM sessions_usage`, nil, func(row store.Row) error {
		var id string
		var u usage
		if err := row.Scan(&id, &u.bytes, &u.at); err != nil {
			return err
		}
		get(id).usage = u
		return nil
	})
}

func saveUsage(tx store.Tx, id trust.ID, u usage) error {
	_, err := tx.Exec(`INSERT INTO sessions_usage (host, bytes, at) VALUES ($1, $2, $3) ON CONFLICT (host) DO UPDATE SET bytes = excluded.bytes, at = excluded.at`, string(id), u.bytes, u.at)
	return err
}

// cost is what keeping a batch takes, about, in bytes.
func (t *batchContent) cost() int64 {
	sum := int64(batchCost)
	for _, data := range t.batch.Items {
		sum += int64(len(data))
	}
	for _, i := range t.items {
		if i.Run != nil {
			sum += runCost
		}
	}
	return sum
}

// quota is how many bytes a host may tell a day.
func (s *Sessions) quota() int64 { return cmp.Or(s.Quota, DefaultQuota) }

// spend counts a batch against the quota of a host; ok is false, and nothing is counted, where it is more than that. After is when there is room for it.
func (s *Sessions) spend(h *host, cost int64) (after usage, wait time.Duration, ok bool) {
	now := h.usage.now(s.Clock(), s.quota())
	if over := now.bytes + cost - cmp.Or(s.Burst, DefaultBurst); over > 0 && now.bytes > 0 {
		return now, time.Duration(float64(over) / float64(s.quota()) * float64(day)), false
	}
	now.bytes += cost
	return now, 0, true
}

// limit refuses a batch for a while: its agent keeps what it has to tell.
func (s *Sessions) limit(h *host, from link.Address, b *control.Batch, why string, wait time.Duration) {
	if b.Session != h.core.Session { // of an earlier session, whose agent says Hello
		return
	}
	now := s.Clock()
	wait = min(max(wait, leastAgain), mostAgain)
	if h.limit == nil {
		h.limit = &Limit{Since: now}
	}
	h.limit.Why, h.limit.Until = why, now.Add(wait)
	s.traffic.limited.Add(1)
	s.send(from, &control.Refusal{Session: b.Session, Why: why, RetryAfter: wait})
}

// overQuota says what a host has told too much.
func (s *Sessions) overQuota() string {
	return fmt.Sprintf("the host tells more than its quota of %.3g MiB a day: see in its log what runs so often, or raise --host-quota of the server", float64(s.quota())/(1<<20))
}

const noRoom = "the server has no room to keep anything: make room on its volume, or in its database"
