// Package identity is who a host is to its server: three keys that were made on the host and never leave it, and what the server has said of
// it. All of it is one file in a folder that only its owner can read, replaced as a whole before anything depends on it.
//
//   - The identity (Ed25519) signs what the host says, behind a kind, and certifies the other two. The host's ID is its digest.
//   - The connection key (nkey) signs the nonces of brokers.
//   - Secrets are encrypted to the sealing key (age, X25519).
//
// Join asks a server to take the host in; Renew, each hour, shows that there is no copy of the host, and brings what is new. What is under
// way when the process ends is repeated with the same keys and values.
package identity

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"filippo.io/age"
	"github.com/nats-io/nkeys"

	"github.com/tenetcm/tenet/runtime/trust"
)

// Options of a host's identity. The zero value works.
type Options struct {
	// Clock may be wrong: nothing depends on it but texts for people, and when the server's certificate ends. nil: time.Now.
	Clock func() time.Time
	// Proxy gives the proxy for a request; no URL: none. nil: as HTTPS_PROXY and NO_PROXY say.
	Proxy func(*http.Request) (*url.URL, error)
	// Step is called "before" and "after" each change of the file, and may panic there as if the process ended. For tests.
	Step func(name string)
}

// Identity is an open folder. It may be used by many goroutines.
type Identity struct {
	folder  *folder
	options Options
	renewal sync.Mutex // held while the server is asked: one thing at a time is under way
	mu      sync.Mutex
	kept    record
	keys    keys
	chain   *trust.Chain
	nonce   string // from the server, for the next request
	lack    *Lack  // what the server has said that it lacks; nil: nothing
	client  client
}

// ID names the host.
func (i *Identity) ID() trust.ID { return locked(i, func() trust.ID { return i.keys.identity.ID() }) }

// State tells how the host stands with its server, as far as it knows, and why; empty: it was never asked to join one.
func (i *Identity) State() (State, string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.kept.State, i.kept.Reason
}

// Name is what the host is called, as it was approved; before that, as it wants to be.
func (i *Identity) Name() string { return locked(i, func() string { return i.kept.Name }) }

// Labels are those of the host, as they were approved; before that, as it wants them.
func (i *Identity) Labels() map[string]string {
	return locked(i, func() map[string]string { return maps.Clone(i.kept.Labels) })
}

// Addresses are those of the server: https://…
func (i *Identity) Addresses() []string {
	return locked(i, func() []string { return slices.Clone(i.kept.Addresses) })
}

// Brokers are where the agent connects, with a credential for those that want one.
func (i *Identity) Brokers() (endpoints []string, credential string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.kept.Brokers), i.kept.Credential
}

// BrokerAuthorities are CAs, as DER, that brokers may show besides those of the trust document.
func (i *Identity) BrokerAuthorities() [][]byte {
	return locked(i, func() [][]byte { return slices.Clone(i.kept.BrokerAuthorities) })
}

// Chain gives the trust documents that the host has accepted; each call gives a chain of its own.
func (i *Identity) Chain() (*trust.Chain, error) {
	return trust.ParseChain(locked(i, func() []*trust.Signed { return slices.Clone(i.kept.Documents) }))
}

// KeepDocuments keeps trust documents that came another way than by a renewal. Those that are there already change nothing.
func (i *Identity) KeepDocuments(documents ...*trust.Signed) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.kept.Documents) == 0 {
		return errors.New("the host has no trust document that others could follow: it has not joined a server")
	}
	next := i.kept
	if err := next.addDocuments(documents); err != nil || len(next.Documents) == len(i.kept.Documents) {
		return err
	}
	return i.save(next)
}

// Keys gives the host's public keys.
func (i *Identity) Keys() *trust.HostKeys {
	return locked(i, func() *trust.HostKeys { k := *i.keys.public; return &k })
}

// Sign signs something that the host says.
func (i *Identity) Sign(kind trust.Kind, content any) (*trust.Signed, error) {
	return trust.Sign(kind, content, locked(i, func() trust.PrivateKey { return i.keys.identity }))
}

// SignNonce signs a nonce of a broker by the connection key, which it gives, too.
func (i *Identity) SignNonce(nonce []byte) (signature []byte, key string, err error) {
	connection := locked(i, func() nkeys.KeyPair { return i.keys.connection })
	if key, err = connection.PublicKey(); err != nil {
		return nil, "", err
	}
	signature, err = connection.Sign(nonce)
	return signature, key, err
}

// Unsealing gives the keys that open what was encrypted to the host, the present one first: also the one that is about to follow, and former ones.
func (i *Identity) Unsealing() []age.Identity {
	return locked(i, func() []age.Identity { return slices.Clone(i.keys.unsealing) })
}

func locked[T any](i *Identity, f func() T) T {
	i.mu.Lock()
	defer i.mu.Unlock()
	return f()
}

// Close lets go of the folder.
func (i *Identity) Close() error {
	i.client.close()
	return i.folder.close()
}
