package sessions

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// ProgramMigration makes the table of what agents run. It came after other tables of a server, and stands behind them.
func ProgramMigration() store.Migration {
	return store.Migration{Name: "programs of agents", SQL: `
CREATE TABLE sessions_programs (
	host    TEXT NOT NULL PRIMARY KEY,
	program BYTES NOT NULL,
	state   BYTES NOT NULL
) STRICT;
`}
}

// noteProgram keeps what the agent of a host runs, where that was another one before.
func (s *Sessions) noteProgram(ctx context.Context, h *host, before *trust.Running) error {
	now := h.core.Program
	if now == nil || before != nil && *before == *now {
		return nil
	}
	data, err := json.Marshal(now)
	if err != nil {
		return err
	}
	return s.Store.Write(ctx, func(tx store.Tx) error {
		_, err := tx.Exec(`INSERT INTO sessions_programs (host, program, state) VALUES ($1, $2, $3) ON CONFLICT (host) DO UPDATE SET program = excluded.program`,
			string(h.core.ID), data, []byte("null"))
		return err
	})
}

func saveUpdate(tx store.Tx, id trust.ID, u *control.Update) error {
	data, err := json.Marshal(u)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO sessions_programs (host, program, state) VALUES ($1, $2, $3) ON CONFLICT (host) DO UPDATE SET state = excluded.state`,
		string(id), []byte("null"), data)
	return err
}

func loadPrograms(r store.Reader, get func(string) *host) error {
	return r.Query(`SELECT host, program, state FROM sessions_programs`, nil, func(row store.Row) error {
		var id string
		var program, state []byte
		if err := row.Scan(&id, &program, &state); err != nil {
			return err
		}
		h := get(id)
		if err := json.Unmarshal(program, &h.core.Program); err != nil {
			return fmt.Errorf("what the agent of the host %s runs: %w", id, err)
		}
		if err := json.Unmarshal(state, &h.update); err != nil {
			return fmt.Errorf("how far the host %s is with a release: %w", id, err)
		}
		return nil
	})
}

// Want has a host run a release from now on, of which it may fetch these programs; nil: whatever it runs. Its agent is told that there is something. The
// caller keeps that this is wanted.
func (s *Sessions) Want(id trust.ID, r *control.Release, list []trust.Program) {
	h := s.host(id)
	h.mu.Lock()
	isChanged := r != nil || h.core.Release != nil
	h.core.Release, h.fetchable = r, map[trust.Digest]bool{}
	for _, p := range list {
		h.fetchable[p.SHA256] = true
	}
	to := link.Address{Host: id, Instance: h.instance}
	h.mu.Unlock()
	if to.Instance != "" && isChanged {
		s.send(to, &control.Wake{})
	}
}
