package access

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/store"
)

// Entry is one act in the audit. It holds no secrets: nobody ever removes one.
type Entry struct {
	At     time.Time         `json:"at"`     // zero: now
	Actor  string            `json:"actor"`  // Caller.Name; "server" for what it does by itself
	Action string            `json:"action"` // what was done: NOUN.VERB, such as "host.approve"
	Host   string            `json:"host,omitempty"`
	Site   string            `json:"site,omitempty"`
	Reason string            `json:"reason,omitempty"` // as the actor has given it
	Detail map[string]string `json:"detail,omitempty"`
}

// Record is an entry as it was kept.
type Record struct {
	N int64 `json:"n"` // from 1, without holes
	Entry
	Digest string `json:"digest"` // of this entry and of the digest before it, in lower-case hex
}

// Head is the newest entry at some time. Kept elsewhere, it shows later that nothing before it
// was changed, and that nobody has written another history.
type Head struct {
	N      int64  `json:"n"`
	Digest string `json:"digest"`
}

// Audit keeps an entry, in the transaction of the act that it is about. Texts are shortened, and
// tokens in them are hidden.
func Audit(tx store.Tx, e Entry) error {
	if e.Actor == "" || e.Action == "" {
		return fmt.Errorf("an entry of the audit has no actor, or no action: %q, %q", e.Actor, e.Action)
	}
	if e.At.IsZero() {
		e.At = time.Now()
	}
	r := Record{Entry: e.tidy()}
	head, err := readHead(tx)
	if err != nil {
		return err
	}
	r.N = head.N + 1
	detail, err := plainjson.Marshal(r.Detail)
	if err != nil {
		return err
	}
	sum := r.digest(head.Digest, string(detail))
	_, err = tx.Exec(`INSERT INTO access_audit (n, at, actor, action, host, site, reason, detail, digest) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		r.N, r.At, r.Actor, r.Action, r.Host, r.Site, r.Reason, string(detail), sum)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO access_audit_head (one, n, digest) VALUES (1, $1, $2) ON CONFLICT (one) DO UPDATE SET n = excluded.n, digest = excluded.digest`, r.N, sum)
	return err
}

// tidy makes the entry what a store keeps.
func (e Entry) tidy() Entry {
	tidy := func(text string) string {
		text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
		if strings.Contains(text, "tenet_") { // else there is none, and an expression takes its time
			text = regexp.MustCompile(`tenet_[A-Za-z0-9_-]+`).ReplaceAllString(text, "tenet_…")
		}
		return diag.Shorten(text)
	}
	e.At = e.At.UTC().Truncate(time.Microsecond)
	for _, text := range []*string{&e.Actor, &e.Action, &e.Host, &e.Site, &e.Reason} {
		*text = tidy(*text)
	}
	e.Detail = maps.Clone(e.Detail)
	for name, text := range e.Detail {
		e.Detail[name] = tidy(text)
	}
	return e
}

// digest covers each field with its length, so that nothing can be moved from one to the next.
func (r *Record) digest(former, detail string) string {
	sum := sha256.New()
	for _, text := range []string{"tenet.audit/1", former, fmt.Sprint(r.N), fmt.Sprint(r.At.UnixMicro()), r.Actor, r.Action, r.Host, r.Site, r.Reason, detail} {
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text))))
		sum.Write([]byte(text))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// readHead gives the newest entry; zero: there is none.
func readHead(r store.Reader) (h Head, err error) {
	_, err = store.One(r, `SELECT n, digest FROM access_audit_head`, nil, &h.N, &h.Digest)
	return h, err
}

// readRecords calls a function for each entry after a number, oldest first, with its detail as it was kept.
func readRecords(r store.Reader, after, limit int64, each func(r Record, detail string) error) error {
	return r.Query(`SELECT n, at, actor, action, host, site, reason, detail, digest FROM access_audit WHERE n > $1 ORDER BY n LIMIT $2`, []any{after, limit}, func(row store.Row) error {
		record, detail, err := scanRecord(row)
		if err != nil {
			return err
		}
		return each(record, detail)
	})
}

func scanRecord(row store.Row) (r Record, detail string, err error) {
	err = row.Scan(&r.N, &r.At, &r.Actor, &r.Action, &r.Host, &r.Site, &r.Reason, &detail, &r.Digest)
	return r, detail, err
}

// readDetail is for showing: what can be no detail any more is shown as it stands.
func readDetail(text string) map[string]string {
	var out map[string]string
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return map[string]string{"": text}
	}
	return out
}
