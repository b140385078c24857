package host

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
)

// maxRoots bounds a file of certificates.
const maxRoots = 16 << 20

// rootFiles are where systems keep the certificates that they trust, in one file;
// see crypto/x509.
func rootFiles() []string {
	return []string{
		"/etc/ssl/certs/ca-certificates.crt",
		"/etc/pki/tls/certs/ca-bundle.crt",
		"/etc/ssl/ca-bundle.pem",
		"/etc/pki/tls/cacert.pem",
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
		"/etc/ssl/cert.pem",
	}
}

// rootCertificates gives the certificates that are trusted: the given ones (PEM) or those of
// the host as its files are now, not as they were when the program started. A
// tree below a root without any has those of the machine.
func (l *Local) rootCertificates(given []byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if len(given) > 0 {
		if !pool.AppendCertsFromPEM(given) {
			return nil, errors.New("the file of trusted certificates holds none")
		}
		return pool, nil
	}
	machine, _ := l.machine()
	for _, h := range []Reader{l, machine} {
		for _, name := range rootFiles() {
			text, err := ReadFile(h, name, maxRoots)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("the certificates that this host trusts: %w", err)
			}
			if pool.AppendCertsFromPEM(text) {
				return pool, nil
			}
		}
	}
	return pool, nil // which trusts nobody, and the error says so
}
