package certificate

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"github.com/tenetcm/tenet/runtime/host"
)

// maxPEM bounds files of keys and certificates.
const maxPEM = 1 << 20

// keyPair is a private key with its public half.
type keyPair struct{ crypto.Signer }

func readText(h host.Reader, name string) ([]byte, error) {
	text, err := host.ReadFile(h, name, maxPEM+1)
	if len(text) > maxPEM {
		err = fmt.Errorf("%s is larger than %d bytes, and no certificate or key", name, maxPEM)
	}
	return text, err
}

// loadKey reads a private key. No error ever shows what is in the file.
func loadKey(h host.Reader, name string) (*keyPair, error) {
	text, err := readText(h, name)
	if err != nil {
		return nil, err
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		var key any
		switch block.Type {
		case "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		case "RSA PRIVATE KEY":
			key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		case "ENCRYPTED PRIVATE KEY":
			return nil, fmt.Errorf("the private key %s is encrypted, and cannot be used", name)
		default:
			continue
		}
		if signer, ok := key.(crypto.Signer); ok && err == nil {
			return &keyPair{signer}, nil
		}
		return nil, fmt.Errorf("the private key %s cannot be used: it is damaged, encrypted or of another kind", name)
	}
	return nil, fmt.Errorf("%s holds no private key in PEM, and is not replaced: remove it first", name)
}

// makeKey makes a private key.
func makeKey(algorithm string) (*keyPair, error) {
	var signer crypto.Signer
	var err error
	switch algorithm {
	case "ecdsa-p256":
		signer, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "ecdsa-p384":
		signer, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case "rsa-2048":
		signer, err = rsa.GenerateKey(rand.Reader, 2048)
	case "rsa-3072":
		signer, err = rsa.GenerateKey(rand.Reader, 3072)
	case "rsa-4096":
		signer, err = rsa.GenerateKey(rand.Reader, 4096)
	case "ed25519":
		_, signer, err = ed25519.GenerateKey(rand.Reader)
	default:
		return nil, fmt.Errorf("unknown algorithm %q", algorithm)
	}
	if err != nil {
		return nil, fmt.Errorf("making a private key: %w", err)
	}
	return &keyPair{signer}, nil
}

// text is the private key in PEM.
func (k *keyPair) text() (string, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.Signer)
	if err != nil {
		return "", err
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), nil
}

func (k *keyPair) algorithm() string { return algorithmOf(k.Public()) }

// fits reports whether a public key is that of the pair.
func (k *keyPair) fits(public any) bool {
	own, ok := k.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && own.Equal(public)
}

// algorithmOf names the kind of a public key.
func algorithmOf(public any) string {
	switch k := public.(type) {
	case *ecdsa.PublicKey:
		return fmt.Sprintf("ecdsa-p%d", k.Params().BitSize)
	case *rsa.PublicKey:
		return fmt.Sprintf("rsa-%d", k.N.BitLen())
	case ed25519.PublicKey:
		return "ed25519"
	}
	return fmt.Sprintf("%T", public)
}
