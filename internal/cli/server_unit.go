package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/internal/ui"
)

type serverUnitCmd struct {
	User string `help:"The account as which the server runs." default:"tenet-server" placeholder:"NAME"`
	serverFlags
}

// Run prints a unit of systemd that runs a server.
func (cmd *serverUnitCmd) Run(_ runContext, s *client) error {
	if strings.Trim(strings.ToLower(cmd.User), "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" || cmd.User == "" {
		return usage("", "%s is no name of an account", ui.Clean(cmd.User))
	}
	if err := cmd.check(); err != nil {
		return err
	}
	program, err := os.Executable()
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		return failure(err)
	}
	if cmd.Dir == "" {
		cmd.Dir = "/var/lib/tenet-server"
	}
	args, err := cmd.arguments()
	if err != nil {
		return failure(err)
	}
	words := []string{unitWord(program), "server"}
	for _, a := range args {
		words = append(words, unitWord(a))
	}
	for _, w := range words {
		if strings.ContainsAny(w, "\n\r\x00") {
			return usage("", "a unit cannot have a line break in an argument")
		}
	}
	return s.print(serverUnitText(cmd.User, words, cmd.writable(), slices.ContainsFunc([]string{cmd.Listen, cmd.Agents, cmd.Standby}, isPrivileged)))
}

// isPrivileged tells whether an address has a port that not every account may take.
func isPrivileged(address string) bool {
	port := address[strings.LastIndex(address, ":")+1:]
	return len(port) > 0 && len(port) <= 3 || len(port) == 4 && port < "1024"
}

// arguments are the flags that differ from their defaults, with paths that do not depend on where they are read.
func (f *serverFlags) arguments() (args []string, err error) {
	absolute := func(name string) string {
		if name == "" {
			return ""
		}
		full, failed := filepath.Abs(name)
		if failed != nil {
			err = failed
		}
		return full
	}
	add := func(flag, value, usual string) {
		if value != usual {
			args = append(args, "--"+flag+"="+value)
		}
	}
	add("dir", absolute(f.Dir), "")
	add("listen", f.Listen, ":8443")
	add("standby-listen", f.Standby, "")
	add("agents", f.Agents, ":8444")
	for _, n := range f.Name {
		add("name", n, "")
	}
	add("broker", strings.Join(f.Broker, ","), "")
	add("broker-credentials", absolute(f.Creds), "")
	add("broker-ca", absolute(f.BrokerCA), "")
	add("store", f.Store, "")
	if f.Limit > 0 {
		add("store-limit", strconv.FormatInt(f.Limit, 10), "")
	}
	add("host-quota", strconv.FormatInt(f.Quota, 10), "32")
	add("forget-hosts", strconv.Itoa(f.Forget), "30")
	add("tls-cert", absolute(f.TLSCert), "")
	add("tls-key", absolute(f.TLSKey), "")
	for _, h := range f.Hook {
		add("hook", h, "")
	}
	add("audit-heads", absolute(f.Heads), "")
	add("oidc-issuer", f.Issuer, "")
	add("oidc-client", f.ClientID, "")
	add("oidc-secret-file", absolute(f.Secret), "")
	for _, i := range f.Identity {
		i.File = absolute(i.File)
		add("site-identity", i.String(), "")
	}
	add("otlp", f.OTLP, "")
	return args, err
}

// writable are the folders that the server writes to.
func (f *serverFlags) writable() string {
	list := []string{unitPath(f.Dir)}
	if f.Heads != "" {
		if full, err := filepath.Abs(f.Heads); err == nil {
			list = append(list, unitPath(filepath.Dir(full)))
		}
	}
	return strings.Join(list, " ")
}

// unitPath quotes a path in a setting that is no command: there is no $ in it.
func unitPath(path string) string {
	full, err := filepath.Abs(path)
	if err != nil {
		full = path
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(full) + `"`
}
