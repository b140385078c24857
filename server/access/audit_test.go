package access_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
	"pgregory.net/rapid"
)

func write(t testing.TB, s *store.Store, entries ...access.Entry) {
	t.Helper()
	must(t, s.Write(context.Background(), func(tx store.Tx) error {
		for _, e := range entries {
			if err := access.Audit(tx, e); err != nil {
				return err
			}
		}
		return nil
	}))
}

func written(t testing.TB, n int) *store.Store {
	t.Helper()
	s := open(t)
	var entries []access.Entry
	for i := range n {
		entries = append(entries, access.Entry{At: time.Unix(int64(i), 0), Actor: "alice", Action: "host.approve", Host: fmt.Sprint("web", i), Reason: "new", Detail: map[string]string{"a": "1", "b": "2"}})
	}
	write(t, s, entries...)
	return s
}

func TestVerify(t *testing.T) {
	ctx := context.Background()
	s := open(t)
	head, err := access.Verify(ctx, s)
	if err != nil || head != (access.Head{}) {
		t.Fatal(head, err)
	}
	s = written(t, 5)
	kept, err := access.ReadHead(ctx, s)
	must(t, err)
	write(t, s, access.Entry{Actor: "bob", Action: "host.lock"})
	head, err = access.Verify(ctx, s, kept)
	if err != nil || head.N != 6 {
		t.Fatal(head, err)
	}
	_, err = access.Verify(ctx, s, access.Head{N: 3, Digest: "0"})
	wantCode(t, err, access.CodeBroken)
	_, err = access.Verify(ctx, s, access.Head{N: 9, Digest: kept.Digest})
	wantCode(t, err, access.CodeBroken)
	_, err = access.Verify(ctx, open(t), kept)
	wantCode(t, err, access.CodeBroken)
}

// Whatever is changed in the database behind the server's back is found, where it is.
func TestTampering(t *testing.T) {
	for sql, want := range map[string]int{
		`UPDATE access_audit SET actor = 'bob' WHERE n = 3`:                                                                    3,
		`UPDATE access_audit SET at = 7 WHERE n = 1`:                                                                           1,
		`UPDATE access_audit SET host = 'web', site = '1' WHERE n = 2`:                                                         2,
		`UPDATE access_audit SET reason = '', detail = '{"a":"1"}' WHERE n = 4`:                                                4,
		`UPDATE access_audit SET digest = (SELECT digest FROM access_audit WHERE n = 1) WHERE n = 2`:                           2,
		`DELETE FROM access_audit WHERE n = 2`:                                                                                 2,
		`DELETE FROM access_audit WHERE n = 1`:                                                                                 1,
		`DELETE FROM access_audit WHERE n >= 4`:                                                                                4,
		`DELETE FROM access_audit`:                                                                                             1,
		`DELETE FROM access_audit_head`:                                                                                        5,
		`UPDATE access_audit_head SET n = 4, digest = (SELECT digest FROM access_audit WHERE n = 4)`:                           5,
		`UPDATE access_audit SET n = n + 10 WHERE n = 5`:                                                                       5,
		`INSERT INTO access_audit SELECT 6, at, actor, action, host, site, reason, detail, digest FROM access_audit WHERE n=5`: 6,
	} {
		s := written(t, 5)
		must(t, s.Write(context.Background(), func(tx store.Tx) error {
			n, err := tx.Exec(sql)
			if err == nil && n == 0 {
				err = errors.New("nothing was changed")
			}
			return err
		}))
		_, err := access.Verify(context.Background(), s)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("entry %d:", want)) {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// Who can compute digests can forge one entry, and not hide it: those that come after it tell.
func TestForgedEntry(t *testing.T) {
	ctx := context.Background()
	entry := func(actor string) access.Entry {
		return access.Entry{At: time.Unix(1, 0), Actor: actor, Action: "host.approve"}
	}
	s, forged := open(t), open(t)
	write(t, s, entry("alice"), entry("mallory"), entry("alice"))
	write(t, forged, entry("alice"), entry("bob"))
	head, err := access.ReadHead(ctx, forged)
	must(t, err)
	must(t, s.Write(ctx, func(tx store.Tx) error {
		_, err := tx.Exec("UPDATE access_audit SET actor = 'bob', digest = $1 WHERE n = 2", head.Digest)
		return err
	}))
	if _, err := access.Verify(ctx, s); err == nil || !strings.Contains(err.Error(), "entry 3:") {
		t.Error(err)
	}
}

// Another history, whose chain is whole, is found by a head that was kept elsewhere.
func TestOtherHistory(t *testing.T) {
	ctx := context.Background()
	s := written(t, 3)
	kept, err := access.ReadHead(ctx, s)
	must(t, err)
	other := open(t)
	for range 4 {
		write(t, other, access.Entry{Actor: "alice", Action: "host.revoke"})
	}
	_, err = access.Verify(ctx, other)
	must(t, err)
	_, err = access.Verify(ctx, other, kept)
	wantCode(t, err, access.CodeBroken)
}

// An act that fails leaves no entry, and no hole.
func TestAuditIsPartOfTheTransaction(t *testing.T) {
	ctx := context.Background()
	s := written(t, 1)
	failed := errors.New("failed")
	err := s.Write(ctx, func(tx store.Tx) error {
		return errors.Join(access.Audit(tx, access.Entry{Actor: "alice", Action: "host.lock"}), failed)
	})
	if !errors.Is(err, failed) {
		t.Fatal(err)
	}
	write(t, s, access.Entry{Actor: "alice", Action: "host.unlock"})
	head, err := access.Verify(ctx, s)
	if err != nil || head.N != 2 {
		t.Error(head, err)
	}
}

// Texts of any form are kept, and stay verifiable; tokens are not kept.
func TestHostileEntries(t *testing.T) {
	ctx := context.Background()
	s := open(t)
	token := "tenet_" + strings.Repeat("s3cr3t", 8)
	write(t, s, access.Entry{Actor: "a\x00\xff", Action: "x", Reason: strings.Repeat("x", 1<<20), Detail: map[string]string{"k": "<&>\u2028\x00", "t": "Bearer " + token}},
		access.Entry{Actor: "alice", Action: "x", Reason: "typed " + token, At: time.Unix(1, 999)})
	_, err := access.Verify(ctx, s)
	must(t, err)
	must(t, s.Read(ctx, func(r store.Reader) error {
		return r.Query("SELECT reason, detail FROM access_audit", nil, func(row store.Row) error {
			if text := fmt.Sprint(row); strings.Contains(text, "s3cr3t") || len(text) > 10<<10 {
				t.Error(text)
			}
			return nil
		})
	}))
	if err := s.Write(ctx, func(tx store.Tx) error { return access.Audit(tx, access.Entry{Action: "x"}) }); err == nil {
		t.Error("an entry without an actor was kept")
	}
}

func TestListAudit(t *testing.T) {
	s := written(t, 5)
	must(t, s.Read(context.Background(), func(r store.Reader) error {
		all, err := access.ListAudit(r, access.AuditFilter{Limit: 2})
		if err != nil || len(all) != 2 || all[0].N != 5 || all[1].N != 4 || all[0].Detail["b"] != "2" {
			t.Error(all, err)
		}
		rest, err := access.ListAudit(r, access.AuditFilter{Before: all[1].N, Actor: "alice", Action: "host.approve"})
		if err != nil || len(rest) != 3 {
			t.Error(rest, err)
		}
		for _, f := range []access.AuditFilter{{Actor: "' OR 1=1 --"}, {Action: "x"}, {Host: "web9"}, {Site: "x"}} {
			if none, err := access.ListAudit(r, f); err != nil || len(none) != 0 {
				t.Error(none, err)
			}
		}
		return nil
	}))
}

// Whatever one value of one row is changed to, or whichever rows are removed, is found.
func TestAnyTamperingIsFound(t *testing.T) {
	rapidtest.For(t, "60")
	ctx := context.Background()
	rapid.Check(t, func(r *rapid.T) {
		s := written(t, 8)
		n := rapid.Int64Range(1, 8).Draw(r, "n")
		column := rapid.SampledFrom([]string{"n", "at", "actor", "action", "host", "site", "reason", "detail", "digest", ""}).Draw(r, "column")
		sql, args := "UPDATE access_audit SET "+column+" = $2 WHERE n = $1", []any{n, "x" + rapid.StringMatching("[a-z{}:\",0-9]*").Draw(r, "text")}
		switch column {
		case "n", "at":
			args[1] = rapid.Int64Range(9, 1<<40).Draw(r, "number")
		case "":
			sql, args = "DELETE FROM access_audit WHERE n >= $1 AND n <= $2", []any{n, rapid.Int64Range(n, 8).Draw(r, "to")}
		}
		must(t, s.Write(ctx, func(tx store.Tx) error {
			_, err := tx.Exec(sql, args...)
			return err
		}))
		if _, err := access.Verify(ctx, s); err == nil {
			r.Errorf("%s %v was not found", sql, args)
		}
	})
}
