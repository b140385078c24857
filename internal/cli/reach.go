package cli

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/tenetcm/tenet/lang/diag"
	langsite "github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/privilege"
)

// connectFlags are the flags that say which hosts are meant besides --limit, and how they
// are reached.
type connectFlags struct {
	Inventory        string        `short:"i" help:"Take the hosts of this site (default: the current directory), or of an inventory of Ansible." placeholder:"SITE" group:"hosts"`
	Forks            int           `help:"How many hosts at a time." default:"32" placeholder:"N" group:"hosts"`
	SSHOption        []string      `name:"ssh-option" help:"Give the OpenSSH client an option, as its -o does." placeholder:"NAME=VALUE" sep:"none" group:"hosts"`
	ConnectTimeout   time.Duration `help:"How long a host may take to answer." default:"15s" placeholder:"DURATION" group:"hosts"`
	ReconnectTimeout span          `help:"How long to look for a host again whose connection broke in a run; 0: not at all." default:"10m" placeholder:"DURATION" group:"hosts"`
	AskBecomePass    bool          `help:"Ask for the password that sudo or doas wants." group:"hosts"`
	BecomeMethod     string        `help:"Become another account by sudo or doas." placeholder:"METHOD" group:"hosts"`
	RunnerDir        string        `help:"Look here first for the runners of other systems." placeholder:"DIR" group:"hosts"`
}

// patience is how long a host is looked for again.
func (r *connectFlags) patience() time.Duration {
	if r.ReconnectTimeout == 0 {
		return fleet.NotAgain
	}
	return time.Duration(r.ReconnectTimeout)
}

// check refuses what cannot be meant.
func (r *connectFlags) check() error {
	switch {
	case r.Forks < 1:
		return usage("", "--forks is a number of hosts from 1, not %d", r.Forks)
	case r.ConnectTimeout < time.Second:
		return usage("write a duration such as 15s", "--connect-timeout is a second at least, not %s", r.ConnectTimeout)
	case r.BecomeMethod != "" && !slices.Contains(privilege.Names(), r.BecomeMethod):
		return usage("write sudo or doas", "--become-method cannot be %q", r.BecomeMethod)
	}
	for _, option := range r.SSHOption {
		if err := langsite.CheckSSHOption(option); err != nil {
			hint := "write --ssh-option NAME=VALUE, such as ProxyJump=gate"
			if strings.Contains(option, "=") {
				hint = diag.HintOf(err)
			}
			return usage(hint, "--ssh-option: %w", err)
		}
	}
	if r.RunnerDir == "" {
		return nil
	}
	if info, err := os.Stat(r.RunnerDir); err != nil {
		return usage("tenet runner build --out DIR fills one", "--runner-dir: %w", err)
	} else if !info.IsDir() {
		return usage("tenet runner build --out DIR fills one", "--runner-dir: %s is no directory", r.RunnerDir)
	}
	return nil
}

// checkEmpty refuses --limit and --inventory with nothing in them: what a script has lost
// in an empty variable must not mean all hosts.
func checkEmpty(parsed *kong.Context) error {
	for _, p := range parsed.Path {
		if p.Flag == nil || (p.Flag.Name != "limit" && p.Flag.Name != "inventory") {
			continue
		}
		if text, ok := parsed.FlagValue(p.Flag).(string); ok && text == "" {
			return usage("leave it out, or name something", "--%s is empty", p.Flag.Name)
		}
	}
	return nil
}

// checkHosts refuses the flags that name hosts where a command is not about any.
func (s *client) checkHosts() error {
	name := strings.TrimPrefix(s.command, "tenet ")
	name, _, _ = strings.Cut(name, " ")
	switch name {
	case "ping", "facts", "exec", "do", "import", "history", "status", "logs", "hold", "unhold", "retry", "forget", "clean":
		return nil
	case "apply": // of a saved plan for another machine
		return nil
	}
	if s.globals.Inventory != "" {
		return usage("write the site as an argument, and name its hosts by --limit", "--inventory is for commands that need no site but its hosts, such as ping and exec")
	}
	return nil
}

// becomePassword is the password for sudo or doas, of all hosts and of this machine;
// "" unless it is to be asked for. It is asked for once: on the terminal or, where
// TENET_BECOME_PASSWORD_FILE names a file or a pipe, there.
func (s *client) becomePassword(ctx context.Context) (string, error) {
	const variable = "TENET_BECOME_PASSWORD_FILE"
	if !s.globals.AskBecomePass || s.becomePass != "" {
		return s.becomePass, nil
	}
	text, err := s.passphrase(ctx, "Password for sudo or doas: ", variable)
	if d, ok := errors.AsType[diag.Diagnostic](err); ok { // its hint is about passphrases
		return "", usage("it may be in a file or a pipe: "+variable+"=/dev/fd/3", "--ask-become-pass: %s", d.Summary)
	}
	switch {
	case err != nil:
		return "", err
	case text == "":
		return "", usage("", "--ask-become-pass: the password is empty")
	case strings.ContainsAny(text, "\n\r\x00"):
		return "", usage("", "--ask-become-pass: a password is one line")
	}
	s.becomePass = text
	return text, nil
}
