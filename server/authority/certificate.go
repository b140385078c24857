package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
)

const (
	authorityValidity = 15 * 365 * 24 * time.Hour
	leafValidity      = 90 * 24 * time.Hour
	leafRenewal       = 30 * 24 * time.Hour // before it ends
	skew              = time.Hour           // by which clocks may differ
)

// newAuthorityPair makes a CA. It can speak for the names that it was made for, and for private addresses, and for nothing else: whoever
// lets a browser trust it does not let it speak for a bank.
func newAuthorityPair(names []string, now time.Time) (pair, error) {
	dns, addresses, err := splitNames(names)
	if err != nil {
		return pair{}, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	serial := newSerial()
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "tenet CA " + serial.Text(36)[:8]},
		NotBefore: now.Add(-skew), NotAfter: now.Add(authorityValidity),
		IsCA: true, BasicConstraintsValid: true, // without a limit to paths: it may say who comes after it
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		PermittedDNSDomainsCritical: true, PermittedDNSDomains: dns, PermittedIPRanges: ranges(addresses),
	}
	return selfSigned(template, key)
}

func selfSigned(template *x509.Certificate, key *ecdsa.PrivateKey) (pair, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return pair{}, err
	}
	certificate, err := x509.ParseCertificate(der)
	return pair{certificate, key}, err
}

// cross has a CA say that another one may speak for it. So hosts that know the first alone still find to the server.
func cross(from, to pair) (*x509.Certificate, error) {
	template := *to.certificate
	template.SerialNumber, template.AuthorityKeyId = newSerial(), nil
	der, err := x509.CreateCertificate(rand.Reader, &template, from.certificate, to.key.Public(), from.key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// newLeaf makes a certificate for names of the server.
func (p pair) newLeaf(dns []string, addresses []netip.Addr, now time.Time) ([]byte, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	end := now.Add(leafValidity)
	if last := p.certificate.NotAfter; end.After(last) {
		end = last
	}
	template := &x509.Certificate{SerialNumber: newSerial(), Subject: pkix.Name{CommonName: "tenet server"}, NotBefore: now.Add(-skew), NotAfter: end,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true, DNSNames: dns}
	for _, a := range addresses {
		template.IPAddresses = append(template.IPAddresses, a.AsSlice())
	}
	der, err := x509.CreateCertificate(rand.Reader, template, p.certificate, key.Public(), p.key)
	return der, key, err
}

func newSerial() *big.Int {
	serial := make([]byte, 16)
	rand.Read(serial)
	serial[0] = serial[0]&0x7f | 0x40 // positive, and of full length
	return new(big.Int).SetBytes(serial)
}

// splitNames tells names from addresses, and adds this machine's own.
func splitNames(names []string) (dns []string, addresses []netip.Addr, err error) {
	for _, name := range slices.Concat(names, []string{"localhost", "127.0.0.1", "::1"}) {
		if a, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
			if a = a.Unmap().WithZone(""); !slices.Contains(addresses, a) {
				addresses = append(addresses, a)
			}
			continue
		}
		lower := strings.ToLower(strings.TrimSuffix(name, "."))
		if !isName(lower) {
			return nil, nil, &diag.HintError{Code: "name", Message: fmt.Sprintf("%.80q is neither a DNS name nor an address", name), Hint: "give names as tenet.example.org, without a port"}
		}
		if !slices.Contains(dns, lower) {
			dns = append(dns, lower)
		}
	}
	return dns, addresses, nil
}

func isName(name string) bool {
	if len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// ranges lists the addresses that a CA may speak for: the server's own, and those that the internet does not have.
func ranges(addresses []netip.Addr) []*net.IPNet {
	prefixes := []netip.Prefix{}
	for _, text := range []string{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16", "127.0.0.0/8", "::1/128", "fc00::/7", "fe80::/10"} {
		prefixes = append(prefixes, netip.MustParsePrefix(text))
	}
	for _, a := range addresses {
		if !slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(a) }) {
			prefixes = append(prefixes, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	nets := make([]*net.IPNet, len(prefixes))
	for i, p := range prefixes {
		nets[i] = &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
	}
	return nets
}
