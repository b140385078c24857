package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
)

// The names of the files that GenerateServers makes beside one configuration, certificate and key for each server.
const (
	AuthorityFile    = "nats-ca.pem" // for tenet's servers, and for each of the cluster
	AuthorityKeyFile = "nats-ca.key" // to be kept offline: who has it can stand in for the cluster
)

const (
	certificateValidity = 10 * 365 * 24 * time.Hour
	skew                = time.Hour // by which clocks may differ
	defaultPort         = 4222
	routeOffset         = 2000 // the port of the servers among themselves: 6222, as usual
)

// GenerateServers makes the configuration of each server of a cluster, which includes ConfigFile, with a CA of the cluster's own. Servers are given as
// HOST or HOST:PORT. Agents and tenet's servers trust this CA for the cluster alone.
func GenerateServers(servers []string, now time.Time) ([]File, error) {
	members, err := parseServers(servers)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: serial(), Subject: pkix.Name{CommonName: "tenet NATS CA"}, NotBefore: now.Add(-skew), NotAfter: now.Add(certificateValidity),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	ca, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	text, err := keyPEM(key)
	if err != nil {
		return nil, err
	}
	files := []File{{Name: AuthorityFile, Data: certificatePEM(der)}, {Name: AuthorityKeyFile, Data: text, Secret: true}}
	for _, m := range members {
		own, err := m.files(members, ca, key, now)
		if err != nil {
			return nil, err
		}
		files = append(files, own...)
	}
	return files, nil
}

// member is one server of a cluster.
type member struct {
	host string
	port int
	name string // of its files
}

func parseServers(servers []string) (list []member, err error) {
	seen := map[string]bool{}
	for _, text := range servers {
		m := member{host: text, port: defaultPort}
		if host, port, err := net.SplitHostPort(text); err == nil {
			m.host = host
			if m.port, err = strconv.Atoi(port); err != nil || m.port < 1 || m.port > 65535-routeOffset {
				return nil, badServer(text)
			}
			m.name = "-" + port
		}
		m.name = strings.ReplaceAll(m.host, ":", "-") + m.name
		if net.ParseIP(m.host) == nil && (strings.Trim(strings.ToLower(m.host), "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" || strings.Trim(m.host, ".-") != m.host || m.host == "") {
			return nil, badServer(text)
		}
		if seen[m.name] {
			return nil, &diag.HintError{Code: "server", Message: fmt.Sprintf("the server %s is there twice", text), Hint: "name each once"}
		}
		seen[m.name] = true
		list = append(list, m)
	}
	return list, nil
}

func badServer(text string) error {
	return &diag.HintError{Code: "server", Message: fmt.Sprintf("%.80q is no server of a cluster", text), Hint: "write n1.example.com, an address, or n1.example.com:4222"}
}

// files are those of one server.
func (m member) files(all []member, ca *x509.Certificate, by *ecdsa.PrivateKey, now time.Time) ([]File, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: serial(), Subject: pkix.Name{CommonName: m.host}, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	listen := "0.0.0.0"
	if ip := net.ParseIP(m.host); ip != nil {
		template.IPAddresses, listen = []net.IP{ip}, m.host
	} else {
		template.DNSNames = []string{m.host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca, key.Public(), by)
	if err != nil {
		return nil, err
	}
	text, err := keyPEM(key)
	if err != nil {
		return nil, err
	}
	var routes []string
	for _, other := range all {
		if other != m {
			routes = append(routes, fmt.Sprintf("%q", "nats://"+net.JoinHostPort(other.host, strconv.Itoa(other.port+routeOffset))))
		}
	}
	config := fmt.Sprintf(`# One server of the cluster that is tenet's broker: run "nats-server -c %[1]s.conf" in the folder of this file.
# It needs %[1]s.pem, %[1]s.key, %[2]s and %[3]s beside it.
server_name: %[1]q
listen: %[4]q
tls { cert_file: "%[1]s.pem", key_file: "%[1]s.key" }
cluster {
  name: tenet
  listen: %[5]q
  tls { cert_file: "%[1]s.pem", key_file: "%[1]s.key", ca_file: %[2]q, verify: true }
  routes: [%[6]s]
}
include %[3]q
`, m.name, AuthorityFile, ConfigFile, net.JoinHostPort(listen, strconv.Itoa(m.port)), net.JoinHostPort(listen, strconv.Itoa(m.port+routeOffset)), strings.Join(routes, ", "))
	return []File{{Name: m.name + ".conf", Data: []byte(config)}, {Name: m.name + ".pem", Data: certificatePEM(der)}, {Name: m.name + ".key", Data: text, Secret: true}}, nil
}

func certificatePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func keyPEM(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), err
}

func serial() *big.Int {
	b := make([]byte, 16)
	rand.Read(b)
	b[0] = b[0]&0x7f | 0x40 // positive, and of full length
	return new(big.Int).SetBytes(b)
}
