package sessions

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// Migrations makes the tables of what is wanted of hosts, and of what they tell.
func Migrations() []store.Migration {
	return []store.Migration{{Name: "sessions of agents", SQL: tables}, {Name: "outputs as they are signed", SQL: `
CREATE TABLE sessions_signed_outputs (
	host   TEXT NOT NULL,
	site   TEXT NOT NULL,
	number BIGINT NOT NULL,
	signed BYTES NOT NULL,
	PRIMARY KEY (host, site)
) STRICT;
`}}
}

const tables = `
CREATE TABLE sessions_server (
	id         BIGINT NOT NULL PRIMARY KEY,
	epoch      BIGINT NOT NULL,
	recovering BIGINT NOT NULL,
	seen_epoch BIGINT NOT NULL,
	last_seen  BYTES
) STRICT;

CREATE TABLE sessions_hosts (
	host     TEXT NOT NULL PRIMARY KEY,
	boot     TEXT NOT NULL,
	held     BYTES NOT NULL,
	accepted BYTES NOT NULL,
	streams  BYTES NOT NULL,
	spoken   BIGINT NOT NULL
) STRICT;

CREATE TABLE sessions_targets (
	host     TEXT NOT NULL,
	site     TEXT NOT NULL,
	epoch    BIGINT NOT NULL,
	n        BIGINT NOT NULL,
	revision TEXT NOT NULL,
	identity TEXT NOT NULL,
	absent   BIGINT NOT NULL,
	signed   BYTES NOT NULL,
	since    BIGINT NOT NULL,
	PRIMARY KEY (host, site)
) STRICT;

CREATE TABLE sessions_loops (
	host    TEXT NOT NULL,
	site    TEXT NOT NULL,
	loop    BYTES NOT NULL,
	since   BIGINT NOT NULL,
	PRIMARY KEY (host, site)
) STRICT;

CREATE TABLE sessions_reports (
	host     TEXT NOT NULL,
	site     TEXT NOT NULL,
	run      TEXT NOT NULL,
	revision TEXT NOT NULL,
	ready    BIGINT NOT NULL,
	at       BIGINT NOT NULL,
	report   BYTES NOT NULL,
	PRIMARY KEY (host, site)
) STRICT;

CREATE TABLE sessions_runs (
	host     TEXT NOT NULL,
	run      TEXT NOT NULL,
	site     TEXT NOT NULL,
	revision TEXT NOT NULL,
	started  BIGINT NOT NULL,
	ended    BIGINT,
	failed   BIGINT NOT NULL,
	counts   BYTES,
	error    TEXT NOT NULL,
	told     BIGINT NOT NULL,
	PRIMARY KEY (host, run)
) STRICT;
CREATE INDEX sessions_runs_told ON sessions_runs (told);
CREATE INDEX sessions_runs_started ON sessions_runs (started);

CREATE TABLE sessions_events (
	host   TEXT NOT NULL,
	run    TEXT NOT NULL,
	part   BIGINT NOT NULL,
	at     BIGINT NOT NULL,
	events BYTES NOT NULL,
	PRIMARY KEY (host, run, part)
) STRICT;
CREATE INDEX sessions_events_at ON sessions_events (at);

CREATE TABLE sessions_facts (
	host   TEXT NOT NULL PRIMARY KEY,
	number BIGINT NOT NULL,
	at     BIGINT NOT NULL,
	signed BYTES NOT NULL
) STRICT;

CREATE TABLE sessions_outputs (
	host  TEXT NOT NULL,
	site  TEXT NOT NULL,
	name  TEXT NOT NULL,
	at    BIGINT NOT NULL,
	value BYTES NOT NULL,
	PRIMARY KEY (host, site, name)
) STRICT;

CREATE TABLE sessions_gaps (
	host   TEXT NOT NULL,
	stream TEXT NOT NULL,
	first  BIGINT NOT NULL,
	last   BIGINT NOT NULL,
	at     BIGINT NOT NULL,
	PRIMARY KEY (host, stream, first)
) STRICT;
`

// serverRow is what a server keeps of itself.
const serverRow = 1

func loadServer(r store.Reader) (core control.Server, lastSeen []byte, err error) {
	var recovering bool
	var epoch, seen int64
	var last *[]byte // nil: none was written since the row was made
	found, err := store.One(r, `SELECT epoch, recovering, seen_epoch, last_seen FROM sessions_server WHERE id = $1`, []any{serverRow}, &epoch, &recovering, &seen, &last)
	if !found {
		epoch = 1
	}
	if last != nil {
		lastSeen = *last
	}
	return control.Server{Epoch: uint64(epoch), Recovering: recovering, Seen: uint64(seen)}, lastSeen, err
}

func saveServer(tx store.Tx, s *control.Server) error {
	_, err := tx.Exec(`INSERT INTO sessions_server (id, epoch, recovering, seen_epoch) VALUES ($1, $2, $3, $4)
		ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch, recovering = excluded.recovering, seen_epoch = excluded.seen_epoch`,
		serverRow, int64(s.Epoch), flag(s.Recovering), int64(s.Seen))
	return err
}

// Restored has a server that was put back from a backup deliver nothing until Resume, in a transaction of the caller's.
func Restored(tx store.Tx) error {
	core, _, err := loadServer(tx)
	if err != nil {
		return err
	}
	core.Recovering = true
	return saveServer(tx, &core)
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// loadHosts reads what is kept of all hosts.
func loadHosts(r store.Reader) (map[trust.ID]*host, error) {
	hosts := map[trust.ID]*host{}
	get := func(id string) *host {
		h := hosts[trust.ID(id)]
		if h == nil {
			h = newHost(trust.ID(id))
			hosts[trust.ID(id)] = h
		}
		return h
	}
	err := r.Query(`SELECT host, boot, held, accepted, streams, spoken FROM sessions_hosts`, nil, func(row store.Row) error {
		var id, boot string
		var held, accepted, streams []byte
		var spoken int64
		if err := row.Scan(&id, &boot, &held, &accepted, &streams, &spoken); err != nil {
			return err
		}
		h := get(id)
		h.boot, h.core.Spoken = boot, int(spoken)
		if err := json.Unmarshal(held, &h.core.Held); err != nil {
			return fmt.Errorf("what the host %s holds: %w", id, err)
		}
		if err := json.Unmarshal(accepted, &h.core.Accepted); err != nil {
			return fmt.Errorf("what the host %s was left: %w", id, err)
		}
		return json.Unmarshal(streams, &h.core.Streams)
	})
	if err != nil {
		return nil, err
	}
	err = r.Query(`SELECT host, site, signed, since FROM sessions_targets`, nil, func(row store.Row) error {
		var id, site string
		var data []byte
		var since time.Time
		if err := row.Scan(&id, &site, &data, &since); err != nil {
			return err
		}
		t, a, err := parseTarget(data)
		if err != nil {
			return fmt.Errorf("what is wanted of the host %s for the site %s: %w", id, site, err)
		}
		h := get(id)
		h.core.Targets[site] = t
		h.targets[site] = &Target{Assignment: *a, Since: since}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := loadReports(r, get); err != nil {
		return nil, err
	}
	if err := loadNames(r, get); err != nil {
		return nil, err
	}
	if err := loadPrograms(r, get); err != nil {
		return nil, err
	}
	if err := loadUsage(r, get); err != nil {
		return nil, err
	}
	if err := loadObjections(r, get); err != nil {
		return nil, err
	}
	return hosts, r.Query(`SELECT host, site, loop, since FROM sessions_loops`, nil, func(row store.Row) error {
		var id, site string
		var data []byte
		l := &Loop{}
		if err := row.Scan(&id, &site, &data, &l.Since); err != nil {
			return err
		}
		get(id).loops[site] = l
		return json.Unmarshal(data, &l.Loop)
	})
}

func loadReports(r store.Reader, get func(string) *host) error {
	return r.Query(`SELECT host, site, run, revision, ready, at, changed, mended, state_run FROM sessions_reports`, nil, func(row store.Row) error {
		var id, site string
		report := &ReportStatus{}
		var changed, mended *time.Time
		if err := row.Scan(&id, &site, &report.Run, &report.Revision, &report.Ready, &report.At, &changed, &mended, &report.stateRun); err != nil {
			return err
		}
		if changed != nil {
			report.Changed = *changed
		}
		if mended != nil {
			report.Mended = *mended
		}
		get(id).reports[site] = report
		return nil
	})
}

func parseTarget(data []byte) (control.Target, *trust.Assignment, error) {
	signed, a := &trust.Signed{}, &trust.Assignment{}
	if err := json.Unmarshal(data, signed); err != nil {
		return control.Target{}, nil, err
	}
	if err := json.Unmarshal(signed.Content, a); err != nil {
		return control.Target{}, nil, err
	}
	return control.Target{Position: a.Position, Signed: signed}, a, nil
}

// TargetSigner is the key whose signature that has what is wanted of a host for a site: the first, should there be several; empty: nothing is wanted.
func (s *Sessions) TargetSigner(r store.Reader, id trust.ID, site string) (trust.ID, error) {
	var data []byte
	found, err := store.One(r, `SELECT signed FROM sessions_targets WHERE host = $1 AND site = $2`, []any{string(id), site}, &data)
	if err != nil || !found {
		return "", err
	}
	t, _, err := parseTarget(data)
	if err != nil {
		return "", fmt.Errorf("what is wanted of the host %s for the site %s: %w", id, site, err)
	}
	if len(t.Signed.Signatures) == 0 {
		return "", nil
	}
	return t.Signed.Signatures[0].Key, nil
}

// saveHost writes what is kept of a host beside its targets.
func saveHost(tx store.Tx, h *control.Host, boot string) error {
	held, err := json.Marshal(h.Held)
	if err != nil {
		return err
	}
	accepted, err := json.Marshal(h.Accepted)
	if err != nil {
		return err
	}
	streams, err := json.Marshal(h.Streams)
	if err != nil {
		return err
	}
	// What was accepted changes by Resume alone.
	_, err = tx.Exec(`INSERT INTO sessions_hosts (host, boot, held, accepted, streams, spoken) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (host) DO UPDATE SET boot = excluded.boot, held = excluded.held, streams = excluded.streams, spoken = excluded.spoken`,
		string(h.ID), boot, held, accepted, streams, int64(h.Spoken))
	return err
}

// saveTarget writes what is wanted of a host.
func saveTarget(tx store.Tx, a *trust.Assignment, signed *trust.Signed, since time.Time) error {
	data, err := json.Marshal(signed)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO sessions_targets (host, site, epoch, n, revision, identity, absent, signed, since) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (host, site) DO UPDATE SET epoch = excluded.epoch, n = excluded.n, revision = excluded.revision, identity = excluded.identity,
			absent = excluded.absent, signed = excluded.signed, since = excluded.since`,
		string(a.Host), a.Site, int64(a.Epoch), int64(a.N), a.Revision, a.Identity.String(), flag(a.Absent), data, since)
	return err
}
