package server

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
	"testing"
	"time"
)

// Whichever certificate of a server of NATS ends soon is told of, that of the CA too.
func TestBrokerCertificatesExpire(t *testing.T) {
	s := start(t, config(t.TempDir()))
	soon, late := time.Now().Add(24*time.Hour), time.Now().Add(1000*24*time.Hour)
	for what, ends := range map[string][2]time.Time{"the certificate of NATS at leaf": {soon, late}, "a CA of NATS at ca": {late, soon}} {
		name := what[strings.LastIndex(what, " ")+1:]
		must(t, s.noticeBroker(tls.ConnectionState{ServerName: name, VerifiedChains: [][]*x509.Certificate{{{NotAfter: ends[0]}, {NotAfter: ends[1], IsCA: true}}}}))
		found := false
		for _, e := range s.Authority.Expiring() {
			found = found || e.What == what && e.At.Equal(soon) && e.Hint != ""
		}
		if !found {
			t.Errorf("%s is not among %v", what, s.Authority.Expiring())
		}
	}
	if n := len(s.Authority.Expiring()); n != 2 {
		t.Errorf("%d certificates end soon", n)
	}
}
