// Package cluster is a broker that runs elsewhere: a cluster of NATS, which other programs may share. An account there is tenet's. Agents connect
// to it with JWTs that the server issues for seven days each, all under one signing key of the account, whose scope leaves to each host its own
// subjects. Generate makes what the cluster has to be configured with.
package cluster

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/broker"
	"github.com/tenetcm/tenet/server/broker/carrier"
)

// Validity is how long an agent may connect with one JWT. It is renewed with the host's identity.
const Validity = 7 * 24 * time.Hour

// Config says where the cluster is, and who may connect.
type Config struct {
	Endpoints []string    // tls://HOST:PORT, or several by commas
	TLS       *tls.Config // whom to trust
	// Credentials is the content of the file CredentialsFile that Generate has made. It is a secret.
	Credentials []byte
	// Authorize tells whether a host may be connected with a key. The cluster lets in who has a JWT that is valid; whom this refuses is
	// disconnected at once, so that a host that was revoked is out before its JWT expires. It is called by one goroutine.
	Authorize func(host trust.ID, connection string) bool
	// Report is told what nobody waits for. It must not wait. nil: nobody is told.
	Report func(error)
	Clock  func() time.Time // nil: time.Now
}

// Broker is the broker.
type Broker struct {
	*carrier.Carrier
	issuer *issuer
	watch  *watch
}

var _ broker.Broker = (*Broker)(nil)

// Open connects to the cluster.
func Open(c Config) (*Broker, error) {
	if c.Authorize == nil || len(c.Endpoints) == 0 {
		return nil, errors.New("a broker needs Authorize and Endpoints")
	}
	if c.Report == nil {
		c.Report = func(error) {}
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	s, err := parseSecrets(c.Credentials)
	if err != nil {
		return nil, err
	}
	b := &Broker{issuer: &issuer{account: s.Account, key: s.signing, now: c.Clock}}
	conn, err := dial(c, s.Server)
	if err != nil {
		return nil, err
	}
	if b.watch, err = newWatch(c, s); err != nil {
		conn.Close()
		return nil, err
	}
	if b.Carrier, err = carrier.New(conn, b.watch.floods); err != nil {
		b.watch.close()
		return nil, err
	}
	return b, nil
}

// dial connects with credentials of the server, and from then on connects again by itself.
func dial(c Config, credentials string, more ...nats.Option) (*nats.Conn, error) {
	options := append(carrier.Options(c.Report), nats.UserCredentialBytes([]byte(credentials)), nats.Timeout(20*time.Second),
		nats.IgnoreAuthErrorAbort()) // a cluster that was configured wrongly for a while is reached again, too
	if c.TLS != nil {
		options = append(options, nats.Secure(c.TLS))
	}
	conn, err := nats.Connect(strings.Join(c.Endpoints, ","), append(options, more...)...)
	switch {
	case errors.Is(err, nats.ErrAuthorization):
		return nil, &diag.HintError{Code: "broker_refused", Err: err, Message: "the cluster does not accept the server's credentials",
			Hint: "configure its servers with the file " + ConfigFile + " that was made together with these credentials"}
	case err != nil:
		return nil, &diag.HintError{Code: "broker_unreachable", Err: err, Message: fmt.Sprintf("cannot connect to the cluster at %s: %v", strings.Join(c.Endpoints, ","), err),
			Hint: "look whether it runs there, and whether its certificate is one of the CA that was given"}
	}
	return conn, nil
}

// Credential gives a JWT with which a host can connect by its key, and when that ends.
func (b *Broker) Credential(host trust.ID, connection string) (credential string, expires time.Time, err error) {
	credential, expires, err = b.issuer.credential(host, connection)
	if err == nil {
		b.watch.note(host, connection)
	}
	return credential, expires, err
}

// Disconnect is broker.Broker's.
func (b *Broker) Disconnect(host link.Address) error { return b.watch.disconnect(host) }

// Close is broker.Broker's.
func (b *Broker) Close() error {
	b.watch.close()
	b.Carrier.Close()
	return nil
}

// issuer makes JWTs.
type issuer struct {
	account string
	key     nkeys.KeyPair
	now     func() time.Time
}

func (i *issuer) credential(host trust.ID, connection string) (string, time.Time, error) {
	if err := host.Check(); err != nil {
		return "", time.Time{}, err
	}
	if !nkeys.IsValidPublicUserKey(connection) {
		return "", time.Time{}, fmt.Errorf("%.80q is no public key by which a host can connect", connection)
	}
	expires := i.now().Add(Validity).Truncate(time.Second)
	claims := jwt.NewUserClaims(connection)
	claims.Name = string(host) // the signing key's scope makes the subjects of it
	claims.IssuerAccount = i.account
	claims.Expires = expires.Unix()
	claims.SetScoped(true)
	text, err := claims.Encode(i.key)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("cannot issue a JWT for the broker: %w", err)
	}
	return text, expires, nil
}

// secrets are what the server has of the cluster: the content of CredentialsFile.
type secrets struct {
	Format  string `json:"format"`
	Account string `json:"account"` // its public key
	Signing string `json:"signing"` // the seed of its signing key
	Server  string `json:"server"`  // credentials in the form of NATS: of the server in that account
	System  string `json:"system"`  // of the server in the system's account
	signing nkeys.KeyPair
}

const secretsFormat = "tenet.broker/1"

func parseSecrets(data []byte) (*secrets, error) {
	var s secrets
	err := json.Unmarshal(data, &s)
	if err == nil && s.Format != secretsFormat {
		err = fmt.Errorf("their format is %.80q, not %q", s.Format, secretsFormat)
	}
	if err == nil {
		s.signing, err = nkeys.FromSeed([]byte(s.Signing))
	}
	if err == nil && !nkeys.IsValidPublicAccountKey(s.Account) {
		err = errors.New("the account is none")
	}
	if err != nil {
		return nil, &diag.HintError{Code: "invalid_credentials", Message: "the credentials for the cluster cannot be read", Err: err,
			Hint: "give the content of the file " + CredentialsFile}
	}
	return &s, nil
}
