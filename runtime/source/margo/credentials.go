package margo

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
)

// Files are where the credentials of a device are. They may be replaced at any time.
type Files struct {
	Certificate string // PEM: the certificate, and what is between it and an anchor
	Key         string // PEM
	Bundle      string // the anchors of the trust domain: PEM, or a bundle of SPIFFE in JSON
}

// credentials are what the files held.
type credentials struct {
	identity Identity
	own      tls.Certificate
	anchors  *x509.CertPool
	stamps   [3]stamp
}

// stamp tells whether a file is another one than it was.
type stamp struct {
	size     int64
	modified time.Time
}

// maxCredential bounds the files: more is none of them.
const maxCredential = 1 << 20

func (f Files) names() [3]string { return [3]string{f.Certificate, f.Key, f.Bundle} }

// load reads the files, unless they are those of before.
func (f Files) load(former *credentials) (*credentials, error) {
	var stamps [3]stamp
	var contents [3][]byte
	for i, name := range f.names() {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		stamps[i] = stamp{info.Size(), info.ModTime()}
	}
	if former != nil && former.stamps == stamps {
		return former, nil
	}
	for i, name := range f.names() {
		var err error
		if contents[i], err = readFile(name, maxCredential); err != nil {
			return nil, err
		}
	}
	c := &credentials{stamps: stamps}
	var err error
	if c.own, err = tls.X509KeyPair(contents[0], contents[1]); err != nil {
		return nil, fmt.Errorf("%s and %s: %w", f.Certificate, f.Key, err)
	}
	id, err := svidOf(c.own.Leaf)
	if err == nil {
		c.identity, err = ParseIdentity(id.String())
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Certificate, err)
	}
	if c.anchors, err = readAnchors(contents[2]); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Bundle, err)
	}
	return c, nil
}

// readFile reads a file of bounded size.
func readFile(name string, limit int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	return data, nil
}

// readAnchors reads certificates in PEM, or those of a SPIFFE bundle (a set of JSON Web Keys).
func readAnchors(data []byte) (*x509.CertPool, error) {
	pool, found := x509.NewCertPool(), 0
	add := func(der []byte) error {
		anchor, err := x509.ParseCertificate(der)
		if err == nil {
			pool.AddCert(anchor)
			found++
		}
		return err
	}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		var set struct {
			Keys []struct {
				Use string   `json:"use"`
				X5C []string `json:"x5c"`
			} `json:"keys"`
		}
		if err := json.Unmarshal(data, &set); err != nil {
			return nil, err
		}
		for _, key := range set.Keys {
			if key.Use != "x509-svid" || len(key.X5C) == 0 {
				continue
			}
			der, err := base64.StdEncoding.DecodeString(key.X5C[0])
			if err == nil {
				err = add(der)
			}
			if err != nil {
				return nil, err
			}
		}
	} else {
		for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
			if block.Type != "CERTIFICATE" {
				continue
			}
			if err := add(block.Bytes); err != nil {
				return nil, err
			}
		}
	}
	if found == 0 {
		return nil, &diag.HintError{Message: "there is no certificate in it", Hint: "it is the trust bundle of the trust domain, in PEM or as SPIFFE's JSON"}
	}
	return pool, nil
}

// config is how a connection to the manager is made: both show a certificate of the trust domain, and names of DNS mean nothing.
func (c *credentials) config(now func() time.Time) *tls.Config {
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{c.own},
		Time:         now,
		// The certificate is verified below: against the anchors of the trust domain, and by its SPIFFE ID in the place of a host name.
		InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			return c.verify(s.PeerCertificates, now())
		},
	}
}

// verify looks at the certificates that a manager shows.
func (c *credentials) verify(chain []*x509.Certificate, now time.Time) error {
	if len(chain) == 0 {
		return errors.New("the manager shows no certificate")
	}
	id, err := svidOf(chain[0])
	if err != nil {
		return fmt.Errorf("the manager: %w", err)
	}
	if want := c.identity.ManagerID(); id.String() != want {
		return &diag.HintError{Message: fmt.Sprintf("the manager is %.200s, and this device belongs to %s", id, want), Hint: "the address is that of another manager, or somebody stands in for it"}
	}
	between := x509.NewCertPool()
	for _, one := range chain[1:] {
		between.AddCert(one)
	}
	_, err = chain[0].Verify(x509.VerifyOptions{Roots: c.anchors, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	if invalid := (x509.CertificateInvalidError{}); errors.As(err, &invalid) && invalid.Reason == x509.Expired {
		return &diag.HintError{Err: fmt.Errorf("the manager's certificate: %w", err), Hint: "set the clock of this device, if it is wrong: it says " + now.UTC().Format(time.RFC3339)}
	}
	if err != nil {
		return fmt.Errorf("the manager's certificate: %w", err)
	}
	return nil
}
