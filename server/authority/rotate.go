package authority

import (
	"bytes"
	"context"
	"crypto/x509"
	"path/filepath"
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// RotateKey gives the server another key. The file holds both until the document that names the new one is stored, so that whenever the
// process ends it holds the one that counts.
func (a *Authority) RotateKey(ctx context.Context, also func(store.Tx) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.mayTrust(); err != nil {
		return err
	}
	former, err := a.signer()
	if err != nil {
		return err
	}
	next, err := trust.GenerateKey()
	if err != nil {
		return err
	}
	if err := a.keepSigning(former, next); err != nil {
		return err
	}
	err = a.issue(ctx, func(d *trust.Document) error {
		i := slices.IndexFunc(d.Keys, func(k trust.Delegated) bool { return k.Key == former.Public() })
		d.Keys[i].Key = next.Public()
		return nil
	}, also, next)
	if err != nil {
		return err
	}
	return a.keepSigning(next)
}

// keepSigning writes the keys that may count, and takes them up.
func (a *Authority) keepSigning(list ...trust.PrivateKey) error {
	var b bytes.Buffer
	for _, key := range list {
		data, err := key.PEM()
		if err != nil {
			return err
		}
		b.Write(data)
	}
	if err := a.keep(signingFile, b.Bytes()); err != nil {
		return err
	}
	k := *a.keys.Load()
	k.signing = list
	a.keys.Store(&k)
	return nil
}

// RotateAuthority gives the server another CA, for all names that it has now. Hosts that know the former one still find to the server, since that has said
// who follows it; its key is gone from then on. Both stand in the trust document until RetireAuthorities.
func (a *Authority) RotateAuthority(ctx context.Context, also func(store.Tx) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.store.Write(ctx, func(store.Tx) error { return nil }); err != nil {
		return err // a standby
	}
	if err := a.mayTrust(); err != nil { // or the next start would not get beyond it
		return err
	}
	if err := a.replaceAuthority(); err != nil {
		return err
	}
	return a.issue(ctx, a.addAuthority, also)
}

// maxFormer bounds what is shown besides the present CA: two certificates for each that came before.
const maxFormer = 8

// replaceAuthority makes another CA, and keeps it.
func (a *Authority) replaceAuthority() error {
	former := *a.keys.Load()
	ca, err := newAuthorityPair(a.options.Names, a.now())
	if err != nil {
		return err
	}
	link, err := cross(former.authority, ca)
	if err != nil {
		return err
	}
	next := former
	next.authority, next.former = ca, append([]*x509.Certificate{link, former.authority.certificate}, former.former...)
	next.former = next.former[:min(len(next.former), maxFormer)]
	data, err := encodeAuthority(next.authority, next.former)
	if err == nil {
		err = a.keep(authorityFile, data)
	}
	if err == nil {
		a.keys.Store(&next)
	}
	return err
}

func (a *Authority) addAuthority(d *trust.Document) error {
	own := a.keys.Load().authority.certificate.Raw
	if !names(d, own) {
		d.Authorities = append(d.Authorities, own)
	}
	return nil
}

func names(d *trust.Document, der []byte) bool {
	return slices.ContainsFunc(d.Authorities, func(known []byte) bool { return bytes.Equal(known, der) })
}

// RetireAuthorities takes all CAs but the present one from the trust document. Hosts that were away meanwhile still find to the server.
func (a *Authority) RetireAuthorities(ctx context.Context, also func(store.Tx) error) error {
	return a.Trust(ctx, func(d *trust.Document) error {
		d.Authorities = [][]byte{a.keys.Load().authority.certificate.Raw}
		return nil
	}, also)
}

// finishRotation names the present CA in the trust document, where a rotation came to an end before that.
func (a *Authority) finishRotation(ctx context.Context) error {
	document, k := a.Chain().Newest(), a.keys.Load()
	if names(document, k.authority.certificate.Raw) {
		return nil
	}
	for _, c := range k.former {
		if names(document, c.Raw) {
			return a.issue(ctx, a.addAuthority, nil)
		}
	}
	return &diag.HintError{Code: "authority", Message: "the newest trust document does not name the CA in " + filepath.Join(a.dir, authorityFile),
		Hint: "it was replaced on another server: copy the folder of keys from there; if it is lost, use the recovery key"}
}
