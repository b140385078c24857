package server

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/channel"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/authority"
	"github.com/tenetcm/tenet/server/store"
)

// CodeRecovery is the code of errors of Recover that are its own.
const CodeRecovery = "recovery"

// recoverPatience is how long to wait for a server that ends just now.
const recoverPatience = 3 * time.Second

// Recover replaces all keys of a server that does not run by its recovery key, and gives the digest of its new CA. c.Recovery is shown the next recovery
// key. Without c.Names the new CA speaks for the names of the former one.
func Recover(ctx context.Context, c Config, key string) (digest trust.Digest, err error) {
	if c.Dir, err = filepath.Abs(c.Dir); err != nil {
		return digest, err
	}
	s, err := openStore(ctx, c, Migrations())
	if err != nil {
		return digest, fmt.Errorf("the store: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	wait, done := context.WithTimeout(ctx, recoverPatience)
	defer done()
	if _, err := s.Campaign(wait); err != nil {
		if wait.Err() != nil && ctx.Err() == nil {
			err = &diag.HintError{Code: CodeRecovery, Message: "a server runs with this store", Hint: "stop it, and those that stand by, then try again"}
		}
		return digest, err
	}
	if len(c.Names) == 0 {
		if c.Names, err = formerNames(ctx, s); err != nil {
			return digest, err
		}
	}
	a, err := authority.Recover(ctx, c.Dir, s, authority.Options{Names: c.Names, Recovery: c.Recovery, Verbs: serverVerbs()}, key, func(tx store.Tx) error {
		return access.Audit(tx, access.Entry{At: time.Now(), Actor: "server/recovery", Action: "trust.recover"})
	})
	if err != nil {
		return digest, err
	}
	return a.AuthorityDigest(), nil
}

// serverVerbs are what the server's key signs.
func serverVerbs() []trust.Verb {
	return append([]trust.Verb{trust.VerbTrust, trust.VerbAssign}, channel.Verbs()...)
}

// formerNames are the names and addresses for which the newest CA may speak.
func formerNames(ctx context.Context, s *store.Store) (names []string, err error) {
	documents, err := authority.ReadChain(ctx, s)
	if err != nil || documents.Newest() == nil || len(documents.Newest().Authorities) == 0 {
		return nil, err // Recover says it
	}
	list := documents.Newest().Authorities
	ca, err := x509.ParseCertificate(list[len(list)-1])
	if err != nil {
		return nil, err
	}
	names = slices.Clone(ca.PermittedDNSDomains)
	for _, n := range ca.PermittedIPRanges {
		if ones, bits := n.Mask.Size(); ones == bits {
			names = append(names, n.IP.String())
		}
	}
	return names, nil
}
