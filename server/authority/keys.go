package authority

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
)

const (
	authorityFile = "authority.pem"
	signingFile   = "signing.pem"
	secretFile    = "secret"

	certificateBlock = "CERTIFICATE"
	privateBlock     = "PRIVATE KEY"
	secretSize       = 32
	maxFile          = 1 << 20
)

// keys are what the folder holds. They are never changed: others take their place.
type keys struct {
	authority pair
	former    []*x509.Certificate // of earlier CAs, and what they say of later ones: shown after the certificate of the present one
	signing   []trust.PrivateKey
	secret    []byte
}

// pair is a CA.
type pair struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// makeKeys makes the files that are not there. Nothing depends on any of them before there is a trust document.
func (a *Authority) makeKeys() error {
	ca, err := newAuthorityPair(a.options.Names, a.now())
	if err != nil {
		return err
	}
	key, err := trust.GenerateKey()
	if err != nil {
		return err
	}
	secret := make([]byte, secretSize)
	rand.Read(secret)
	authorityPEM, err := encodeAuthority(ca, nil)
	if err != nil {
		return err
	}
	signingPEM, err := key.PEM()
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{authorityFile, authorityPEM}, {signingFile, signingPEM}, {secretFile, secret}} {
		if _, err := os.Lstat(filepath.Join(a.dir, f.name)); err == nil {
			continue
		}
		if err := a.keep(f.name, f.data); err != nil {
			return err
		}
	}
	return nil
}

// keep puts a file in the place of another one, durably.
func (a *Authority) keep(name string, data []byte) error {
	return atomicfile.Replace(filepath.Join(a.dir, name), atomicfile.Options{Mode: 0o600, Durable: true}, atomicfile.Data(data))
}

// loadKeys reads the folder.
func (a *Authority) loadKeys() (*keys, error) {
	k := &keys{}
	for _, f := range []struct {
		name string
		read func([]byte) error
	}{{authorityFile, k.readAuthority}, {signingFile, k.readSigning}, {secretFile, k.readSecret}} {
		data, err := a.readKey(f.name)
		if err != nil {
			return nil, err
		}
		if err := f.read(data); err != nil {
			return nil, &diag.HintError{Code: "keys", Message: fmt.Sprintf("%s: %v", filepath.Join(a.dir, f.name), err), Hint: "put the folder of keys back from a copy"}
		}
	}
	return k, nil
}

// readKey reads a file that is for its owner alone.
func (a *Authority) readKey(name string) ([]byte, error) {
	path := filepath.Join(a.dir, name)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &diag.HintError{Code: "keys_missing", Message: path + " is not there, and the store has been used with it", Err: err,
			Hint: "copy the folder of keys from another server or from its copy; if it is lost, use the recovery key"}
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 || info.Size() > maxFile:
		return nil, &diag.HintError{Code: "keys", Message: path + " is to be a file that its owner alone can read", Hint: "chmod 0600 " + path}
	}
	return os.ReadFile(path)
}

// encodeAuthority writes a CA with what is shown after it.
func encodeAuthority(ca pair, former []*x509.Certificate) ([]byte, error) {
	key, err := x509.MarshalPKCS8PrivateKey(ca.key)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for _, block := range []*pem.Block{{Type: certificateBlock, Bytes: ca.certificate.Raw}, {Type: privateBlock, Bytes: key}} {
		if err := pem.Encode(&b, block); err != nil {
			return nil, err
		}
	}
	for _, c := range former {
		if err := pem.Encode(&b, &pem.Block{Type: certificateBlock, Bytes: c.Raw}); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

func (k *keys) readAuthority(data []byte) error {
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		switch {
		case block.Type == certificateBlock:
			c, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return err
			}
			if k.authority.certificate == nil {
				k.authority.certificate = c
			} else {
				k.former = append(k.former, c)
			}
		case block.Type == privateBlock && k.authority.key == nil:
			key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
			if err != nil {
				return errors.New("the key cannot be read")
			}
			k.authority.key, _ = key.(*ecdsa.PrivateKey)
		}
	}
	ca := k.authority
	if ca.certificate == nil || ca.key == nil || !ca.certificate.IsCA || !ca.key.PublicKey.Equal(ca.certificate.PublicKey) {
		return errors.New("the file is to hold the certificate of a CA, and the key that belongs to it")
	}
	return nil
}

func (k *keys) readSigning(data []byte) error {
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		key, err := trust.ParsePrivateKey(pem.EncodeToMemory(block))
		if err != nil {
			return err
		}
		k.signing = append(k.signing, key)
	}
	if len(k.signing) == 0 {
		return errors.New("there is no key in it")
	}
	return nil
}

func (k *keys) readSecret(data []byte) error {
	if len(data) != secretSize {
		return fmt.Errorf("it has %d bytes, not %d", len(data), secretSize)
	}
	k.secret = data
	return nil
}
