package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
)

// Services are what runs for long, and what belongs to it. The program gives them: the command line does not link a server.
type Services interface {
	// Serve runs a server until the context ends. Ready is called once it serves.
	Serve(ctx context.Context, c ServerConfig, ready func(ServerReady), log func(string)) error
	// Backup writes a backup of a server, sealed to recipients, and Restore makes a server of one.
	Backup(ctx context.Context, c ServerConfig, w io.Writer, recipients []string) error
	Restore(ctx context.Context, c ServerConfig, r io.Reader, identities []string) error
	// Recover replaces all keys of a server by its recovery key, and gives the digest of its new CA.
	Recover(ctx context.Context, c ServerConfig, key string) (digest string, err error)
	// BrokerConfig writes what a cluster of NATS needs into a new folder; servers: HOST or HOST:PORT of each, for their whole configuration.
	BrokerConfig(dir string, servers []string) error
	// Join asks a server to take this machine in.
	Join(ctx context.Context, c JoinConfig, told func(JoinState)) (JoinState, error)
	// Leave forgets the server.
	Leave(stateDir string) error
	// RotateKeys has this machine make other keys for its connection and its secrets, and waits until the server has answered to them.
	RotateKeys(ctx context.Context, stateDir string) error
	// Agent runs the agent of this machine until the context ends.
	Agent(ctx context.Context, stateDir string, poll time.Duration, log func(string)) error
	// ProbeAgent shows, beside the agent that runs, that this program can follow it.
	ProbeAgent(ctx context.Context, stateDir string, in io.Reader, out io.Writer, log func(string)) error
}

// ServerConfig is how a server is started.
type ServerConfig struct {
	Dir, Listen, Agents, Standby, Store string
	Names                               []string
	Brokers                             []string // a cluster of NATS, with the files for it
	BrokerCredentials                   string
	BrokerCA                            string
	CertificateFile, KeyFile            string
	Hook                                []string
	AuditHeads                          string // a file to which the head of the audit is appended
	Issuer, ClientID                    string // of a provider of identity
	ClientKey                           string // the file with the secret for it
	Identities                          []SiteIdentity
	Demo                                int      // how many simulated machines there are
	Evaluator                           []string // the program that answers Evaluate, with its arguments
	OTLP                                string   // a collector of OpenTelemetry
	OTLPHeader                          map[string]string
	GitCredentials                      string        // a directory: see serverFlags
	HostQuota                           int64         // how many bytes a host may tell a day
	StoreLimit                          int64         // how many bytes the database may take; 0: nobody has said
	ForgetHosts                         time.Duration // after what time a host that was revoked or rejected is forgotten; 0: 30 days, below 0: never
	ShowRecovery                        func(key string) error
}

// ServerReady is how a server is reached.
type ServerReady struct {
	URL, CADigest, PasswordFile, Token string
	Demo                               []string // what can be tried
	People                             []ServerPerson
}

// ServerPerson is somebody by whom a demo is looked at.
type ServerPerson struct{ Name, Password, Does string }

// JoinConfig is how a machine asks to be taken in.
type JoinConfig struct {
	StateDir, Token, Name string
	Labels                map[string]string
	Once                  bool
}

// JoinState is how a machine stands with its server.
type JoinState struct {
	ID     string `json:"id"`
	State  string `json:"state"`
	Name   string `json:"name"`
	Reason string `json:"reason,omitempty"`
}

// services gives them; there are none in a program that only uses the command line.
func (s *client) services() (Services, error) {
	if s.Services == nil {
		return nil, newStatus(exitFailed, errors.New("this program has neither server nor agent"), "use tenet itself")
	}
	return s.Services, nil
}

// log writes a line of what goes on, with the time.
func (c *console) log(text string) {
	// Who started it does not read: nothing else can be done about that.
	_, _ = fmt.Fprintln(c.Err, time.Now().UTC().Format(time.RFC3339), ui.Line(text))
}
