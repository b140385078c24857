// Package services runs what the command line only starts: a server, and the agent of a machine.
package services

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"filippo.io/age"
	"filippo.io/age/agessh"

	"github.com/tenetcm/tenet/internal/cli"
	"github.com/tenetcm/tenet/internal/collection"
	"github.com/tenetcm/tenet/internal/version"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/agent/daemon"
	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/server"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/enroll"
)

// Services are all of them.
type Services struct {
	Collector *collection.Collector // of the process; nil: it collects garbage as Go does
}

var _ cli.Services = Services{}

// Serve is cli.Services'.
func (services Services) Serve(ctx context.Context, c cli.ServerConfig, ready func(cli.ServerReady), log func(string)) error {
	services.Collector.Use(collection.Server())
	resting, stop := context.WithCancel(ctx)
	defer stop()
	fault.Go(func() { services.Collector.Settle(resting) })
	provider := access.ProviderOptions{Issuer: c.Issuer, ClientID: c.ClientID}
	if c.ClientKey != "" {
		secret, err := os.ReadFile(c.ClientKey)
		if err != nil {
			return err
		}
		provider.ClientSecret = strings.TrimSpace(string(secret))
	}
	s, err := server.Open(ctx, server.Config{
		AuditHeads: c.AuditHeads, Identity: provider, OTLP: c.OTLP, OTLPHeader: c.OTLPHeader, GitCredentials: c.GitCredentials, HostQuota: c.HostQuota, StoreLimit: c.StoreLimit, ForgetHosts: c.ForgetHosts,
		Dir: c.Dir, Listen: c.Listen, Agents: c.Agents, Standby: c.Standby, Store: c.Store, Names: c.Names, Brokers: c.Brokers, BrokerCredentials: c.BrokerCredentials, BrokerCA: c.BrokerCA, CertificateFile: c.CertificateFile, KeyFile: c.KeyFile, Hook: c.Hook,
		Evaluator: c.Evaluator, Version: version.String(), Recovery: c.ShowRecovery, Failed: func(err error) { log(err.Error()) },
		Keys: func(site string) ([]string, error) { return readKeys(c.Identities, site) },
	})
	if err != nil {
		return err
	}
	defer s.Close()
	if c.Demo > 0 {
		return serveDemo(ctx, s, c, ready, log)
	}
	return s.Serve(ctx, func(r server.Ready) {
		shown := cli.ServerReady{URL: r.URL, CADigest: r.Authority.String(), PasswordFile: r.FirstFile}
		if r.FirstFile != "" {
			token, _, err := s.Hosts.NewToken(ctx, enroll.By{Actor: "server", Reason: "the server is new"}, enroll.NewToken{Uses: 1, Auto: true})
			if err != nil {
				log(err.Error())
			}
			shown.Token = token
		}
		ready(shown)
	})
}

// readKeys reads files with the private keys of a site.
func readKeys(files []cli.SiteIdentity, site string) ([]string, error) {
	keys := make([]string, 0, len(files))
	for _, one := range files {
		if one.Site != "" && one.Site != site {
			continue
		}
		name := one.File
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("a key for secrets of sites: %w", err)
		}
		keys = append(keys, strings.TrimSpace(string(text)))
	}
	return keys, nil
}

// Backup is cli.Services'.
func (Services) Backup(ctx context.Context, c cli.ServerConfig, w io.Writer, recipients []string) error {
	return server.Backup(ctx, server.Config{Dir: c.Dir, Store: c.Store, Version: version.String()}, w, recipients)
}

// Restore is cli.Services'.
func (Services) Restore(ctx context.Context, c cli.ServerConfig, r io.Reader, files []string) error {
	var identities []age.Identity
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		list, err := parseIdentities(text)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		identities = append(identities, list...)
	}
	return server.Restore(ctx, server.Config{Dir: c.Dir, Store: c.Store, Version: version.String()}, r, identities)
}

// Recover is cli.Services'.
func (Services) Recover(ctx context.Context, c cli.ServerConfig, key string) (string, error) {
	digest, err := server.Recover(ctx, server.Config{Dir: c.Dir, Store: c.Store, Names: c.Names, Recovery: c.ShowRecovery}, key)
	return digest.String(), err
}

// parseIdentities reads a file of private keys: of age, or one of SSH without a passphrase.
func parseIdentities(text []byte) ([]age.Identity, error) {
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("-----BEGIN")) {
		i, err := agessh.ParseIdentity(text)
		return []age.Identity{i}, err
	}
	return age.ParseIdentities(bytes.NewReader(text))
}

// Join is cli.Services'.
func (Services) Join(ctx context.Context, c cli.JoinConfig, told func(cli.JoinState)) (cli.JoinState, error) {
	i, err := daemon.Join(ctx, c.StateDir, c.Token, identity.Joining{Name: c.Name, Labels: c.Labels, Once: c.Once, Asked: func(a identity.Answer) {
		told(cli.JoinState{State: string(a.State), Name: a.Name, Reason: a.Reason})
	}})
	if err != nil {
		return cli.JoinState{}, err
	}
	state, reason := i.State()
	return cli.JoinState{ID: string(i.ID()), State: string(state), Name: i.Name(), Reason: reason}, i.Close()
}

// Leave is cli.Services'.
func (Services) Leave(stateDir string) error { return daemon.Leave(stateDir) }

// RotateKeys is cli.Services'.
func (Services) RotateKeys(ctx context.Context, stateDir string) error {
	return daemon.Rotate(ctx, stateDir)
}

// Agent is cli.Services'.
func (Services) Agent(ctx context.Context, stateDir string, poll time.Duration, log func(string)) error {
	return daemon.Run(ctx, runningOptions(stateDir, poll, log))
}

// runningOptions are what this program works with as the agent that runs.
func runningOptions(stateDir string, poll time.Duration, log func(string)) daemon.Options {
	o := agentOptions(stateDir, log)
	o.Poll, o.Argv, o.Environ = poll, os.Args, os.Environ()
	o.Trial = []string{"agent", "probe", "--state-dir", stateDir}
	return o
}

// agentOptions are what this program works with as an agent.
func agentOptions(stateDir string, log func(string)) daemon.Options {
	return daemon.Options{StateDir: stateDir, Registry: modules.Standard(), Version: version.String(), Name: "tenet", Log: log}
}

// ProbeAgent is cli.Services'.
func (Services) ProbeAgent(ctx context.Context, stateDir string, in io.Reader, out io.Writer, log func(string)) error {
	return daemon.Try(ctx, agentOptions(stateDir, log), in, out)
}
