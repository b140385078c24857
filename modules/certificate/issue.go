package certificate

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/deferred"
	"github.com/tenetcm/tenet/runtime/host"
)

// authority signs certificates. One without certificate or key is known to a plan
// only.
type authority struct {
	certificate *x509.Certificate
	key         *keyPair
	chain       []byte // in PEM: it and those behind it, but for what signs itself
}

func (a *authority) unknown() bool { return a != nil && (a.certificate == nil || a.key == nil) }

// loadAuthority reads who signs; nil: itself.
func loadAuthority(h host.Reader, want Certificate) (*authority, error) {
	if want.CA == nil || want.CAKey == nil {
		return nil, nil
	}
	text, err := readText(h, *want.CA)
	if _, ok := deferred.About[Certificate](err); ok {
		return &authority{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the certificate of the authority: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, fmt.Errorf("%s holds no certificate in PEM", *want.CA)
	}
	a := &authority{chain: chainOf(text)}
	if a.certificate, err = x509.ParseCertificate(block.Bytes); err != nil {
		return nil, fmt.Errorf("%s holds a damaged certificate", *want.CA)
	}
	if !a.certificate.IsCA {
		return nil, fmt.Errorf("the certificate %s is not that of an authority, and cannot sign others", *want.CA)
	}
	if a.key, err = loadKey(h, *want.CAKey); err != nil {
		return nil, fmt.Errorf("the key of the authority: %w", err)
	}
	if !a.key.fits(a.certificate.PublicKey) {
		return nil, fmt.Errorf("the key %s is not that of the certificate %s", *want.CAKey, *want.CA)
	}
	return a, nil
}

// chainOf gives the certificates of a text in PEM, as they are written anew, but for those
// that sign themselves: who does not know these would not trust them for being sent.
func chainOf(text []byte) []byte {
	var out []byte
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && !bytes.Equal(c.RawSubject, c.RawIssuer) {
			out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: block.Bytes})...)
		}
	}
	return out
}

// earliest is a time that has passed: a clock that is before it is wrong.
const earliest = 2025

// lasts is an error where what is signed now would be due at once.
func (a *authority) lasts(h host.Host, want Certificate) error {
	now := host.Now(h)
	if now.Year() < earliest {
		return fmt.Errorf("the clock of this host says %s, by which no certificate can be issued: set it first", now.UTC().Format(time.DateOnly))
	}
	if a == nil || a.unknown() || check.True(want.Request) {
		return nil
	}
	end := a.certificate.NotAfter
	if end.AddDate(0, 0, -want.renewDays()).Before(now) || now.Before(a.certificate.NotBefore) {
		return fmt.Errorf("the certificate of the authority, %s, is valid from %s to %s, and cannot sign one that is renewed %d days before its end: renew it first",
			*want.CA, a.certificate.NotBefore.UTC().Format(time.DateOnly), end.UTC().Format(time.DateOnly), want.renewDays())
	}
	return nil
}

// issue makes the certificate or request, in PEM.
func issue(now time.Time, want Certificate, p *preparation) (string, error) {
	subject := pkix.Name{CommonName: text(want.CommonName)}
	if o := text(want.Organization); o != "" {
		subject.Organization = []string{o}
	}
	if check.True(want.Request) {
		template := &x509.CertificateRequest{Subject: subject, DNSNames: sorted(want.Names)}
		for _, a := range sorted(want.Addresses) {
			template.IPAddresses = append(template.IPAddresses, netip.MustParseAddr(a).AsSlice())
		}
		der, err := x509.CreateCertificateRequest(rand.Reader, template, p.key.Signer)
		return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})), err
	}
	template := &x509.Certificate{
		Subject: subject, DNSNames: sorted(want.Names),
		// Clocks of others may be behind.
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(0, 0, want.days()),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: extendedUsages(want),
		BasicConstraintsValid: true, IsCA: check.True(want.Authority),
	}
	for _, a := range sorted(want.Addresses) {
		template.IPAddresses = append(template.IPAddresses, netip.MustParseAddr(a).AsSlice())
	}
	if template.IsCA {
		template.KeyUsage |= x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	}
	if p.key.algorithm()[:3] == "rsa" {
		template.KeyUsage |= x509.KeyUsageKeyEncipherment
	}
	parent, signer := template, p.key
	if p.signer != nil {
		parent, signer = p.signer.certificate, p.signer.key
		template.NotAfter = earlier(template.NotAfter, parent.NotAfter)
		if template.NotBefore.Before(parent.NotBefore) {
			template.NotBefore = parent.NotBefore
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, p.key.Public(), signer.Signer)
	if err != nil {
		return "", fmt.Errorf("issuing the certificate: %w", err)
	}
	whole := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if check.True(want.Chain) && p.signer != nil {
		whole = append(whole, p.signer.chain...)
	}
	return string(whole), nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func extendedUsages(want Certificate) []x509.ExtKeyUsage {
	usage := want.Usage
	if usage == nil && !check.True(want.Authority) {
		usage = []string{"server"}
	}
	var out []x509.ExtKeyUsage
	if slices.Contains(usage, "server") {
		out = append(out, x509.ExtKeyUsageServerAuth)
	}
	if slices.Contains(usage, "client") {
		out = append(out, x509.ExtKeyUsageClientAuth)
	}
	return out
}
