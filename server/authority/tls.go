package authority

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
)

// TLS gives the configuration of the server's listeners. Certificates renew by themselves: each is made when somebody asks for it, and
// again when it has 30 days left.
func (a *Authority) TLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: a.certificate}
}

// AgentTLS gives the configuration of listeners to which agents alone come: they show the certificate of the server's own CA, whatever the agents say
// of themselves.
func (a *Authority) AgentTLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		return a.leaves.get(a.keys.Load(), a.options.Names, strings.ToLower(hello.ServerName), a.now())
	}}
}

// certificate chooses the certificate for a connection.
func (a *Authority) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if a.own.certificate != "" && !slices.Contains(hello.SupportedProtos, trust.AgentProtocol) {
		return a.own.get(a.now())
	}
	return a.leaves.get(a.keys.Load(), a.options.Names, strings.ToLower(hello.ServerName), a.now())
}

// leaves are the certificates of the server, by the name that was asked for. They are kept nowhere else: whoever has the CA makes others.
type leaves struct {
	mu   sync.Mutex
	of   *keys
	made map[string]*tls.Certificate
}

func (l *leaves) get(k *keys, names []string, asked string, now time.Time) (*tls.Certificate, error) {
	dns, addresses, err := splitNames(names)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(dns, asked) {
		asked = "" // an address, which is not told, or another name, under which the server is not known
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of != k {
		l.of, l.made = k, map[string]*tls.Certificate{}
	}
	if c := l.made[asked]; c != nil && now.Before(c.Leaf.NotAfter.Add(-leafRenewal)) && !now.Before(c.Leaf.NotBefore) {
		return c, nil
	}
	c, err := k.makeLeaf(dns, addresses, asked, now)
	if err == nil {
		l.made[asked] = c
	}
	return c, err
}

// makeLeaf makes a certificate of a name, and of all addresses. Each name has one of its own: hosts that know an earlier CA alone, which may not
// speak for a name that was added later, accept those of the others.
func (k *keys) makeLeaf(dns []string, addresses []netip.Addr, asked string, now time.Time) (*tls.Certificate, error) {
	bounds := append([]*x509.Certificate{k.authority.certificate}, k.former...)
	addresses = slices.DeleteFunc(addresses, func(a netip.Addr) bool {
		return slices.ContainsFunc(bounds, func(c *x509.Certificate) bool { return !permits(c, a) })
	})
	shown := dns[:1]
	if asked != "" {
		shown = []string{asked}
	}
	der, key, err := k.authority.newLeaf(shown, addresses, now)
	if err != nil {
		return nil, err
	}
	c := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	for _, b := range bounds { // the CA itself is shown, too: a token names it by its digest
		c.Certificate = append(c.Certificate, b.Raw)
	}
	c.Leaf, err = x509.ParseCertificate(der)
	return c, err
}

// permits tells whether a CA may speak for an address.
func permits(ca *x509.Certificate, a netip.Addr) bool {
	return slices.ContainsFunc(ca.PermittedIPRanges, func(n *net.IPNet) bool {
		p, err := netip.ParsePrefix(n.String())
		return err == nil && p.Contains(a)
	})
}

// ownCertificate is that of a person, in two files.
type ownCertificate struct {
	certificate, key string
	mu               sync.Mutex
	loaded           *tls.Certificate
	written, looked  time.Time
}

// lookAgain is how long a file is taken for what it was.
const lookAgain = 10 * time.Second

func (o *ownCertificate) get(now time.Time) (*tls.Certificate, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.loaded != nil && now.Sub(o.looked) < lookAgain && !now.Before(o.looked) {
		return o.loaded, nil
	}
	c, written, err := o.load()
	switch {
	case err != nil && o.loaded != nil: // it is being replaced: the former one serves until both files belong together again
		return o.loaded, nil
	case err != nil:
		return nil, &diag.HintError{Code: "certificate", Message: fmt.Sprintf("the certificate in %s cannot be used: %v", o.certificate, err), Err: err,
			Hint: "give a certificate with its chain and the key that belongs to it, both as PEM"}
	case c != nil:
		o.loaded, o.written = c, written
	}
	o.looked = now
	return o.loaded, nil
}

// load reads the files, if they have changed; else it gives nil.
func (o *ownCertificate) load() (*tls.Certificate, time.Time, error) {
	var written time.Time
	for _, name := range []string{o.certificate, o.key} {
		info, err := os.Stat(name)
		if err != nil {
			return nil, written, err
		}
		if info.ModTime().After(written) {
			written = info.ModTime()
		}
	}
	if o.loaded != nil && written.Equal(o.written) {
		return nil, written, nil
	}
	c, err := tls.LoadX509KeyPair(o.certificate, o.key)
	return &c, written, err
}
