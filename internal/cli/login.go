package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
	api "github.com/tenetcm/tenet/server/api/client"
)

type loginCmd struct {
	URL       string `arg:"" name:"url" help:"Of the server, such as https://tenet.example.com:8443."`
	Name      string `help:"Your name on the server (default: that of your account here)." placeholder:"NAME"`
	CADigest  string `name:"ca-digest" help:"The SHA-256 of the server's CA, as the server prints it." placeholder:"DIGEST"`
	Browser   bool   `help:"Log in by the provider of identity that the server has, in a browser on this machine."`
	TokenFile string `help:"Log in by the token of a program, which is in this file." placeholder:"FILE"`
	Sign      string `help:"Sign what hosts are asked for by this private key, in the place of the server." placeholder:"KEY"`
}

// loggedIn is who is logged in, as JSON.
type loggedIn struct {
	URL    string `json:"url"`
	Person string `json:"person"`
}

// Run logs in.
func (cmd *loginCmd) Run(ctx runContext, s *client) error {
	dir, err := s.configDir()
	if err != nil {
		return err
	}
	with := api.Credentials{URL: cmd.URL, Name: cmd.Name}
	if with.Sign, err = signingKeyFile(cmd.Sign); err != nil {
		return err
	}
	if with.Authority, err = cmd.authority(ctx, s); err != nil {
		return err
	}
	c, err := cmd.login(ctx, s, dir, with)
	if err != nil {
		return err
	}
	saved := c.Saved()
	if s.globals.JSON {
		return s.printJSON(loggedIn{saved.URL, saved.Person})
	}
	return s.say("logged in to " + ui.Clean(saved.URL) + " as " + ui.Clean(saved.Person))
}

func (cmd *loginCmd) login(ctx context.Context, s *client, dir string, with api.Credentials) (*api.Client, error) {
	if cmd.Browser {
		if cmd.Name != "" || cmd.TokenFile != "" {
			return nil, usage("leave out the others", "--browser finds out who you are")
		}
		c, err := api.LoginByIdentity(ctx, dir, with, func(address string) error {
			_, err := io.WriteString(s.Err, "Open this in a browser on this machine:\n\n  "+ui.Clean(address)+"\n\n")
			return err
		})
		return c, failure(err)
	}
	if err := cmd.credentials(ctx, s, &with); err != nil {
		return nil, err
	}
	c, err := api.Login(ctx, dir, with)
	return c, failure(err)
}

// signingKeyFile gives the path of a private key that is read whenever hosts are asked for something; empty: there is none.
func signingKeyFile(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	if _, err := readSigningKey(name); err != nil {
		return "", failure(err)
	}
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return "", usage("give a file that stays", "--sign: %s is no regular file", name)
	}
	return filepath.Abs(name)
}

// authority finds out which CA is the server's: the one that was named, one that this machine
// trusts, or one that somebody says is right.
func (cmd *loginCmd) authority(ctx context.Context, s *client) (digest trust.Digest, err error) {
	const hint = "the server prints its CA's digest when it starts, as 64 hexadecimal digits: --ca-digest DIGEST"
	if cmd.CADigest != "" {
		if err := digest.UnmarshalText([]byte(strings.TrimPrefix(strings.TrimSpace(cmd.CADigest), "sha256:"))); err != nil {
			return digest, usage(hint, "--ca-digest is no digest")
		}
		return digest, nil
	}
	digest, err = api.Authority(ctx, cmd.URL)
	if err != nil || digest.IsZero() {
		return digest, failure(err)
	}
	_, in := terminal(s.In)
	_, out := terminal(s.Out)
	if !in || !out {
		return digest, newStatus(exitFailed, errors.New("this machine does not know the server's CA, and there is no terminal to ask on"), hint)
	}
	if err := s.print("This machine does not know the CA of the server. The server says that its digest is\n\n  " + digest.String() +
		"\n\nCompare it with what the server itself prints: somebody in between could show another one."); err != nil {
		return digest, err
	}
	yes, err := s.ask(ctx, bufio.NewReader(s.In), "Is it the same?")
	if err == nil && !yes {
		err = &status{code: exitFailed}
	}
	return digest, err
}

// credentials asks for what is not given.
func (cmd *loginCmd) credentials(ctx context.Context, s *client, with *api.Credentials) error {
	if cmd.TokenFile != "" {
		if cmd.Name != "" {
			return usage("leave one out", "--name is a person's, and --token-file a program's")
		}
		text, err := readSome(cmd.TokenFile, 1<<10)
		if err != nil {
			return usage("", "--token-file: %w", err)
		}
		if with.Token = strings.TrimSpace(string(text)); with.Token == "" || strings.ContainsAny(with.Token, "\r\n\x00") {
			return usage("it has one line, the token", "--token-file: there is no token in %s", cmd.TokenFile)
		}
		return nil
	}
	if with.Name == "" {
		u, err := user.Current()
		if err != nil {
			return usage("give --name NAME", "it is not known who you are: %w", err)
		}
		with.Name = u.Username
	}
	const variable = "TENET_PASSWORD_FILE"
	text, err := s.passphrase(ctx, "Password of "+ui.Clean(with.Name)+": ", variable)
	if d, ok := errors.AsType[diag.Diagnostic](err); ok { // its hint is about passphrases
		return usage("it may be in a file or a pipe: "+variable+"=/dev/fd/3", "%s", d.Summary)
	}
	with.Password = text
	return err
}

type logoutCmd struct{}

// Run logs out.
func (cmd *logoutCmd) Run(ctx runContext, s *client) error {
	dir, err := s.configDir()
	if err != nil {
		return err
	}
	if err := api.Logout(ctx, dir); err != nil {
		return failure(err)
	}
	return s.say("logged out")
}

// configDir is where logins are kept.
func (c *console) configDir() (string, error) {
	if dir := c.getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "tenet"), nil
	}
	home := c.getenv("HOME")
	if home == "" {
		var err error
		if home, err = os.UserHomeDir(); err != nil {
			return "", usage("set HOME, or XDG_CONFIG_HOME", "it is not known where your logins are: %w", err)
		}
	}
	return filepath.Join(home, ".config", "tenet"), nil
}

// server is the one to which somebody is logged in here.
func (s *client) server() (*api.Client, error) {
	dir, err := s.configDir()
	if err != nil {
		return nil, err
	}
	c, err := api.Open(dir)
	return c, failure(err)
}

// serverOfHosts is server, by which hosts are asked for something: the login's own key signs that, if it has one.
func (s *client) serverOfHosts() (*api.Client, error) {
	c, err := s.server()
	if err != nil || c.Saved().Sign == "" {
		return c, err
	}
	key, err := readSigningKey(c.Saved().Sign)
	if err != nil {
		return nil, failure(err)
	}
	c.SignBy(key)
	return c, nil
}
