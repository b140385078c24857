package update

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/server/store"
)

// snapshot is what changes of an update while it goes on.
type snapshot struct {
	phase    Phase
	reason   string
	progress rollout.Progress
	hosts    []Host
}

func (u *Update) snapshot() *snapshot {
	s := &snapshot{phase: u.Phase, reason: u.Reason, progress: u.Progress}
	for _, h := range u.Hosts {
		s.hosts = append(s.hosts, *h)
	}
	return s
}

// equals tells whether nothing has changed since.
func (s *snapshot) equals(u *Update) bool {
	for i, h := range u.Hosts {
		if s.hosts[i] != *h {
			return false
		}
	}
	return s.phase == u.Phase && s.reason == u.Reason && s.progress == u.Progress
}

// save writes an update, with those of its hosts that have changed since before; nil: with all of them.
func (u *Update) save(tx store.Tx, before *snapshot) error {
	body, err := json.Marshal(u)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(`INSERT INTO update_updates (number, phase, body) VALUES ($1, $2, $3) ON CONFLICT (number) DO UPDATE SET phase = $2, body = $3`,
		u.Number, string(u.Phase), body); err != nil {
		return err
	}
	for i, h := range u.Hosts {
		if before != nil && before.hosts[i] == *h {
			continue
		}
		body, err := json.Marshal(h)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(`INSERT INTO update_hosts (number, place, host, turn, body) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (number, host) DO UPDATE SET turn = $4, body = $5`, u.Number, int64(i), string(h.ID), int64(h.Turn), body); err != nil {
			return err
		}
	}
	return nil
}

// load reads an update; an error where there is none.
func load(r store.Reader, number int64) (*Update, error) {
	u, err := loadHead(r, number)
	if err != nil {
		return nil, err
	}
	return u, u.loadHosts(r)
}

// loadHead reads an update without its hosts; an error where there is none.
func loadHead(r store.Reader, number int64) (*Update, error) {
	var body []byte
	found, err := store.One(r, `SELECT body FROM update_updates WHERE number = $1`, []any{number}, &body)
	if err == nil && !found {
		err = &diag.HintError{Code: CodeNotFound, Message: fmt.Sprintf("there is no update %d", number), Hint: "tenet update --status shows the newest"}
	}
	if err != nil {
		return nil, err
	}
	u := &Update{}
	if err := json.Unmarshal(body, u); err != nil {
		return nil, fmt.Errorf("update %d is damaged: %w", number, err)
	}
	return u, nil
}

// loadHosts reads the hosts of an update.
func (u *Update) loadHosts(r store.Reader) error {
	u.Hosts = nil
	return r.Query(`SELECT body FROM update_hosts WHERE number = $1 ORDER BY place`, []any{u.Number}, func(row store.Row) error {
		var body []byte
		if err := row.Scan(&body); err != nil {
			return err
		}
		h := &Host{}
		u.Hosts = append(u.Hosts, h)
		return json.Unmarshal(body, h)
	})
}

// newest reads the newest update; nil: there is none.
func newest(r store.Reader) (*Update, error) {
	u, err := newestHead(r)
	if err != nil || u == nil {
		return nil, err
	}
	return u, u.loadHosts(r)
}

// newestHead reads the newest update without its hosts; nil: there is none.
func newestHead(r store.Reader) (*Update, error) {
	var number int64
	if _, err := store.One(r, `SELECT CAST(COALESCE(MAX(number), 0) AS BIGINT) FROM update_updates`, nil, &number); err != nil || number == 0 {
		return nil, err
	}
	return loadHead(r, number)
}

// Show gives an update; 0: the newest. Who runs the release by now is ready, even if that came after the end.
func (s *Service) Show(ctx context.Context, number int64) (u *Update, err error) {
	err = s.Store.Read(ctx, func(r store.Reader) (err error) {
		if number != 0 {
			u, err = load(r, number)
		} else if u, err = newest(r); err == nil && u == nil {
			err = &diag.HintError{Code: CodeNotFound, Message: "no update of agents was begun yet", Hint: "tenet update VERSION begins one"}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, h := range u.Hosts {
		if l := s.Look(h.ID); u.isRun(&l) {
			h.State, h.Reason = rollout.Ready, ""
		}
	}
	return u, nil
}
