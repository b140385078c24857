package identity

import (
	"errors"
	"fmt"
	"time"

	"filippo.io/age"
	"github.com/nats-io/nkeys"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
)

// keptKeys are the three keys as they are kept, and the identity's word for the other two.
type keptKeys struct {
	Identity    string        `json:"identity"`   // PEM
	Connection  string        `json:"connection"` // the seed of an nkey
	Sealing     string        `json:"sealing"`    // AGE-SECRET-KEY-…
	Certificate *trust.Signed `json:"certificate"`
	Succession  *trust.Signed `json:"succession,omitempty"` // where the identity follows another one
}

// keys are open.
type keys struct {
	identity    trust.PrivateKey
	connection  nkeys.KeyPair
	unsealing   []age.Identity
	public      *trust.HostKeys
	certificate *trust.Signed
}

// makeKeys makes a connection key and a sealing key, and an identity, if none is given.
func makeKeys(identity *trust.PrivateKey, number uint64, now time.Time) (*keptKeys, error) {
	if identity == nil {
		key, err := trust.GenerateKey()
		if err != nil {
			return nil, err
		}
		identity = &key
	}
	connection, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	seed, err := connection.Seed()
	if err != nil {
		return nil, err
	}
	public, err := connection.PublicKey()
	if err != nil {
		return nil, err
	}
	sealing, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, err
	}
	private, err := identity.PEM()
	if err != nil {
		return nil, err
	}
	certificate, err := trust.Sign(trust.KindHostKeys, &trust.HostKeys{Identity: identity.Public(), Connection: public, Sealing: sealing.Recipient().String(),
		Number: number, Issued: now.UTC()}, *identity)
	if err != nil {
		return nil, err
	}
	return &keptKeys{Identity: string(private), Connection: string(seed), Sealing: sealing.String(), Certificate: certificate}, nil
}

// open reads the keys that count now. Its errors repeat none of them.
func (k *record) open() (*keys, error) {
	damaged := errors.New("the keys of this host are damaged")
	out := &keys{certificate: k.Keys.Certificate}
	var err error
	if out.identity, err = trust.ParsePrivateKey([]byte(k.Keys.Identity)); err != nil {
		return nil, damaged
	}
	if out.connection, err = nkeys.FromSeed([]byte(k.Keys.Connection)); err != nil {
		return nil, damaged
	}
	if k.Keys.Certificate == nil {
		return nil, damaged
	}
	if out.public, err = trust.OpenHostKeys(k.Keys.Certificate, nil); err != nil {
		return nil, fmt.Errorf("the keys of this host are damaged: %w", err)
	}
	sealing := []string{k.Keys.Sealing}
	if k.Following != nil {
		sealing = append(sealing, k.Following.Sealing)
	}
	for _, text := range append(sealing, k.Former...) {
		key, err := age.ParseX25519Identity(text)
		if err != nil {
			return nil, damaged
		}
		out.unsealing = append(out.unsealing, key)
	}
	public, err := out.connection.PublicKey()
	first, ok := out.unsealing[0].(*age.X25519Identity)
	if err != nil || !ok || public != out.public.Connection || first.Recipient().String() != out.public.Sealing || out.identity.Public() != out.public.Identity {
		return nil, damaged
	}
	return out, nil
}

// maxFormer bounds how many former sealing keys are kept. None of them is given up for another one: something here may be encrypted to it.
const maxFormer = 16

// ReplaceKeys makes another connection key and another sealing key, and with it another identity, if that is wanted: then the host's ID is another one.
// They count from the next renewal on that is answered.
func (i *Identity) ReplaceKeys(identity bool) error {
	i.renewal.Lock()
	defer i.renewal.Unlock()
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.kept.Following != nil {
		return errors.New("other keys are about to follow already: they count once the server has answered")
	}
	if i.kept.Value == nil {
		return errors.New("this host has not joined a server: there is nobody to tell of other keys")
	}
	if s := i.kept.State; s != Approved && s != Active {
		return &diag.HintError{Code: "state", Message: fmt.Sprintf("this host is %s: its keys stay as they are", s), Hint: "tenet host unlock NAME, once it is known which machine is the host; one that was revoked joins anew"}
	}
	if len(i.kept.Former) >= maxFormer {
		return &diag.HintError{Code: "state", Message: fmt.Sprintf("%d former sealing keys are still needed by what this host holds", maxFormer), Hint: "deploy what the host has to it anew, by a change of its sites, and rotate an hour later"}
	}
	own, number := &i.keys.identity, i.keys.public.Number+1
	if identity {
		own = nil
	}
	following, err := makeKeys(own, number, i.now())
	if err != nil {
		return err
	}
	if identity {
		to, err := trust.ParsePrivateKey([]byte(following.Identity))
		if err != nil {
			return err
		}
		if following.Succession, err = trust.SignSuccession(i.keys.identity, to, i.now()); err != nil {
			return err
		}
	}
	next := i.kept
	next.Following = following
	return i.save(next)
}

// follow has the keys count that were about to.
func (k *record) follow() {
	if k.Following == nil {
		return
	}
	k.Former = append([]string{k.Keys.Sealing}, k.Former...)
	k.Keys, k.Following = *k.Following, nil
	k.Keys.Succession = nil
}

func (i *Identity) now() time.Time {
	if i.options.Clock != nil {
		return i.options.Clock()
	}
	return time.Now()
}
