package git

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// setting is one of git's configuration. They go by the environment: arguments would be shown by ps, and a file could be changed.
type setting struct{ name, value string }

// tokenHelper answers git's question for credentials from a file. Names of the file and the user come by the environment, so that
// neither is taken for a part of the script.
const tokenHelper = `!f() { test "$1" = get || exit 0; IFS= read -r token <"$TENET_GIT_TOKEN_FILE" || test -n "$token" || exit 1; printf 'username=%s\npassword=%s\n' "$TENET_GIT_USER" "$token"; }; f`

// environment is all that git knows of this process.
func (r *Repository) environment(bare bool) []string {
	c := r.client
	env := []string{
		"LC_ALL=C.UTF-8", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "SSH_ASKPASS_REQUIRE=never",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "GIT_ADVICE=0",
		"GIT_ALLOW_PROTOCOL=" + r.url.Scheme, "GIT_PROTOCOL_FROM_USER=0",
		"GIT_CEILING_DIRECTORIES=" + filepath.Dir(c.Dir),
		"GIT_SSH_COMMAND=" + c.sshCommand(), "GIT_SSH_VARIANT=ssh",
	}
	if bare {
		env = append(env, "GIT_DIR="+r.dir)
	}
	if user := cmp.Or(c.Credentials.User, r.url.User.Username(), "git"); c.Credentials.TokenFile != "" {
		env = append(env, "TENET_GIT_TOKEN_FILE="+c.Credentials.TokenFile, "TENET_GIT_USER="+user)
	}
	path := "PATH=/usr/local/bin:/usr/bin:/bin"
	if c.Getenv != nil {
		path = "PATH=" + cmp.Or(c.Getenv("PATH"), strings.TrimPrefix(path, "PATH="))
		names := []string{"TMPDIR", "SSH_AUTH_SOCK", "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"}
		if c.Credentials.Helper != "" { // which may keep things there; without a helper, curl's .netrc is no source of credentials
			names = append(names, "HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
		}
		for _, name := range names {
			if value := c.Getenv(name); value != "" {
				env = append(env, name+"="+value)
			}
		}
	}
	env = append(env, path)
	settings := r.settings()
	env = append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings)))
	for i, s := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s.name), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s.value))
	}
	return env
}

// settings is all the configuration that git has.
func (r *Repository) settings() []setting {
	c := r.client
	list := []setting{
		{"core.hooksPath", "/dev/null"}, {"core.fsmonitor", "false"}, {"core.attributesFile", "/dev/null"},
		{"core.bigFileThreshold", "16m"}, // larger ones are not held in memory
		{"fetch.unpackLimit", "1"},       // packs stay packs, of which there are few
		{"fetch.writeCommitGraph", "false"}, {"gc.auto", "0"}, {"gc.autoDetach", "false"}, {"maintenance.auto", "false"},
		{"fetch.recurseSubmodules", "false"}, {"submodule.recurse", "false"},
		{"pack.threads", "1"}, {"pack.windowMemory", "64m"},
		{"protocol.version", "2"}, {"protocol.allow", "never"}, {"protocol." + r.url.Scheme + ".allow", "always"},
		// Who is sent elsewhere says so: the other place would be sent credentials, or be one that only this machine reaches.
		{"http.followRedirects", "false"}, {"http.lowSpeedLimit", "10"}, {"http.lowSpeedTime", "60"}, {"http.emptyAuth", "false"},
		{"credential.helper", ""}, {"credential.interactive", "never"}, {"core.askPass", ""},
		// Only signatures of SSH count: programs of other formats would ask for keys that nobody has allowed.
		{"gpg.format", "ssh"}, {"gpg.program", "/bin/false"}, {"gpg.openpgp.program", "/bin/false"}, {"gpg.x509.program", "/bin/false"},
		{"gpg.ssh.program", "ssh-keygen"}, {"gpg.minTrustLevel", "fully"}, {"log.showSignature", "false"},
	}
	if c.CAFile != "" {
		list = append(list, setting{"http.sslCAInfo", c.CAFile})
	}
	// For this host alone, whatever else git may be led to.
	host := "credential." + (&url.URL{Scheme: r.url.Scheme, Host: r.url.Host}).String()
	switch {
	case c.Credentials.TokenFile != "":
		list = append(list, setting{host + ".helper", tokenHelper})
	case c.Credentials.Helper != "":
		list = append(list, setting{host + ".helper", "!" + quote(c.Credentials.Helper)})
	}
	return list
}

// sshCommand is how ssh is called, as text for a shell. It asks nobody, and takes no host that it does not know.
func (c *Client) sshCommand() string {
	words := []string{"ssh", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", "ConnectTimeout=30", "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4",
		"-o", "ForwardAgent=no", "-o", "ForwardX11=no", "-o", "PermitLocalCommand=no", "-o", "ClearAllForwardings=yes"}
	if key := c.Credentials.SSHKey; key != "" {
		words = append(words, "-o", "IdentitiesOnly=yes", "-i", quote(key))
	}
	if hosts := c.Credentials.KnownHosts; hosts != "" {
		words = append(words, "-o", quote(`UserKnownHostsFile="`+hosts+`"`), "-o", "GlobalKnownHostsFile=/dev/null")
	}
	return strings.Join(words, " ")
}

// quote writes a word for a shell.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// check looks at the files that credentials are in.
func (c Credentials) check() error {
	for _, one := range []struct{ what, path string }{{"the token file", c.TokenFile}, {"the helper for credentials", c.Helper}, {"the SSH key", c.SSHKey}, {"the file of known hosts", c.KnownHosts}} {
		if one.path == "" {
			continue
		}
		if !filepath.IsAbs(one.path) || strings.ContainsAny(one.path, "\"\n\x00") {
			return fmt.Errorf("%s %q has to be an absolute path", one.what, one.path)
		}
		info, err := os.Stat(one.path)
		if err != nil {
			return fmt.Errorf("%s cannot be used: %w", one.what, err)
		}
		if one.path == c.Helper && (!info.Mode().IsRegular() || info.Mode()&0o111 == 0) {
			return fmt.Errorf("%s %q is no program", one.what, one.path)
		}
	}
	if c.TokenFile != "" && c.Helper != "" {
		return errors.New("there are a token file and a helper for credentials, and one of them is enough")
	}
	return nil
}

// shown is what may be shown of a reason. Nobody here knows the password that a helper has given to git, and the other side may repeat it in whatever it says: what
// git says of itself is shown.
func (c Credentials) shown(reason string) string {
	if c.Helper == "" {
		return reason
	}
	for _, begin := range []string{"unable to access '", "Authentication failed for '", "could not read Username", "could not read Password"} {
		if strings.HasPrefix(reason, begin) {
			return reason
		}
	}
	return "what it says is not shown, since that may be what the helper for credentials has said"
}

// hide removes a token from a text: the other side may repeat what it was sent.
func (c Credentials) hide(text string) string {
	if c.TokenFile == "" {
		return text
	}
	f, err := os.Open(c.TokenFile)
	if err != nil {
		return "" // what it says cannot be shown safely
	}
	defer f.Close()
	data := make([]byte, 64<<10)
	n, err := f.Read(data)
	if err != nil && n == 0 {
		return ""
	}
	token, _, _ := strings.Cut(string(data[:n]), "\n")
	for _, secret := range []string{token, url.QueryEscape(token), url.PathEscape(token)} {
		if len(secret) > 3 {
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	return text
}
