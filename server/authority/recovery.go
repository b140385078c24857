package authority

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base32"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// The text of a recovery key: the seed and a few bytes of a digest, in groups, so that it can be typed from paper.
const (
	recoveryPrefix = "tenet-recovery:"
	recoveryGroup  = 6
	recoveryCheck  = 4
)

func recoverySum(seed []byte) []byte {
	sum := sha256.Sum256(append([]byte("tenet/1 recovery\x00"), seed...))
	return sum[:recoveryCheck]
}

// formatRecovery writes a recovery key.
func formatRecovery(key trust.PrivateKey) (string, error) {
	data, err := key.PEM()
	if err != nil {
		return "", err
	}
	block, _ := pem.Decode(data)
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return "", err
	}
	seed := parsed.(ed25519.PrivateKey).Seed()
	text := strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(append(seed, recoverySum(seed)...)))
	var groups []string
	for len(text) > recoveryGroup {
		groups, text = append(groups, text[:recoveryGroup]), text[recoveryGroup:]
	}
	return recoveryPrefix + strings.Join(append(groups, text), "-"), nil
}

// parseRecovery reads a recovery key, however it was typed. Errors never repeat it.
func parseRecovery(text string) (trust.PrivateKey, error) {
	wrong := &diag.HintError{Code: "recovery_key", Message: "this is not a recovery key, or it is mistyped", Hint: "type it as it was printed, beginning with " + recoveryPrefix}
	if len(text) > 200 {
		return trust.PrivateKey{}, wrong
	}
	plain := strings.NewReplacer("-", "", " ", "")
	encoded, ok := strings.CutPrefix(plain.Replace(strings.ToLower(strings.TrimSpace(text))), plain.Replace(recoveryPrefix))
	if !ok {
		return trust.PrivateKey{}, wrong
	}
	encoded = strings.NewReplacer("0", "o", "1", "l").Replace(encoded)
	data, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(encoded))
	if err != nil || len(data) != ed25519.SeedSize+recoveryCheck {
		return trust.PrivateKey{}, wrong
	}
	seed := data[:ed25519.SeedSize]
	if !bytes.Equal(recoverySum(seed), data[ed25519.SeedSize:]) {
		return trust.PrivateKey{}, wrong
	}
	der, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed(seed))
	if err != nil {
		return trust.PrivateKey{}, errors.New("the recovery key cannot be used")
	}
	return trust.ParsePrivateKey(pem.EncodeToMemory(&pem.Block{Type: privateBlock, Bytes: der}))
}

func (a *Authority) showRecovery(key trust.PrivateKey) error {
	text, err := formatRecovery(key)
	if err == nil {
		err = a.options.Recovery(text)
	}
	if err != nil {
		return fmt.Errorf("the recovery key was not shown: %w", err)
	}
	return nil
}

// Recover replaces all keys of a server by the recovery key, where they were lost or stolen: the CA, the server's key, the recovery key itself, which is
// shown as by Open. All other keys are gone from the trust document. Hosts that have seen the former CA find to the new one if the former is still in the
// folder; else they are to be given the document by hand. Secrets derived from the folder are new, too.
func Recover(ctx context.Context, dir string, s *store.Store, o Options, text string, also func(store.Tx) error) (*Authority, error) {
	recovery, err := parseRecovery(text)
	if err != nil {
		return nil, err
	}
	a, err := newAuthority(dir, s, o)
	if err != nil {
		return nil, err
	}
	if err := a.Refresh(ctx); err != nil {
		return nil, err
	}
	document := a.Chain().Newest()
	switch {
	case document == nil:
		return nil, &diag.HintError{Code: "recovery_key", Message: "the store has no trust document that could be replaced", Hint: "put the store back from a backup, or begin with an empty folder"}
	case document.Recovery != recovery.Public():
		return nil, &diag.HintError{Code: "recovery_key", Message: "this is the recovery key of another server, or one that was replaced since", Hint: "take the one that was printed last"}
	case o.Recovery == nil:
		return nil, errors.New("who recovers shows the next recovery key to somebody: Options.Recovery is nil")
	}
	if err := s.Write(ctx, func(store.Tx) error { return nil }); err != nil {
		return nil, err // a standby
	}
	return a, a.recover(ctx, document, recovery, also)
}

func (a *Authority) recover(ctx context.Context, document *trust.Document, recovery trust.PrivateKey, also func(store.Tx) error) error {
	if err := a.makeKeys(); err != nil { // what is lost
		return err
	}
	secret := make([]byte, secretSize)
	rand.Read(secret)
	if err := a.keep(secretFile, secret); err != nil {
		return err
	}
	k, err := a.loadKeys()
	if err != nil {
		return err
	}
	a.keys.Store(k)
	if err := a.replaceAuthority(); err != nil {
		return err
	}
	key, err := trust.GenerateKey()
	if err != nil {
		return err
	}
	next, err := trust.GenerateKey()
	if err != nil {
		return err
	}
	if err := a.keepSigning(append([]trust.PrivateKey{key}, k.signing...)...); err != nil {
		return err
	}
	if err := a.showRecovery(next); err != nil {
		return err
	}
	verbs := a.options.Verbs
	if len(verbs) == 0 {
		verbs = append([]trust.Verb{trust.VerbTrust, trust.VerbAssign}, Requests()...)
	}
	signed, err := trust.Sign(trust.KindDocument, &trust.Document{Generation: document.Generation + 1, Number: 1, Issued: a.now(), Recovery: next.Public(),
		Authorities: [][]byte{a.keys.Load().authority.certificate.Raw}, Keys: []trust.Delegated{{Key: key.Public(), Name: ServerKey, Verbs: verbs}}}, recovery, next, key)
	if err != nil {
		return err
	}
	if err := a.Accept(ctx, signed, also); err != nil {
		return err
	}
	return a.keepSigning(key)
}
