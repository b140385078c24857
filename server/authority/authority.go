// Package authority holds the keys of a server and says whom its hosts trust: a CA for the addresses of the server, the key by which it signs
// assignments and requests, and the chain of trust documents.
//
// The folder "keys" has three files, of which an owner keeps a copy, and each standby has one:
//
//   - authority.pem: the certificate of the CA, its key, and after a rotation the certificates by which hosts that were away
//     since before still find to the present one;
//   - signing.pem: the key of the server; during a rotation two, of which the newest trust document names the one that counts;
//   - secret: from which the server derives keys for its own use, see Secret.
//
// The chain is in the store. The recovery key is nowhere: it is given to a person once. Whatever ends the process between any two writes,
// the next Open goes on from there.
package authority

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// Options of an authority. All but Recovery may be left out.
type Options struct {
	// Names are the DNS names and the addresses by which hosts and people reach the server. This machine's own are always among them.
	Names []string
	// Recovery is given the recovery key to show it to a person, before anything depends on it. Where it fails, nothing is kept. If the process
	// ends right after it, the key is of no use, and the next Open shows another one.
	Recovery func(key string) error
	// CertificateFile and KeyFile are a person's own certificate, with the chain that belongs to it, for people's browsers. They are read anew when
	// they change. Agents always get the certificate of the CA that the trust document names.
	CertificateFile, KeyFile string
	// Verbs are what the first trust document lets the server's key sign; none: the next document, assignments and Requests.
	Verbs []trust.Verb
	Clock func() time.Time // nil: time.Now
}

// Requests lists what a server asks hosts for. Releasing a hold is among the requests to hold: VerbRelease is for programs.
func Requests() []trust.Verb {
	return []trust.Verb{"ping", "facts", "read", "status", "managed", "history", "logs", "plan", "apply", "resume", "attach", "cancel", "hold", "clean", "forget", "import", "exec"}
}

// Authority is an open key folder with the chain that belongs to it. It may be used by many goroutines.
type Authority struct {
	store   *store.Store
	dir     string // keys
	options Options
	mu      sync.Mutex // held while keys change
	keys    atomic.Pointer[keys]
	chain   atomic.Pointer[trust.Chain]
	leaves  leaves
	own     ownCertificate
	noticed noticed
}

// Open opens the folder "keys" below a folder. With an empty store, which must be the active one, it makes the keys and the first trust document.
func Open(ctx context.Context, dir string, s *store.Store, o Options) (*Authority, error) {
	a, err := newAuthority(dir, s, o)
	if err != nil {
		return nil, err
	}
	if err := a.Refresh(ctx); err != nil {
		return nil, err
	}
	if a.Chain().Newest() == nil {
		err = a.begin(ctx)
	} else {
		err = a.resume(ctx)
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

func newAuthority(dir string, s *store.Store, o Options) (*Authority, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	a := &Authority{store: s, dir: filepath.Join(dir, "keys"), options: o}
	a.chain.Store(&trust.Chain{})
	if (o.CertificateFile == "") != (o.KeyFile == "") {
		return nil, &diag.HintError{Code: "certificate", Message: "a certificate of one's own is two files", Hint: "name the certificate and its key"}
	}
	if o.CertificateFile != "" {
		a.own = ownCertificate{certificate: o.CertificateFile, key: o.KeyFile}
		if _, err := a.own.get(o.Clock()); err != nil {
			return nil, err
		}
	}
	return a, os.MkdirAll(a.dir, 0o700)
}

// begin makes what lacks of the keys, and the first document.
func (a *Authority) begin(ctx context.Context) error {
	if a.options.Recovery == nil {
		return errors.New("an authority that begins shows its recovery key to somebody: Options.Recovery is nil")
	}
	if err := a.store.Write(ctx, func(store.Tx) error { return nil }); err != nil {
		return err // a standby, which would make keys of its own
	}
	if err := a.makeKeys(); err != nil {
		return err
	}
	k, err := a.loadKeys()
	if err != nil {
		return err
	}
	a.keys.Store(k)
	recovery, err := trust.GenerateKey()
	if err != nil {
		return err
	}
	if err := a.showRecovery(recovery); err != nil {
		return err
	}
	verbs := a.options.Verbs
	if len(verbs) == 0 {
		verbs = append([]trust.Verb{trust.VerbTrust, trust.VerbAssign}, Requests()...)
	}
	key := k.signing[0]
	first := &trust.Document{Generation: 1, Number: 1, Issued: a.now(), Recovery: recovery.Public(), Authorities: [][]byte{k.authority.certificate.Raw},
		Keys: []trust.Delegated{{Key: key.Public(), Name: ServerKey, Verbs: verbs}}}
	signed, err := trust.Sign(trust.KindDocument, first, recovery, key)
	if err != nil {
		return err
	}
	return a.Accept(ctx, signed, nil)
}

// resume goes on with the keys that are there.
func (a *Authority) resume(ctx context.Context) error {
	k, err := a.loadKeys()
	if err != nil {
		return err
	}
	a.keys.Store(k)
	if _, err := a.signer(); err != nil {
		return err
	}
	return a.finishRotation(ctx)
}

// ServerKey is what trust documents call the server's own key.
const ServerKey = "server"

// signer gives the server's key that the newest document names.
func (a *Authority) signer() (trust.PrivateKey, error) {
	document := a.Chain().Newest()
	for _, key := range a.keys.Load().signing {
		for _, d := range document.Keys {
			if d.Key == key.Public() {
				return key, nil
			}
		}
	}
	return trust.PrivateKey{}, &diag.HintError{Code: "server_key", Message: "the newest trust document does not name the key of this server in " + filepath.Join(a.dir, signingFile),
		Hint: "it was replaced on another server: copy the folder of keys from there; if it is lost, use the recovery key"}
}

// Chain gives the trust documents. It is never changed: a later call gives a later one.
func (a *Authority) Chain() *trust.Chain { return a.chain.Load() }

// AuthorityDigest names the CA in tokens.
func (a *Authority) AuthorityDigest() trust.Digest {
	return trust.DigestOf(a.keys.Load().authority.certificate.Raw)
}

// SignAssignment signs what a host is to be.
func (a *Authority) SignAssignment(assignment *trust.Assignment) (*trust.Signed, error) {
	if err := assignment.Check(); err != nil {
		return nil, err
	}
	return a.sign(trust.KindAssignment, trust.VerbAssign, assignment)
}

// SignRequest signs what a host is to do now.
func (a *Authority) SignRequest(request *trust.Request) (*trust.Signed, error) {
	return a.sign(trust.KindRequest, request.Verb, request)
}

func (a *Authority) sign(kind trust.Kind, verb trust.Verb, content any) (*trust.Signed, error) {
	key, err := a.signer()
	if err != nil {
		return nil, err
	}
	signed, err := trust.Sign(kind, content, key)
	if err != nil {
		return nil, err
	}
	if a.Chain().Newest().Signer(signed, verb) == nil {
		return nil, &diag.HintError{Code: "forbidden", Message: "the trust document does not let the server sign for " + string(verb),
			Hint: "sign with an operator's key that has this verb (tenet deploy --sign KEY; tenet login URL --sign KEY for what hosts are asked), or give it to the key \"" + ServerKey + "\""}
	}
	return signed, nil
}

// Secret derives a key of 32 bytes for a purpose of the server, the same on each start and on a standby with the same keys.
func (a *Authority) Secret(purpose string) ([]byte, error) {
	return hkdf.Key(sha256.New, a.keys.Load().secret, nil, "tenet/1 "+purpose, 32)
}

func (a *Authority) now() time.Time { return a.options.Clock().UTC() }
