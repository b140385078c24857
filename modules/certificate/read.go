package certificate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"time"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/deferred"
	"github.com/tenetcm/tenet/modules/internal/owner"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

func read(_ context.Context, h host.Host, want Certificate) (*Certificate, error) {
	info, err := h.Lstat(want.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.Kind != host.Regular:
		return nil, fmt.Errorf("%s is a %s, not a certificate", want.Path, info.Kind)
	}
	have, public, err := parse(h, want)
	if err != nil {
		return nil, err
	}
	have.Path, have.PrivateKey = want.Path, want.PrivateKey
	have.Owner = owner.User(h, info.UID, want.Owner)
	have.Group = owner.Group(h, info.GID, want.Group)
	have.Mode = &info.Mode
	have.ownerEffects = owner.ListLost(h, want.Path, info, want.Owner)
	if want.PrivateKey != nil {
		err = have.lookAtKey(h, want, public)
	}
	return have, err
}

// parse reads what the certificate says, and why it is due; public is nil where only
// a plan knows of it.
func parse(h host.Host, want Certificate) (have *Certificate, public any, err error) {
	text, err := readText(h, want.Path)
	if known, ok := deferred.About[Certificate](err); ok {
		return &known, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	block, behind := pem.Decode(text)
	if block != nil && block.Type == "CERTIFICATE REQUEST" {
		if r, err := x509.ParseCertificateRequest(block.Bytes); err == nil && r.CheckSignature() == nil {
			have := saidBy(r.Subject, r.DNSNames, r.IPAddresses)
			have.Request, have.Algorithm = new(true), new(algorithmOf(r.PublicKey))
			have.Usage, have.Authority, have.Chain = want.Usage, want.Authority, want.Chain // who signs it decides
			return have, r.PublicKey, nil
		}
	}
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, nil, fmt.Errorf("%s holds no certificate in PEM, and is not replaced: remove it first", want.Path)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, nil, fmt.Errorf("%s holds a damaged certificate, and is not replaced: remove it first", want.Path)
	}
	have = saidBy(c.Subject, c.DNSNames, c.IPAddresses)
	have.Request, have.Algorithm, have.Authority = new(false), new(algorithmOf(c.PublicKey)), new(c.IsCA)
	have.Usage = usageOf(c)
	have.Expires = new(c.NotAfter.UTC().Format(time.RFC3339))
	sum := sha256.Sum256(c.Raw)
	have.Fingerprint = new(hex.EncodeToString(sum[:]))
	if want.PrivateKey != nil && !check.True(want.Request) {
		err = have.judge(h, want, c, behind)
	}
	return have, c.PublicKey, err
}

func saidBy[Address ~[]byte](subject pkix.Name, names []string, addresses []Address) *Certificate {
	organization := ""
	if len(subject.Organization) > 0 {
		organization = subject.Organization[0]
	}
	texts := []string{}
	for _, a := range addresses {
		if address, ok := netip.AddrFromSlice(a); ok {
			texts = append(texts, address.Unmap().String())
		}
	}
	return &Certificate{
		CommonName: new(subject.CommonName), Organization: &organization,
		Names: sorted(append([]string{}, names...)), Addresses: sorted(texts),
	}
}

func usageOf(c *x509.Certificate) []string {
	usage := []string{}
	if slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageClientAuth) {
		usage = append(usage, "client")
	}
	if slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageServerAuth) {
		usage = append(usage, "server")
	}
	return usage
}

// judge finds why a certificate is due though it says what is wanted; behind is what
// follows it in its file.
func (c *Certificate) judge(h host.Host, want Certificate, x *x509.Certificate, behind []byte) error {
	now := host.Now(h)
	if now.Before(x.NotBefore) {
		return fmt.Errorf("%s is valid from %s, and the clock of this host says %s: one of the two is wrong",
			want.Path, x.NotBefore.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	signer, err := loadAuthority(h, want)
	switch {
	case errors.Is(err, fs.ErrNotExist): // it is missed when it is needed
	case err != nil:
		return err
	case signer.unknown():
		return host.ErrUnforeseeable
	case signer == nil && x.CheckSignature(x.SignatureAlgorithm, x.RawTBSCertificate, x.Signature) != nil:
		c.renewals = append(c.renewals, states.Change{Attribute: "issuer", From: x.Issuer.String(), To: "itself"})
	case signer != nil && x.CheckSignatureFrom(signer.certificate) != nil:
		c.renewals = append(c.renewals, states.Change{Attribute: "issuer", From: x.Issuer.String(), To: signer.certificate.Subject.String()})
	}
	switch {
	case want.CA == nil && want.Chain == nil: // what is behind it is nobody's business
	case check.True(want.Chain) && signer != nil:
		c.Chain = new(bytes.Equal(behind, signer.chain))
	case check.True(want.Chain):
		c.Chain = want.Chain
	default:
		c.Chain = new(len(bytes.TrimSpace(behind)) > 0)
	}
	const day = 24 * time.Hour
	if left := x.NotAfter.Sub(now); left <= time.Duration(want.renewDays())*day {
		when := fmt.Sprintf("%s, in %d days", x.NotAfter.UTC().Format(time.DateOnly), int(left/day))
		if left < 0 {
			when = x.NotAfter.UTC().Format(time.DateOnly) + ", expired"
		}
		c.renewals = append(c.renewals, states.Change{Attribute: "expires", From: when, To: fmt.Sprintf("in %d days", want.days())})
	}
	return nil
}

// lookAtKey looks whether the private key is there, and the certificate's.
func (c *Certificate) lookAtKey(h host.Host, want Certificate, public any) error {
	name := *c.PrivateKey
	info, err := h.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		c.renewals = append(c.renewals, states.Change{Attribute: "private_key", To: name})
		return nil
	}
	if err != nil {
		return err
	}
	if info.Kind != host.Regular {
		return fmt.Errorf("%s is a %s, not a private key", name, info.Kind)
	}
	c.KeyMode = &info.Mode
	if closed := info.Mode &^ forOthers; closed != info.Mode && (want.KeyMode == nil || *want.KeyMode == 0) {
		c.open = []states.Change{{Attribute: "key_mode", From: states.FormatMode(info.Mode), To: states.FormatMode(closed)}}
		c.KeyMode = &closed
	}
	c.Owner = unlessWanted(c.Owner, owner.User(h, info.UID, want.Owner), want.Owner)
	c.Group = unlessWanted(c.Group, owner.Group(h, info.GID, want.Group), want.Group)
	if public == nil {
		return nil
	}
	key, err := loadKey(h, name)
	if err != nil {
		return err
	}
	if c.keyFits = key.fits(public); !c.keyFits {
		c.renewals = append(c.renewals, states.Change{Attribute: "private_key", From: "of another certificate", To: name})
	}
	return nil
}

// unlessWanted gives the key's owner where the certificate's is as wanted: both
// are to have it.
func unlessWanted(certificate, key, want *string) *string {
	if want != nil && certificate != nil && key != nil && *certificate == *want {
		return key
	}
	return certificate
}
