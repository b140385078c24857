package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/packages/signature"
)

// packageSigner gives what signs packages by the SSH key in a file.
func (s *client) packageSigner(ctx context.Context, name string) (ssh.Signer, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, &diag.HintError{Message: fmt.Sprintf("the key cannot be read: %v", err), Hint: "ssh-keygen -t ed25519 makes one"}
	}
	data, err := readSome(name, 1<<16)
	if err != nil {
		return nil, fmt.Errorf("the key cannot be read: %w", err)
	}
	if _, _, _, _, err := ssh.ParseAuthorizedKey(data); err != nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		return nil, &diag.HintError{Message: fmt.Sprintf("others may read or change the private key in %s: its mode is %04o", name, info.Mode().Perm()),
			Hint: "chmod 600; where others could have read it, make another one, and remove this one from those who may sign"}
	}
	key := signature.Key{Name: name, Data: data, Passphrase: func() (string, error) {
		return s.passphrase(ctx, "Passphrase of "+name+": ", "TENET_PASSPHRASE_FILE")
	}}
	if socket := s.getenv("SSH_AUTH_SOCK"); socket != "" {
		key.Agent = func() (agent.Agent, error) { return dialAgent(ctx, socket) }
	}
	return key.Signer()
}

// agentPatience is how long an agent may take, which may ask a person.
const agentPatience = 2 * time.Minute

// dialAgent connects to an SSH agent, for as long as the program runs.
func dialAgent(ctx context.Context, socket string) (agent.Agent, error) {
	connection, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	if err := connection.SetDeadline(time.Now().Add(agentPatience)); err != nil {
		return nil, errors.Join(err, connection.Close())
	}
	context.AfterFunc(ctx, func() { connection.Close() })
	return agent.NewClient(connection), nil
}
