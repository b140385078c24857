package cli

import (
	"io"
	"os"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/runner"
)

type agentCmd struct {
	Join   agentJoinCmd   `cmd:"" help:"Ask a server to take this machine in, and start the agent."`
	Leave  agentLeaveCmd  `cmd:"" help:"Stop the agent, and forget the server. The machine stays as it is."`
	Rotate agentRotateCmd `cmd:"" help:"Replace the keys by which this machine connects, and to which its secrets are encrypted."`
	Run    agentRunCmd    `cmd:"" help:"Run the agent, as its unit does."`
	Probe  agentProbeCmd  `cmd:"" hidden:"" help:"Show the agent that runs that this program can follow it."`
}

type agentJoinCmd struct {
	TokenFile string   `help:"The token is in this file (default: standard input)." placeholder:"FILE"`
	Name      string   `help:"What the machine is called (default: its host name)." placeholder:"NAME"`
	Label     []string `help:"A label that it claims." placeholder:"NAME=VALUE" sep:"none"`
	NoUnit    bool     `help:"Install and start no unit: somebody else runs \"tenet agent run\"."`
}

type agentLeaveCmd struct{}

type agentRotateCmd struct{}

type agentProbeCmd struct{}

// Run shows that this program can follow the one that runs.
func (cmd *agentProbeCmd) Run(ctx runContext, s *client) error {
	services, dir, err := s.agentServices()
	if err != nil {
		return err
	}
	return failure(services.ProbeAgent(ctx, dir, s.In, s.Out, func(text string) { s.log(text) }))
}

type agentRunCmd struct {
	Poll time.Duration `help:"How often to look whether the machine is as wanted." default:"30m" placeholder:"DURATION"`
}

// maxToken bounds what is read for a token.
const maxToken = 4 << 10

// Run joins a server.
func (cmd *agentJoinCmd) Run(ctx runContext, s *client) error {
	services, err := s.services()
	if err != nil {
		return err
	}
	c := JoinConfig{Name: cmd.Name, Labels: map[string]string{}}
	if c.StateDir, err = s.agentDir(); err != nil {
		return err
	}
	if c.Token, err = cmd.token(s); err != nil {
		return err
	}
	for _, label := range cmd.Label {
		name, value, ok := strings.Cut(label, "=")
		if !ok || name == "" {
			return usage("--label role=db", "--label %q is no NAME=VALUE", label)
		}
		c.Labels[name] = value
	}
	if c.Name == "" {
		if c.Name, err = os.Hostname(); err != nil {
			return failure(err)
		}
	}
	shown := ""
	state, err := services.Join(ctx, c, func(j JoinState) {
		if j.State == "pending" && shown != j.Reason+j.State {
			shown = j.Reason + j.State
			s.log("this machine (" + j.ID + ") waits until somebody approves it: " + ui.Clean(j.Reason))
		}
	})
	if err != nil {
		return failure(err)
	}
	if !cmd.NoUnit {
		if err := s.startAgent(ctx, c.StateDir); err != nil {
			return err
		}
	}
	if s.globals.JSON {
		return s.printJSON(state)
	}
	text := "this machine has joined as " + ui.Clean(state.Name)
	if !cmd.NoUnit {
		text += "; its agent runs as " + agentUnit
	}
	return s.say(text)
}

// token reads the token.
func (cmd *agentJoinCmd) token(s *client) (string, error) {
	if cmd.TokenFile != "" {
		text, err := readSome(cmd.TokenFile, maxToken)
		if err != nil {
			return "", usage("", "--token-file: %w", err)
		}
		return strings.TrimSpace(string(text)), nil
	}
	text, err := io.ReadAll(io.LimitReader(s.In, maxToken))
	if err != nil {
		return "", failure(err)
	}
	if len(strings.TrimSpace(string(text))) == 0 {
		return "", usage("the server prints one, and \"tenet host token\" makes one: echo TOKEN | tenet agent join", "there is no token on standard input")
	}
	return strings.TrimSpace(string(text)), nil
}

// agentDir is the state folder of the machine, which the agent shares.
func (s *client) agentDir() (string, error) {
	dir, err := runner.StateDir(s.globals.StateDir, "", s.getenv)
	return dir, failure(err)
}

// agentServices gives the services, and the folder of the agent's records.
func (s *client) agentServices() (services Services, dir string, err error) {
	if services, err = s.services(); err == nil {
		dir, err = s.agentDir()
	}
	return services, dir, err
}

// Run forgets the server.
func (cmd *agentLeaveCmd) Run(ctx runContext, s *client) error {
	services, dir, err := s.agentServices()
	if err != nil {
		return err
	}
	if err := s.stopAgent(ctx); err != nil {
		return err
	}
	if err := services.Leave(dir); err != nil {
		return failure(err)
	}
	return s.say("this machine has left its server, and stays as it is; revoke it there, too")
}

// Run runs the agent.
func (cmd *agentRunCmd) Run(ctx runContext, s *client) error {
	services, dir, err := s.agentServices()
	if err != nil {
		return err
	}
	return failure(services.Agent(ctx, dir, cmd.Poll, func(text string) { s.log(text) }))
}

// Run replaces keys.
func (cmd *agentRotateCmd) Run(ctx runContext, s *client) error {
	services, dir, err := s.agentServices()
	if err != nil {
		return err
	}
	if err := services.RotateKeys(ctx, dir); err != nil {
		return failure(err)
	}
	return s.say("this machine connects by another key, and its secrets are encrypted to another one; its identity is the same")
}
