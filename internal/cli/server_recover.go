package cli

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/tenetcm/tenet/internal/ui"
)

type serverRecoverCmd struct {
	KeyFile string   `name:"recovery-key-file" help:"The recovery key is in this file (default: standard input, or asked for on the terminal)." placeholder:"FILE"`
	Name    []string `help:"A name or address of the server (default: those of its former CA)." placeholder:"NAME"`
	serverPlace
}

// Run replaces all keys of a server.
func (cmd *serverRecoverCmd) Run(ctx runContext, s *client) error {
	services, err := s.services()
	if err != nil {
		return err
	}
	c, err := cmd.config(s)
	if err != nil {
		return err
	}
	if _, err := os.Stat(c.Dir); err != nil {
		return usage("--dir DIR", "there is no server: %w", err)
	}
	key, err := cmd.key(ctx, s)
	if err != nil {
		return err
	}
	c.Names, c.ShowRecovery = cmd.Name, s.showRecovery
	digest, err := services.Recover(ctx, c, key)
	if err != nil {
		return failure(err)
	}
	return s.print("All keys of the server are replaced; keys of operators are to be added again: tenet trust add-key\n" +
		"Its CA has the digest " + ui.Clean(digest) + "; log in anew by it once the server runs\n" +
		"Standbys need a copy of " + ui.Clean(filepath.Join(c.Dir, "keys")))
}

// key reads the recovery key, which is on no command line: others could see it there.
func (cmd *serverRecoverCmd) key(ctx context.Context, s *client) (string, error) {
	const limit = 1 << 10
	if cmd.KeyFile != "" {
		text, err := readSome(cmd.KeyFile, limit)
		if err != nil {
			return "", usage("", "--recovery-key-file: %w", err)
		}
		return strings.TrimSpace(string(text)), nil
	}
	if _, ok := terminal(s.In); ok {
		return s.askSecret(ctx, "Recovery key: ")
	}
	line, err := bufio.NewReader(io.LimitReader(s.In, limit)).ReadString('\n')
	if strings.TrimSpace(line) == "" {
		if err == io.EOF {
			err = nil
		}
		if err != nil {
			return "", failure(err)
		}
		return "", usage("give it on standard input, or in a file: --recovery-key-file FILE", "there is no recovery key")
	}
	return strings.TrimSpace(line), nil
}
