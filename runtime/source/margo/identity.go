package margo

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/lang/diag"
)

// Identity is who a device is, as its certificate says.
type Identity struct {
	TrustDomain string
	Manager     string // the wfm-id of the manager that it belongs to
	Client      string // the wfm-client-id
}

// String gives the SPIFFE ID.
func (i Identity) String() string { return i.ManagerID() + "/client/" + i.Client }

// ManagerID gives the SPIFFE ID that the manager must have.
func (i Identity) ManagerID() string {
	return "spiffe://" + i.TrustDomain + "/margo/wfm/" + i.Manager
}

// identityPattern is the form of a client's SPIFFE ID: unreserved characters, and a trust domain as SPIFFE wants it.
var identityPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^spiffe://([a-z0-9._-]+)/margo/wfm/([A-Za-z0-9._~-]+)/client/([A-Za-z0-9._~-]+)$`)
})

// ParseIdentity reads the SPIFFE ID of a client.
func ParseIdentity(id string) (Identity, error) {
	m := identityPattern().FindStringSubmatch(id)
	isDots := func(segment string) bool { return segment == "." || segment == ".." }
	if m == nil || len(id) > 2048 || isDots(m[2]) || isDots(m[3]) {
		return Identity{}, &diag.HintError{
			Message: fmt.Sprintf("%.200q is no identity of a device of Margo", id),
			Hint:    "its certificate has one URI: spiffe://TRUST-DOMAIN/margo/wfm/WFM-ID/client/CLIENT-ID",
		}
	}
	return Identity{TrustDomain: m[1], Manager: m[2], Client: m[3]}, nil
}

// svidOf gives the SPIFFE ID of a certificate, which has to be one as the specification of X.509-SVIDs wants it.
func svidOf(leaf *x509.Certificate) (*url.URL, error) {
	switch {
	case len(leaf.URIs) != 1:
		return nil, fmt.Errorf("the certificate names %d URIs; an X.509-SVID names one", len(leaf.URIs))
	case leaf.IsCA || leaf.KeyUsage&(x509.KeyUsageCertSign|x509.KeyUsageCRLSign) != 0:
		return nil, fmt.Errorf("the certificate of %s may sign others; that of a peer may not", leaf.URIs[0])
	}
	id := leaf.URIs[0]
	if id.Scheme != "spiffe" || id.Host == "" || strings.Trim(id.Path, "/") == "" || id.User != nil || id.RawQuery != "" || id.Fragment != "" {
		return nil, fmt.Errorf("%.200q is no SPIFFE ID", id)
	}
	return id, nil
}
