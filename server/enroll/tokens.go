package enroll

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
)

// Token is what is known of a token: never its secret.
type Token struct {
	ID        string            `json:"id" doc:"The beginning of a digest, by which nobody joins."`
	Note      string            `json:"note,omitempty"`
	MadeAt    time.Time         `json:"made_at"`
	MadeBy    string            `json:"made_by"`
	ExpiresAt time.Time         `json:"expires_at"`
	Uses      int64             `json:"uses"`
	Used      int64             `json:"used"`
	Auto      bool              `json:"auto" doc:"The host that asks with it is approved at once."`
	Names     access.Selector   `json:"names" doc:"A selector of what hosts may be called."`
	Labels    map[string]string `json:"labels,omitempty"`
	RevokedAt *time.Time        `json:"revoked_at,omitempty"`
}

// NewToken says what a token is to be.
type NewToken struct {
	Note   string
	Valid  time.Duration     // 0: 1 h
	Uses   int64             // 0: 1
	Auto   bool              // only for one use
	Names  string            // a selector of names; empty: any
	Labels map[string]string // what a host may claim: a glob of values for each name
}

// Limits of tokens.
const (
	defaultValid = time.Hour
	maxValid     = 365 * 24 * time.Hour
	maxUses      = 100_000
	tokenIDSize  = 32 // letters of the digest
)

func (n *NewToken) check() error {
	switch {
	case n.Uses < 0 || n.Uses > maxUses || n.Valid < 0 || n.Valid > maxValid:
		return &diag.HintError{Code: CodeInvalid, Message: "a token is for 1 to 100000 hosts, and for a year at most", Hint: "leave both out for one host within an hour"}
	case n.Auto && n.Uses != 1:
		return &diag.HintError{Code: CodeInvalid, Message: "a token for several hosts approves none of them by itself",
			Hint: "make one for each host, approve them by hand, or let a hook of the server decide"}
	}
	for name, pattern := range n.Labels {
		if _, err := path.Match(pattern, ""); err != nil || !isWord(name) || name == "" {
			return &diag.HintError{Code: CodeInvalid, Message: fmt.Sprintf("%.80q=%.80q is no label with a pattern of its values", name, pattern), Hint: "write role=web, or role=web* for more than one"}
		}
	}
	return nil
}

// NewToken makes a token. Its text is given once, and kept nowhere.
func (r *Registry) NewToken(ctx context.Context, by By, n NewToken) (text string, t *Token, err error) {
	if n.Uses == 0 {
		n.Uses = 1
	}
	if n.Valid == 0 {
		n.Valid = defaultValid
	}
	if n.Names == "" {
		n.Names = access.All
	}
	if err := n.check(); err != nil {
		return "", nil, err
	}
	names, err := access.ParseSelector(n.Names)
	if err != nil {
		return "", nil, err
	}
	if len(r.options.Addresses) == 0 {
		return "", nil, &diag.HintError{Code: CodeInvalid, Message: "the server does not know under which address hosts reach it", Hint: "start it with its address"}
	}
	now := r.now()
	made, err := trust.NewToken(r.options.Addresses[0], r.authority.AuthorityDigest(), now.Add(n.Valid))
	if err != nil {
		return "", nil, err
	}
	t = &Token{ID: tokenID(made), Note: cleanReason(n.Note), MadeAt: now, MadeBy: by.Actor, ExpiresAt: made.Expires, Uses: n.Uses, Auto: n.Auto, Names: names, Labels: n.Labels}
	labels, err := json.Marshal(t.Labels)
	if err != nil {
		return "", nil, err
	}
	err = r.store.Write(ctx, func(tx store.Tx) error {
		if _, err := tx.Exec(`INSERT INTO enroll_tokens (id, note, made_at, made_by, expires_at, uses, used, auto, names, labels)
			VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $8, $9)`, t.ID, t.Note, t.MadeAt, t.MadeBy, t.ExpiresAt, t.Uses, t.Auto, names.String(), string(labels)); err != nil {
			return err
		}
		return by.audit(tx, now, "token.create", "", map[string]string{"token": t.ID, "uses": strconv.FormatInt(t.Uses, 10), "auto": strconv.FormatBool(t.Auto),
			"names": names.String(), "labels": string(labels)})
	})
	return made.String(), t, err
}

func tokenID(t *trust.Token) string { return t.ID().String()[:tokenIDSize] }

const selectTokens = `SELECT id, note, made_at, made_by, expires_at, uses, used, auto, names, labels, revoked_at FROM enroll_tokens`

func scanToken(row store.Row) (*Token, error) {
	t := &Token{}
	var names, labels string
	if err := row.Scan(&t.ID, &t.Note, &t.MadeAt, &t.MadeBy, &t.ExpiresAt, &t.Uses, &t.Used, &t.Auto, &names, &labels, &t.RevokedAt); err != nil {
		return nil, err
	}
	var err error
	if t.Names, err = access.ParseSelector(names); err != nil {
		return nil, err
	}
	return t, json.Unmarshal([]byte(labels), &t.Labels)
}

func readToken(r store.Reader, id string) (t *Token, err error) {
	err = r.Query(selectTokens+` WHERE id = $1`, []any{id}, func(row store.Row) (err error) {
		t, err = scanToken(row)
		return err
	})
	return t, err
}

// Tokens lists those that were made, the newest first. Old ones are forgotten a month after they have expired.
func (r *Registry) Tokens(ctx context.Context) (list []*Token, err error) {
	err = r.store.Read(ctx, func(reader store.Reader) error {
		list = nil
		return reader.Query(selectTokens+` WHERE expires_at > $1 ORDER BY made_at DESC, id`, []any{r.now().Add(-forgetAfter)}, func(row store.Row) error {
			t, err := scanToken(row)
			list = append(list, t)
			return err
		})
	})
	return list, err
}

const forgetAfter = 30 * 24 * time.Hour

// RevokeToken makes a token useless.
func (r *Registry) RevokeToken(ctx context.Context, by By, id string) error {
	return r.store.Write(ctx, func(tx store.Tx) error {
		t, err := readToken(tx, id)
		if err != nil {
			return err
		}
		if t == nil {
			return UnknownToken(id)
		}
		now := r.now()
		if _, err := tx.Exec(`UPDATE enroll_tokens SET revoked_at = COALESCE(revoked_at, $2) WHERE id = $1`, id, now); err != nil {
			return err
		}
		if _, err := tx.Exec(`DELETE FROM enroll_tokens WHERE expires_at < $1`, now.Add(-forgetAfter)); err != nil {
			return err
		}
		return by.audit(tx, now, "token.revoke", "", map[string]string{"token": id})
	})
}

// UnknownToken says that there is no such token.
func UnknownToken(id string) error {
	return &diag.HintError{Code: CodeNotFound, Message: fmt.Sprintf("there is no token %.80q", id), Hint: "list the tokens"}
}

// VoidTokens makes all tokens useless, in a transaction of the caller's: those of a restored server may have been used since.
func (r *Registry) VoidTokens(tx store.Tx) error { return voidTokens(tx, r.now()) }

func voidTokens(tx store.Tx, now time.Time) error {
	_, err := tx.Exec(`UPDATE enroll_tokens SET revoked_at = COALESCE(revoked_at, $1)`, now)
	return err
}

// use takes a use of a token for a host, or says why it lets nobody in.
func (t *Token) use(tx store.Tx, h *Host, now time.Time) error {
	switch {
	case t == nil || t.RevokedAt != nil:
		return &diag.HintError{Code: CodeToken, Message: "the server does not know this token", Hint: "it was made by another server, or revoked: ask for another one"}
	case !now.Before(t.ExpiresAt):
		return &diag.HintError{Code: CodeExpired, Message: "the token has expired at " + t.ExpiresAt.Format(time.RFC3339), Hint: "ask for another one"}
	case t.Used >= t.Uses:
		return &diag.HintError{Code: CodeUsed, Message: "the token was used before, by another host", Hint: "if nobody of yours has used it, it was stolen: look at the hosts that came with it. Ask for another one"}
	case !t.Names.Matches(access.Target{Name: h.Name}):
		return &diag.HintError{Code: CodeClaim, Message: fmt.Sprintf("the token is not for a host called %s", h.Name), Hint: "ask for a token for this name, or join under another one"}
	}
	for name, value := range h.Labels {
		if pattern, ok := t.Labels[name]; !ok || !fitsGlob(pattern, value) {
			return &diag.HintError{Code: CodeClaim, Message: fmt.Sprintf("the token does not let a host claim the label %s=%s", name, value), Hint: "ask for a token with this label, or join without it: a person can give it later"}
		}
	}
	_, err := tx.Exec(`UPDATE enroll_tokens SET used = used + 1 WHERE id = $1`, t.ID)
	return err
}
