package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/tenetcm/tenet/internal/atomicfile"
)

// The unit of the agent.
const (
	agentUnit     = "tenet-agent.service"
	agentUnitPath = "/etc/systemd/system/" + agentUnit
)

// unitText is the unit that runs the agent. It may do everything: that is what it is for.
func unitText(program, stateDir string) string {
	return `[Unit]
Description=tenet agent
Documentation=https://github.com/tenetcm/tenet
After=network.target

[Service]
ExecStart=` + unitWord(program) + ` agent run --state-dir ` + unitWord(stateDir) + `
Restart=always
RestartSec=5
KillMode=mixed
TimeoutStopSec=120

[Install]
WantedBy=multi-user.target
`
}

// unitWord quotes a word of a command in a unit: systemd.service(5), "Command lines".
func unitWord(word string) string {
	word = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "$", "$$").Replace(word)
	return `"` + word + `"`
}

// startAgent installs the unit, and starts it.
func (s *client) startAgent(ctx context.Context, stateDir string) error {
	if os.Geteuid() != 0 {
		return newStatus(exitFailed, errors.New("the machine has joined, and its agent was not started: that takes root"), "run it as root, or run \"tenet agent run\" by yourself and give --no-unit")
	}
	program, err := os.Executable()
	if err != nil {
		return failure(err)
	}
	if program, err = filepath.EvalSymlinks(program); err != nil {
		return failure(err)
	}
	text := []byte(unitText(program, stateDir))
	if err := atomicfile.Replace(agentUnitPath, atomicfile.Options{Mode: 0o644, Durable: true}, atomicfile.Data(text)); err != nil {
		return failure(err)
	}
	for _, argv := range [][]string{{"systemctl", "daemon-reload"}, {"systemctl", "enable", agentUnit}, {"systemctl", "restart", agentUnit}} {
		if err := runQuietly(ctx, argv); err != nil {
			return err
		}
	}
	return nil
}

// stopAgent stops the agent, and removes its unit.
func (s *client) stopAgent(ctx context.Context) error {
	if _, err := os.Lstat(agentUnitPath); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := runQuietly(ctx, []string{"systemctl", "disable", "--now", agentUnit}); err != nil {
		return err
	}
	if err := os.Remove(agentUnitPath); err != nil {
		return failure(err)
	}
	return runQuietly(ctx, []string{"systemctl", "daemon-reload"})
}

// runQuietly runs a program, of which nothing is shown unless it fails.
func runQuietly(ctx context.Context, argv []string) error {
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		return newStatus(exitFailed, fmt.Errorf("%s: %w: %.500s", strings.Join(argv, " "), err, strings.TrimSpace(string(out))), "")
	}
	return nil
}
