package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/authority"
	"github.com/tenetcm/tenet/server/broker/cluster"
	"github.com/tenetcm/tenet/server/broker/embedded"
)

func (s *Server) openBroker(context.Context) error {
	if len(s.Brokers) > 0 {
		return s.openCluster()
	}
	b, err := embedded.Open(embedded.Config{Address: s.Agents, TLS: s.Authority.AgentTLS(), Report: s.Failed, Authorize: func(host trust.ID, connection string) bool {
		return s.hearing.Load() && s.Hosts.MayConnect(host, connection)
	}})
	if err != nil {
		return err
	}
	s.embedded, s.broker = b, b
	s.onClose(b.Close)
	return nil
}

// openCluster has agents connect to a cluster of NATS. That it can be reached is not waited for: the server serves people meanwhile.
func (s *Server) openCluster() error {
	endpoints, own, err := brokerEndpoints(s.Brokers)
	if err != nil {
		return err
	}
	credentials, err := os.ReadFile(s.BrokerCredentials)
	if err != nil {
		return &diag.HintError{Code: "broker_credentials", Message: fmt.Sprintf("the credentials for the cluster cannot be read: %v", err),
			Hint: "\"tenet server broker-config\" makes " + cluster.CredentialsFile + ", which --broker-credentials names"}
	}
	pool := x509.NewCertPool()
	if s.brokerAuthorities, err = readCertificates(s.BrokerCA, pool); err != nil {
		return err
	}
	for _, der := range s.Authority.Chain().Newest().Authorities {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return err
		}
		pool.AddCert(c)
	}
	b, err := cluster.Keep(cluster.Config{Endpoints: own, TLS: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13, VerifyConnection: s.noticeBroker}, Credentials: credentials, Report: s.Failed,
		Authorize: func(host trust.ID, connection string) bool { return s.Hosts.MayConnect(host, connection) }})
	if err != nil {
		return err
	}
	s.cluster, s.broker, s.agentEndpoints = b, b, endpoints
	s.onClose(b.Close)
	return nil
}

// noticeBroker notes when the certificates of a server of NATS end: nobody else looks at them.
func (s *Server) noticeBroker(c tls.ConnectionState) error {
	ends := map[string]time.Time{}
	for _, chain := range c.VerifiedChains {
		for i, one := range chain {
			// By an address no name of the server is asked for.
			what := "the certificate of NATS at " + cmp.Or(c.ServerName, chain[0].Subject.CommonName, fmt.Sprint(chain[0].IPAddresses))
			if i > 0 {
				what = "a CA of " + strings.TrimPrefix(what, "the certificate of ")
			}
			if at, ok := ends[what]; !ok || one.NotAfter.Before(at) {
				ends[what] = one.NotAfter
			}
		}
	}
	for what, at := range ends {
		s.Authority.Notice(authority.Expiry{What: what, At: at, Hint: "replace it on all servers of NATS: \"tenet server broker-config\" makes others"})
	}
	return nil
}

// brokerEndpoints gives where agents connect to a cluster, and where this server does. A server of NATS begins TLS after its greeting unless it was
// told otherwise, which agents write as nats://.
func brokerEndpoints(list []string) (agents, own []string, err error) {
	for _, text := range list {
		u, err := url.Parse(text)
		if err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Scheme != "tls" && u.Scheme != "wss" || u.Scheme == "tls" && (u.Path != "" || u.Port() == "") {
			return nil, nil, &diag.HintError{Code: "broker", Message: fmt.Sprintf("%.200q is no address of a cluster", text), Hint: "write tls://HOST:PORT, or wss://HOST for agents alone"}
		}
		if u.Scheme == "wss" {
			agents = append(agents, text)
			continue
		}
		agents, own = append(agents, "nats://"+u.Host), append(own, text)
	}
	if len(own) == 0 {
		return nil, nil, &diag.HintError{Code: "broker", Message: "the server itself does not connect to a cluster by a WebSocket", Hint: "name tls://HOST:PORT as well"}
	}
	return agents, own, nil
}

// readCertificates reads a file of CAs, and adds them to a pool; no file: there are none.
func readCertificates(name string, pool *x509.CertPool) (list [][]byte, err error) {
	if name == "" {
		return nil, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, &diag.HintError{Code: "broker_ca", Message: fmt.Sprintf("the CA of the cluster cannot be read: %v", err), Hint: "--broker-ca names a file with certificates as PEM"}
	}
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil || !c.IsCA {
			return nil, &diag.HintError{Code: "broker_ca", Message: fmt.Sprintf("%s holds something else than certificates of CAs", name), Hint: "give the CA that has issued the certificates of the cluster"}
		}
		pool.AddCert(c)
		list = append(list, c.Raw)
	}
	if len(list) == 0 || len(list) > maxBrokerAuthorities {
		return nil, &diag.HintError{Code: "broker_ca", Message: fmt.Sprintf("%s holds %d certificates", name, len(list)), Hint: fmt.Sprintf("it has 1 to %d, as PEM", maxBrokerAuthorities)}
	}
	return list, nil
}

// maxBrokerAuthorities bounds what each answer to a host carries.
const maxBrokerAuthorities = 8

// endpoints are where agents connect.
func (s *Server) endpoints() []string {
	if s.cluster != nil {
		return s.agentEndpoints
	}
	list := []string{"wss://" + strings.TrimPrefix(s.url, "https://") + BrokerPath}
	if at := s.embedded.Addr(); at != "" {
		list = append([]string{"tls://" + net.JoinHostPort(s.name(), port(at))}, list...)
	}
	return list
}

// credential gives what a host shows to a cluster.
func (s *Server) credential() func(trust.ID, string) (string, error) {
	if s.cluster == nil {
		return nil
	}
	return func(host trust.ID, connection string) (string, error) {
		text, _, err := s.cluster.Credential(host, connection)
		return text, err
	}
}

// brokerReached says why agents are not reached by the broker; nil: they are.
func (s *Server) brokerReached() error {
	if s.isStandby {
		return errors.New("this server stands by: agents connect to the active one")
	}
	if s.cluster == nil {
		return nil
	}
	return s.cluster.Connected()
}
