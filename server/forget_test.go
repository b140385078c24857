package server

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/nats-io/nkeys"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/enroll"
	"github.com/tenetcm/tenet/server/store"
)

// enrolledHost takes a host in, and gives its id.
func enrolledHost(t *testing.T, s *Server, name string) trust.ID {
	t.Helper()
	key, err := trust.GenerateKey()
	must(t, err)
	connection, err := nkeys.CreateUser()
	must(t, err)
	public, err := connection.PublicKey()
	must(t, err)
	sealing, err := age.GenerateX25519Identity()
	must(t, err)
	keys := &trust.HostKeys{Identity: key.Public(), Connection: public, Sealing: sealing.Recipient().String(), Number: 1}
	signed, err := trust.Sign(trust.KindHostKeys, keys, key)
	must(t, err)
	text, _, err := s.Hosts.NewToken(t.Context(), enroll.By{Actor: "jane"}, enroll.NewToken{Auto: true})
	must(t, err)
	token, err := trust.ParseToken(text)
	must(t, err)
	_, err = s.Hosts.Join(t.Context(), &identity.JoinRequest{Secret: token.Secret, Keys: signed, Name: name, Value: make([]byte, identity.ValueSize)}, keys, "192.0.2.1")
	must(t, err)
	return key.Public().ID()
}

// hostTables gives the tables that have a row for each host, with what such a row can be: of all columns but host, which is $1.
func hostTables(t *testing.T, dir string) map[string]string {
	t.Helper()
	conn, err := sqlite.OpenConn(filepath.Join(dir, "store", "tenet.db"), sqlite.OpenReadOnly)
	must(t, err)
	defer conn.Close()
	columns := map[string][][2]string{}
	must(t, sqlitex.ExecuteTransient(conn, `SELECT m.name, c.name, c.type FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table' ORDER BY m.name, c.cid`, &sqlitex.ExecOptions{ResultFunc: func(row *sqlite.Stmt) error {
		columns[row.ColumnText(0)] = append(columns[row.ColumnText(0)], [2]string{row.ColumnText(1), row.ColumnText(2)})
		return nil
	}}))
	out := map[string]string{}
	for table, all := range columns {
		if !slices.ContainsFunc(all, func(c [2]string) bool { return c[0] == "host" }) {
			continue
		}
		var names, values []string
		for _, c := range all {
			value := map[string]string{"TEXT": "'shop'", "INT": "7", "BLOB": "CAST('null' AS BLOB)"}[c[1]]
			if c[0] == "host" {
				value = "$1"
			}
			names, values = append(names, c[0]), append(values, value)
		}
		out[table] = fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table, strings.Join(names, ", "), strings.Join(values, ", "))
	}
	return out
}

// Of a host that is forgotten no table has anything, whichever part of the server made it: but what tells of the past. Others keep theirs.
func TestForgetLeavesNothing(t *testing.T) {
	c := config(t.TempDir())
	s := start(t, c)
	gone, stays := enrolledHost(t, s, "gone"), enrolledHost(t, s, "stays")
	tables := hostTables(t, c.Dir)
	if len(tables) < 20 {
		t.Fatalf("there are %d tables with hosts", len(tables))
	}
	past := []string{"access_audit", "deploy_hosts", "update_hosts", "sessions_stream"}
	for _, table := range past {
		delete(tables, table)
	}
	must(t, s.Store.Write(t.Context(), func(tx store.Tx) error {
		if _, err := tx.Exec(`INSERT INTO deploy_revisions (site, number, tree, body) VALUES ('shop', 1, 'shop', $1)`, []byte("{}")); err != nil {
			return err
		}
		for table, sql := range tables {
			for _, id := range []trust.ID{gone, stays} {
				if _, err := tx.Exec(sql, string(id)); err != nil {
					return fmt.Errorf("%s: %w", table, err)
				}
			}
		}
		return nil
	}))
	by := enroll.By{Actor: "jane"}
	if _, err := s.Hosts.Forget(t.Context(), by, gone); code(err) != enroll.CodeState {
		t.Fatalf("a host that was not revoked is forgotten: %v", err)
	}
	_, err := s.Hosts.Revoke(t.Context(), by, gone)
	must(t, err)
	_, err = s.Hosts.Forget(t.Context(), by, gone)
	must(t, err)
	must(t, s.Store.Read(t.Context(), func(r store.Reader) error {
		for table := range tables {
			for id, want := range map[trust.ID]int{gone: 0, stays: 1} {
				var n int
				if _, err := store.One(r, `SELECT COUNT(*) FROM `+table+` WHERE host = $1`, []any{string(id)}, &n); err != nil || n != want {
					t.Errorf("%s has %d rows, want %d: %v", table, n, want, err)
				}
			}
		}
		list, err := access.ListAudit(r, access.AuditFilter{Host: string(gone)})
		if len(list) != 3 || list[0].Action != "host.forget" {
			t.Errorf("the audit has %v", list)
		}
		return err
	}))
	must(t, s.Store.Read(t.Context(), func(r store.Reader) error {
		var version int
		if _, err := store.One(r, `SELECT version FROM deploy_versions WHERE site = 'shop'`, nil, &version); err != nil || version != 1 {
			t.Errorf("rounds of deployments read nothing anew: version %d, %v", version, err)
		}
		return nil
	}))
	list, err := (&hostList{store: s.Store}).List(t.Context())
	must(t, err)
	if len(list) != 1 || list[0].ID != stays {
		t.Errorf("deployments see %v", list)
	}
}

// By itself a server forgets after the time that it was told.
func TestForgetAfterATime(t *testing.T) {
	for _, test := range []struct {
		after time.Duration
		isOut bool
	}{{0, false}, {-1, false}, {time.Nanosecond, true}} {
		c := config(t.TempDir())
		c.ForgetHosts = test.after
		s := start(t, c)
		id := enrolledHost(t, s, "gone")
		_, err := s.Hosts.Revoke(t.Context(), enroll.By{Actor: "jane"}, id)
		must(t, err)
		time.Sleep(time.Millisecond)
		must(t, s.forgetOld(t.Context()))
		if _, err := s.Hosts.Get(t.Context(), id); (code(err) == enroll.CodeNotFound) != test.isOut {
			t.Errorf("after %v: %v", test.after, err)
		}
	}
}
