package ssh

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// HasJumpHosts tells whether somebody's configuration of the client, in this home, or that of
// the machine may name jump hosts: then Via is worth asking.
func HasJumpHosts(home string) bool {
	own := filepath.Join(home, ".ssh", "config")
	files, _ := filepath.Glob("/etc/ssh/ssh_config.d/*") // the error is of the pattern
	files = append(files, own, "/etc/ssh/ssh_config")
	return slices.ContainsFunc(files, func(name string) bool {
		data, err := os.ReadFile(name)
		if err != nil {
			return false // the client reads it as little
		}
		text := strings.ToLower(string(data))
		return strings.Contains(text, "proxyjump") || name == own && strings.Contains(text, "include")
	})
}

// JumpHosts names the jump hosts through which the client reaches a host, as its configuration
// and the options have it; empty: none, or the client does not say.
func (c *Client) JumpHosts(ctx context.Context, h Host) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	argv := c.argv(h, "")
	argv = slices.Insert(argv[:len(argv)-1], 1, "-G")
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = grace
	out, err := cmd.Output()
	if err != nil {
		return "" // dialling says what is wrong
	}
	for line := range bytes.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		if name == "proxyjump" && value != "none" {
			return value
		}
	}
	return ""
}
