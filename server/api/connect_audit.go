package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"

	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/enroll"
	"github.com/tenetcm/tenet/server/store"
)

// auditRequest keeps who has asked a host for what changes something, before it is asked. The site is the one that the caller has named: what an
// apply brings is encrypted.
func (a *API) auditRequest(ctx context.Context, c *access.Caller, h *enroll.Host, site, reason string, q *wire.Request) error {
	detail := map[string]string{"name": h.Name, "operation": string(q.Op)}
	if err := errors.Join(detailExec(q, detail), detailImport(q, detail)); err != nil {
		return err
	}
	switch {
	case q.Site != "":
		site = q.Site
	case q.Sealed != nil:
		site = q.Sealed.Site
	}
	for name, text := range map[string]string{"id": q.ID, "execution": q.Execution, "become": q.BecomeMethod} {
		if text != "" {
			detail[name] = text
		}
	}
	e := access.Entry{Actor: c.Name, Action: "host.request", Host: string(h.ID), Site: site, Detail: detail, Reason: reason}
	if q.Hold != nil {
		e.Reason = q.Hold.Reason
	}
	return a.o.People.Store().Write(ctx, func(tx store.Tx) error { return access.Audit(tx, e) })
}

// detailExec says what a program was given: as a list, so that words are told from one another. What is too long for the audit is named by
// its digest, too, which shows later what it was.
func detailExec(q *wire.Request, detail map[string]string) error {
	if q.Exec == nil {
		return nil
	}
	argv, err := plainjson.Marshal(q.Exec.Argv)
	if err != nil {
		return err
	}
	detail["user"] = q.Exec.User
	if q.Exec.Dir != "" {
		detail["dir"] = q.Exec.Dir
	}
	detailText("argv", argv, detail)
	return nil
}

// detailImport says what was read, and names modules that were brought along for it by their digest.
func detailImport(q *wire.Request, detail map[string]string) error {
	if q.Import == nil {
		return nil
	}
	r := *q.Import
	if r.Modules != nil {
		sum := sha256.Sum256(r.Modules)
		detail["modules_sha256"] = hex.EncodeToString(sum[:])
		r.Modules = nil
	}
	text, err := plainjson.Marshal(r)
	detailText("import", text, detail)
	return err
}

// detailText keeps a text, and its length and digest if it is too long for the audit.
func detailText(name string, text []byte, detail map[string]string) {
	if detail[name] = string(text); len(text) > diag.MaxText {
		sum := sha256.Sum256(text)
		detail[name+"_bytes"], detail[name+"_sha256"] = strconv.Itoa(len(text)), hex.EncodeToString(sum[:])
	}
}
