package signature

import (
	"bytes"
	"errors"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// Key is the file of a key that signs.
type Key struct {
	Name string // for messages
	Data []byte // a private key as OpenSSH or as PEM has it; or a public key, whose private half an agent holds
	// Passphrase is asked for the passphrase of a private key that has one; nil: such a key is an error.
	Passphrase func() (string, error)
	// Agent gives the agent, for a public key; nil: there is none.
	Agent func() (agent.Agent, error)
}

// Signer gives what signs by a key.
func (k Key) Signer() (ssh.Signer, error) {
	public, _, _, _, err := ssh.ParseAuthorizedKey(k.Data)
	if err == nil {
		return k.agentSigner(public)
	}
	signer, err := ssh.ParsePrivateKey(k.Data)
	var missing *ssh.PassphraseMissingError
	if errors.As(err, &missing) {
		signer, err = k.protectedSigner()
	}
	if err != nil {
		return nil, refuse("give a private key of ssh-keygen, or the public one where an agent has the other half", "%s: %v", k.Name, err)
	}
	if err := checkKey(signer.PublicKey()); err != nil {
		return nil, refuse("", "%s: %v", k.Name, err)
	}
	return signer, nil
}

func (k Key) protectedSigner() (ssh.Signer, error) {
	if k.Passphrase == nil {
		return nil, errors.New("it is protected by a passphrase, and nobody can be asked for it")
	}
	passphrase, err := k.Passphrase()
	if err != nil {
		return nil, err
	}
	return ssh.ParsePrivateKeyWithPassphrase(k.Data, []byte(passphrase))
}

func (k Key) agentSigner(public ssh.PublicKey) (ssh.Signer, error) {
	if err := checkKey(public); err != nil {
		return nil, refuse("", "%s: %v", k.Name, err)
	}
	const hint = "start an agent, and add the key by ssh-add; or name the file of the private key"
	if k.Agent == nil {
		return nil, refuse(hint, "%s is a public key, and there is no agent that could have the private one", k.Name)
	}
	keys, err := k.Agent()
	if err != nil {
		return nil, refuse(hint, "%s is a public key, and the agent cannot be asked: %v", k.Name, err)
	}
	signers, err := keys.Signers()
	if err != nil {
		return nil, refuse(hint, "the agent cannot be asked: %v", err)
	}
	for _, signer := range signers {
		if bytes.Equal(signer.PublicKey().Marshal(), public.Marshal()) {
			return signer, nil
		}
	}
	return nil, refuse(hint, "%s is a public key, and the agent does not have the private one", k.Name)
}
