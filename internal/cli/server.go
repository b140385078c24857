package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/telemetry"
	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/ssh"
	"github.com/tenetcm/tenet/server/evaluate"
)

type serverCmd struct {
	Run     serverRunCmd     `cmd:"" default:"withargs" help:"Run a server."`
	Status  serverStatusCmd  `cmd:"" help:"Tell how the server stands to which you are logged in."`
	Backup  serverBackupCmd  `cmd:"" help:"Back up a server on its own machine, while it runs."`
	Restore serverRestoreCmd `cmd:"" help:"Make a server of a backup. It delivers nothing until somebody resumes it."`
	Unit    serverUnitCmd    `cmd:"" help:"Print a unit of systemd that runs a server with the same flags."`
	Config  serverBrokerCmd  `cmd:"" name:"broker-config" help:"Make what a cluster of NATS needs so that agents connect to it."`
	Recover serverRecoverCmd `cmd:"" help:"Replace all keys of a server that does not run, by its recovery key."`
	Source  serverSourceCmd  `cmd:"" help:"Have the server follow sources of sites: repositories of Git, and folders of its machine."`
	Policy  serverPolicyCmd  `cmd:"" help:"Say what every deployment of a site has to have: an approval, a signature."`
	Resume  serverResumeCmd  `cmd:"" help:"Have a restored server deliver again."`
}

type serverRunCmd struct {
	serverFlags
	Demo int `help:"Show a server with so many simulated machines, in a folder that is removed at the end." placeholder:"N"`
}

// serverFlags say how a server is run.
type serverFlags struct {
	Dir      string         `help:"Keep keys and everything else here (default: /var/lib/tenet-server, or a folder of yours)." placeholder:"DIR"`
	Listen   string         `help:"Serve people, programs and agents by HTTPS here." default:":8443" placeholder:"HOST:PORT"`
	Agents   string         `help:"Serve agents here." default:":8444" placeholder:"HOST:PORT"`
	Standby  string         `name:"standby-listen" help:"While another server with the same database is the active one, serve reading here (default: nowhere)." placeholder:"HOST:PORT"`
	Name     []string       `help:"A name or address by which the server is reached; the first is told to hosts." placeholder:"NAME"`
	Broker   []string       `help:"Agents connect to this cluster of NATS: tls://HOST:PORT (default: to the server itself)." placeholder:"URL"`
	Creds    string         `name:"broker-credentials" help:"The file tenet-broker.json that \"tenet server broker-config\" has made for it." placeholder:"FILE"`
	BrokerCA string         `name:"broker-ca" help:"The CA of its certificates." placeholder:"FILE"`
	Store    string         `help:"Keep data in this database: postgres://… (default: in DIR)." placeholder:"URL"`
	Limit    int64          `name:"store-limit" help:"So many GiB may that database take: nothing is taken in from hosts when less than a tenth of it is left." placeholder:"GIB"`
	Quota    int64          `name:"host-quota" help:"So many MiB may a host tell a day." default:"32" placeholder:"MIB"`
	Forget   int            `name:"forget-hosts" help:"Forget a host so many days after it was revoked or rejected; 0: never." default:"30" placeholder:"DAYS"`
	TLSCert  string         `name:"tls-cert" help:"A certificate for browsers, with its chain." placeholder:"FILE"`
	TLSKey   string         `name:"tls-key" help:"Its private key." placeholder:"FILE"`
	Hook     []string       `help:"A program that decides on hosts that ask to be taken in, and its arguments." placeholder:"PROGRAM" sep:"none"`
	Heads    string         `name:"audit-heads" help:"Append the head of the audit to this file each hour." placeholder:"FILE"`
	Issuer   string         `name:"oidc-issuer" help:"Let people log in by this provider of identity (OpenID Connect)." placeholder:"URL"`
	ClientID string         `name:"oidc-client" help:"What the server is called there." placeholder:"ID"`
	Secret   string         `name:"oidc-secret-file" help:"The secret that it has there is in this file." placeholder:"FILE"`
	Identity []SiteIdentity `name:"site-identity" help:"Open secrets of a site with the private key in this file; without a site, of all of them." placeholder:"[SITE=]FILE" sep:"none"`
	Git      string         `name:"git-credentials" help:"Directory with HOST.token or HOST.helper (a program), HOST.pem (certificates of authorities), HOST.key and known_hosts, for repositories of these hosts that are followed." placeholder:"DIR"`
	OTLP     string         `name:"otlp" help:"Send metrics to this collector of OpenTelemetry each minute, with the headers of OTEL_EXPORTER_OTLP_HEADERS; \"env\": to that of OTEL_EXPORTER_OTLP_ENDPOINT." placeholder:"URL"`
}

// Run runs a server.
func (cmd *serverRunCmd) Run(ctx runContext, s *client) error {
	if err := cmd.check(); err != nil {
		return err
	}
	collector, header, err := cmd.collector(s)
	if err != nil {
		return err
	}
	services, err := s.services()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return failure(err)
	}
	c := ServerConfig{Dir: cmd.Dir, Listen: cmd.Listen, Agents: cmd.Agents, Standby: cmd.Standby, Store: cmd.Store, Names: cmd.Name, Brokers: cmd.Broker, BrokerCredentials: cmd.Creds, BrokerCA: cmd.BrokerCA, CertificateFile: cmd.TLSCert, KeyFile: cmd.TLSKey,
		AuditHeads: cmd.Heads, Issuer: cmd.Issuer, ClientID: cmd.ClientID, ClientKey: cmd.Secret, Hook: cmd.Hook, Identities: cmd.Identity, Demo: cmd.Demo, GitCredentials: cmd.Git, HostQuota: cmd.Quota << 20, StoreLimit: cmd.Limit << 30, ForgetHosts: cmd.forgetAfter(), OTLP: collector, OTLPHeader: header, Evaluator: []string{self, evaluate.Argument}, ShowRecovery: s.showRecovery}
	if cmd.Demo > 0 {
		dir, err := os.MkdirTemp("", "tenet-demo-")
		if err != nil {
			return failure(err)
		}
		defer os.RemoveAll(dir)
		c.Dir = dir
		c.Names = append(c.Names, "localhost")
		c.ShowRecovery = func(string) error { return nil }  // all of it is gone at the end
		if cmd.Listen == ":8443" && cmd.Agents == ":8444" { // nobody else is to come
			c.Listen, c.Agents = "127.0.0.1:8443", "127.0.0.1:8444"
		}
	}
	if c.Dir == "" {
		if c.Dir, err = s.serverDir(); err != nil {
			return err
		}
	}
	return failure(services.Serve(ctx, c, func(r ServerReady) { s.showReady(c, r) }, func(text string) { s.log(text) }))
}

// check looks at flags that belong together.
func (f *serverFlags) check() error {
	if len(f.Broker) > 0 && f.Creds == "" || len(f.Broker) == 0 && f.Creds+f.BrokerCA != "" {
		return usage("\"tenet server broker-config\" makes the file", "--broker and --broker-credentials belong together")
	}
	if f.Quota < 1 || f.Quota > 1<<20 || f.Limit < 0 || f.Limit > 1<<20 {
		return usage("leave it out, or give a number from 1 to 1048576", "--host-quota and --store-limit are whole numbers of MiB and GiB")
	}
	if f.Forget < 0 || f.Forget > 36500 {
		return usage("leave it out for 30, or write 0 for never", "--forget-hosts is a number of days")
	}
	if f.Limit > 0 && !strings.HasPrefix(f.Store, "postgres") {
		return usage("of a folder the server sees itself how much room is left", "--store-limit is for a database of PostgreSQL")
	}
	return nil
}

// collector is where metrics are sent, and the headers for it: https://opentelemetry.io/docs/specs/otel/protocol/exporter/
func (f *serverFlags) collector(s *client) (address string, header map[string]string, err error) {
	if f.OTLP == "" {
		return "", nil, nil
	}
	address = f.OTLP
	if address == "env" {
		if address = cmp.Or(s.getenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"), s.getenv("OTEL_EXPORTER_OTLP_ENDPOINT")); address == "" {
			return "", nil, usage("set it to the collector's address, such as http://localhost:4318", "--otlp env: OTEL_EXPORTER_OTLP_ENDPOINT is not set")
		}
	}
	if header, err = telemetry.ParseHeaders(cmp.Or(s.getenv("OTEL_EXPORTER_OTLP_METRICS_HEADERS"), s.getenv("OTEL_EXPORTER_OTLP_HEADERS"))); err != nil {
		return "", nil, usage("write NAME=VALUE, with commas between several", "OTEL_EXPORTER_OTLP_HEADERS: %w", err)
	}
	return address, header, nil
}

// serverDir is where a server keeps its data: for root that of the system.
func (s *client) serverDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/lib/tenet-server", nil
	}
	if dir := s.getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "tenet-server"), nil
	}
	if home := s.getenv("HOME"); home != "" {
		return filepath.Join(home, ".local", "state", "tenet-server"), nil
	}
	return "", usage("--dir DIR", "it is not known where the server keeps its data")
}

// showRecovery shows the key that replaces any other one.
func (s *client) showRecovery(key string) error {
	return s.print("The recovery key of this server, which replaces any of its other keys. It is shown this once:\n\n  " + key +
		"\n\nWrite it down, and keep it away from this machine.\n")
}

// showReady says how the server is reached, and what to do next.
func (s *client) showReady(c ServerConfig, r ServerReady) {
	var b strings.Builder
	b.WriteString("The server is at " + ui.Clean(r.URL) + "\n")
	b.WriteString("Its CA has the digest " + r.CADigest + "\n")
	if r.PasswordFile != "" {
		b.WriteString("The password of the person \"admin\" is in " + r.PasswordFile + "\n")
		b.WriteString("\nYou log in by\n\n  TENET_PASSWORD_FILE=" + ssh.Quote(r.PasswordFile) + " tenet login " + r.URL + " --ca-digest " + r.CADigest + " --name admin\n")
	}
	if r.Token != "" {
		b.WriteString("\nA host joins within an hour by\n\n  echo " + r.Token + " | tenet agent join\n")
	}
	if len(r.People) > 0 {
		b.WriteString("\nLog in there by one of these names and passwords, which end with the demo:\n\n")
		for _, p := range r.People {
			fmt.Fprintf(&b, "  %-6s %-40s %s\n", p.Name, p.Password, p.Does)
		}
	}
	if len(r.Demo) > 0 {
		b.WriteString("\nTry, in another terminal:\n\n")
		for _, line := range r.Demo {
			b.WriteString("  " + line + "\n")
		}
	}
	// Who started it does not read: the server serves nevertheless.
	_ = s.print(b.String())
}

// forgetAfter is after what time hosts are forgotten, as servers take it: below zero for never.
func (f *serverFlags) forgetAfter() time.Duration {
	if f.Forget == 0 {
		return -1
	}
	return time.Duration(f.Forget) * 24 * time.Hour
}
