package authority

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// Migrations makes the table of the trust documents.
func Migrations() []store.Migration {
	return []store.Migration{{Name: "trust documents", SQL: `
CREATE TABLE authority_documents (
	generation BIGINT NOT NULL, number BIGINT NOT NULL, signed BYTES NOT NULL,
	PRIMARY KEY (generation, number)
) STRICT;
`}}
}

// Refresh reads the chain anew: on a standby, and when a server has become the active one.
func (a *Authority) Refresh(ctx context.Context) error {
	return a.store.Read(ctx, func(r store.Reader) error {
		chain, err := readChain(r)
		if err == nil {
			a.chain.Store(chain)
		}
		return err
	})
}

// ReadChain reads the chain of a store, whose keys need not be at hand.
func ReadChain(ctx context.Context, s *store.Store) (chain *trust.Chain, err error) {
	err = s.Read(ctx, func(r store.Reader) (err error) {
		chain, err = readChain(r)
		return err
	})
	return chain, err
}

func readChain(r store.Reader) (*trust.Chain, error) {
	var list []*trust.Signed
	err := r.Query(`SELECT signed FROM authority_documents ORDER BY generation, number`, nil, func(row store.Row) error {
		var data []byte
		s := &trust.Signed{}
		if err := row.Scan(&data); err != nil {
			return err
		}
		list = append(list, s)
		return json.Unmarshal(data, s)
	})
	if err != nil {
		return nil, err
	}
	chain, err := trust.ParseChain(list)
	if err != nil {
		return nil, fmt.Errorf("the trust documents in the store are damaged: %w", err)
	}
	return chain, nil
}

// Edit changes a copy of the newest document into the next one.
type Edit func(*trust.Document) error

// AddKey lets a key sign something; one that is there already gets this name and these verbs in the place of its own. The name ServerKey is for the server's own key.
func AddKey(key trust.PublicKey, name string, verbs ...trust.Verb) Edit {
	return func(d *trust.Document) error {
		d.Keys = slices.DeleteFunc(d.Keys, func(k trust.Delegated) bool { return k.Key == key })
		d.Keys = append(d.Keys, trust.Delegated{Key: key, Name: name, Verbs: verbs})
		return nil
	}
}

// RemoveKey takes all verbs from a key.
func RemoveKey(key trust.PublicKey) Edit {
	return func(d *trust.Document) error {
		before := len(d.Keys)
		d.Keys = slices.DeleteFunc(d.Keys, func(k trust.Delegated) bool { return k.Key == key })
		if len(d.Keys) == before {
			return &diag.HintError{Code: "not_found", Message: fmt.Sprintf("the trust document does not name the key %s", key), Hint: "look at the trust document"}
		}
		return nil
	}
}

// Trust issues the next document. In the same transaction a function may write what else belongs to it, such as who has done it; nil: nothing.
func (a *Authority) Trust(ctx context.Context, edit Edit, also func(store.Tx) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.issue(ctx, edit, also)
}

func (a *Authority) issue(ctx context.Context, edit Edit, also func(store.Tx) error, with ...trust.PrivateKey) error {
	if err := a.mayTrust(); err != nil {
		return err
	}
	return a.add(ctx, also, func(c *trust.Chain) (*trust.Signed, error) {
		next, err := follow(c.Newest())
		if err != nil {
			return nil, err
		}
		next.Number, next.Issued = next.Number+1, a.now()
		if err := edit(next); err != nil {
			return nil, err
		}
		if err := next.Check(); err != nil {
			return nil, invalid(fmt.Errorf("this makes no trust document: %w", err))
		}
		key, err := a.signer()
		if err != nil {
			return nil, err
		}
		return trust.Sign(trust.KindDocument, next, append([]trust.PrivateKey{key}, with...)...)
	})
}

// mayTrust refuses where the server's key may not sign the next document. It is asked before anything is changed.
func (a *Authority) mayTrust() error {
	key, err := a.signer()
	if err == nil && !slices.Contains(a.Chain().Newest().KeysFor(trust.VerbTrust), key.Public()) {
		err = &diag.HintError{Code: "forbidden", Message: "the newest trust document does not let the server's own key sign the next one",
			Hint: "sign it by a key that may: tenet trust show names them"}
	}
	return err
}

func invalid(err error) error {
	return &diag.HintError{Code: "invalid", Err: err, Hint: "look at the newest trust document: the next one is signed under it, and names a key that may sign the one after"}
}

// follow copies a document.
func follow(d *trust.Document) (*trust.Document, error) {
	if d == nil {
		return nil, errors.New("there is no trust document yet")
	}
	next := *d
	next.Authorities, next.Keys = slices.Clone(d.Authorities), slices.Clone(d.Keys)
	return &next, nil
}

// Accept adds a document that was signed elsewhere, as by an operator where the server's key may not.
func (a *Authority) Accept(ctx context.Context, signed *trust.Signed, also func(store.Tx) error) error {
	return a.add(ctx, also, func(*trust.Chain) (*trust.Signed, error) { return signed, nil })
}

// add adds a document to the chain in the store, and then to the one that is known here.
func (a *Authority) add(ctx context.Context, also func(store.Tx) error, next func(*trust.Chain) (*trust.Signed, error)) error {
	err := a.store.Write(ctx, func(tx store.Tx) error {
		chain, err := readChain(tx)
		if err != nil {
			return err
		}
		former := chain.Newest()
		signed, err := next(chain)
		if err != nil {
			return err
		}
		before := len(chain.Signed())
		if err := chain.Add(signed); err != nil {
			return invalid(err)
		}
		if len(chain.Signed()) == before {
			return nil
		}
		data, err := json.Marshal(signed)
		if err != nil {
			return err
		}
		d := chain.Newest()
		if err := a.checkNames(former, d); err != nil {
			return err
		}
		if _, err := tx.Exec(`INSERT INTO authority_documents (generation, number, signed) VALUES ($1, $2, $3)`, int64(d.Generation), int64(d.Number), data); err != nil {
			return err
		}
		if also != nil {
			return also(tx)
		}
		return nil
	})
	// Also after an error: whether the document is there is not known where the commit has failed.
	return errors.Join(err, a.Refresh(ctx))
}

// checkNames refuses a document that gives the name of the server's own key to another key, or another name to the server's own: hosts believe the key of
// that name when it says for whom it asks. What the former document had already is left, so that it can be mended in turns; nil: there is none.
func (a *Authority) checkNames(former, next *trust.Document) error {
	for _, k := range next.Keys {
		if former != nil && slices.ContainsFunc(former.Keys, func(f trust.Delegated) bool { return f.Key == k.Key && f.Name == k.Name }) {
			continue
		}
		isServer, isOwn := strings.EqualFold(strings.TrimSpace(k.Name), ServerKey), a.Owns(k.Key)
		if isServer && !isOwn {
			return &diag.HintError{Code: "invalid", Message: fmt.Sprintf("the key %s cannot have the name %q, which is that of the server's own key", k.Key, k.Name), Hint: "give it the name of who has it"}
		}
		if isOwn && k.Name != ServerKey {
			return &diag.HintError{Code: "invalid", Message: fmt.Sprintf("the key %s is the server's own, and cannot have the name %q", k.Key, k.Name), Hint: "leave it the name \"" + ServerKey + "\""}
		}
	}
	return nil
}

// Owns tells whether a key is one of this server's.
func (a *Authority) Owns(key trust.PublicKey) bool {
	return slices.ContainsFunc(a.keys.Load().signing, func(own trust.PrivateKey) bool { return own.Public() == key })
}
