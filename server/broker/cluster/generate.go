package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
	"github.com/tenetcm/tenet/runtime/link"
)

// The names of the files that Generate makes.
const (
	ConfigFile      = "nats.conf"               // for each server of the cluster
	CredentialsFile = "tenet-broker.json"       // for tenet's servers: a secret
	OperatorFile    = "nats-operator.seed"      // to be kept offline: whoever has it can change what accounts may do
	AccountFile     = "nats-account-tenet.seed" // likewise, of tenet's account
)

// File is a file that Generate has made.
type File struct {
	Name   string
	Data   []byte
	Secret bool // nobody else may read it
}

// limits of an agent.
const (
	maxSubscriptions = 4
	noLimit          = jwt.NoLimit
)

// Generate makes new keys for a cluster, and the files by which its servers and tenet's know them. What listens where, and with which
// certificates, is for the cluster's own configuration, which includes ConfigFile.
func Generate(now time.Time) ([]File, error) {
	k, err := newKeys()
	if err != nil {
		return nil, fmt.Errorf("cannot make keys for the cluster: %w", err)
	}
	operator := jwt.NewOperatorClaims(k.operator.public)
	operator.Name, operator.SystemAccount, operator.IssuedAt = "tenet", k.system.public, now.Unix()
	system := jwt.NewAccountClaims(k.system.public)
	system.Name = "SYS"
	account := jwt.NewAccountClaims(k.account.public)
	account.Name = "tenet"
	account.SigningKeys.AddScopedSigner(scope(k.signing.public))

	serverUser, systemUser := jwt.NewUserClaims(k.server.public), jwt.NewUserClaims(k.watcher.public)
	serverUser.Name, systemUser.Name = "tenet server", "tenet server"
	serverUser.Pub.Allow.Add("tenet." + string(link.Down) + ".>")
	serverUser.Sub.Allow.Add("tenet." + string(link.Up) + ".>")

	systemUser.Pub.Allow.Add("$SYS.REQ.SERVER.PING.IDZ", "$SYS.REQ.SERVER.PING.CONNZ", "$SYS.REQ.SERVER.*.CONNZ", "$SYS.REQ.SERVER.*.KICK")
	systemUser.Sub.Allow.Add("_INBOX.>", "$SYS.ACCOUNT."+k.account.public+".CONNECT")

	var e encoder
	operatorJWT := e.encode(operator, k.operator)
	accounts := map[string]string{k.system.public: e.encode(system, k.operator), k.account.public: e.encode(account, k.operator)}
	s := secrets{Format: secretsFormat, Account: k.account.public, Signing: string(k.signing.seed)}
	s.Server = e.credentials(serverUser, k.account, k.server)
	s.System = e.credentials(systemUser, k.system, k.watcher)
	if e.err != nil {
		return nil, fmt.Errorf("cannot sign for the cluster: %w", e.err)
	}
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, err
	}
	return []File{
		{Name: ConfigFile, Data: config(operatorJWT, k, accounts)},
		{Name: CredentialsFile, Data: append(data, '\n'), Secret: true},
		{Name: OperatorFile, Data: append(k.operator.seed, '\n'), Secret: true},
		{Name: AccountFile, Data: append(k.account.seed, '\n'), Secret: true},
	}, nil
}

// scope is what a JWT lets an agent do that has nothing but a name and a key in it. The name is the host's ID.
func scope(key string) *jwt.UserScope {
	s := jwt.NewUserScope()
	s.Key, s.Role, s.Description = key, "agent", "the agent of one host of tenet"
	s.Template.Pub.Allow.Add("tenet." + string(link.Up) + ".{{name()}}.>")
	s.Template.Sub.Allow.Add("tenet." + string(link.Down) + ".{{name()}}.>")
	s.Template.Limits.Subs, s.Template.Limits.Payload, s.Template.Limits.Data = maxSubscriptions, link.FrameSize, noLimit
	s.Template.AllowedConnectionTypes.Add(jwt.ConnectionTypeStandard, jwt.ConnectionTypeWebsocket)
	return s
}

// config is what the servers of the cluster include.
func config(operator string, k *keys, accounts map[string]string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `# What a cluster of NATS needs so that it can be tenet's broker. Each of its servers includes this file, beside what
# it listens on:
#
#     server_name: n1
#     listen: 0.0.0.0:4222
#     tls { cert_file: "/etc/nats/cert.pem", key_file: "/etc/nats/key.pem" }   # never verify_and_map
#     cluster { name: tenet, listen: 0.0.0.0:6222, routes: [nats://n2:6222, nats://n3:6222] }   # with a tls block of its own
#     include nats.conf
#
# There is no secret in it, and no JetStream is needed.
operator: %s
system_account: %s
resolver: MEMORY
resolver_preload: {
`, operator, k.system.public)
	for _, public := range []string{k.system.public, k.account.public} {
		fmt.Fprintf(&b, "  %s: %s\n", public, accounts[public])
	}
	fmt.Fprintf(&b, "}\nmax_payload: %d\nmax_pending: %d\nping_interval: \"2m\"\n", 1<<20, 64<<20)
	return b.Bytes()
}

// pair is a key.
type pair struct {
	nkeys.KeyPair
	public string
	seed   []byte
}

// keys are all that a cluster needs.
type keys struct{ operator, system, account, signing, server, watcher pair }

func newKeys() (*keys, error) {
	var k keys
	for _, one := range []struct {
		to   *pair
		kind nkeys.PrefixByte
	}{
		{&k.operator, nkeys.PrefixByteOperator}, {&k.system, nkeys.PrefixByteAccount}, {&k.account, nkeys.PrefixByteAccount},
		{&k.signing, nkeys.PrefixByteAccount}, {&k.server, nkeys.PrefixByteUser}, {&k.watcher, nkeys.PrefixByteUser},
	} {
		key, err := nkeys.CreatePair(one.kind)
		if err != nil {
			return nil, err
		}
		if one.to.public, err = key.PublicKey(); err != nil {
			return nil, err
		}
		if one.to.seed, err = key.Seed(); err != nil {
			return nil, err
		}
		one.to.KeyPair = key
	}
	return &k, nil
}

// encoder signs claims, and keeps the first error.
type encoder struct{ err error }

func (e *encoder) encode(claims jwt.Claims, by pair) string {
	if e.err != nil {
		return ""
	}
	text, err := claims.Encode(by)
	e.err = err
	return text
}

// credentials are those of a user, in the form of NATS.
func (e *encoder) credentials(claims *jwt.UserClaims, account, user pair) string {
	text := e.encode(claims, account)
	if e.err != nil {
		return ""
	}
	out, err := jwt.FormatUserConfig(text, user.seed)
	e.err = err
	return string(out)
}
