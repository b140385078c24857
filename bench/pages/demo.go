package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
)

// makeDemo runs a demo until its hosts have done something, and takes its directory.
func makeDemo(ctx context.Context, program, work, dir string) error {
	const warm = 25 * time.Second
	s, err := start(ctx, program, []string{"TMPDIR=" + work}, "--demo", "20")
	if err != nil {
		return err
	}
	time.Sleep(warm)
	s.kill() // so that the demo does not remove it
	found, err := filepath.Glob(filepath.Join(work, "tenet-demo-*"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("the demo has left %d directories (%w)", len(found), err)
	}
	return os.Rename(found[0], dir)
}

// server is one that runs.
type server struct {
	command *exec.Cmd
	url     string
}

// start starts a server, and waits until it serves.
func start(ctx context.Context, program string, environ []string, args ...string) (*server, error) {
	listen, err := free()
	if err != nil {
		return nil, err
	}
	agents, err := free()
	if err != nil {
		return nil, err
	}
	s := &server{command: exec.CommandContext(ctx, program, append([]string{"server", "--listen", listen, "--agents", agents, "--name", "localhost"}, args...)...)}
	s.command.Env, s.command.Stderr = append(os.Environ(), environ...), os.Stderr
	out, err := s.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.command.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil, errors.Join(errors.New("the server has ended before it served"), err)
		}
		if at, ok := strings.CutPrefix(line, "The server is at "); ok {
			s.url = strings.TrimSpace(at)
			fault.Go(func() { _, _ = io.Copy(io.Discard, lines) }) // what else it says is of no interest
			return s, nil
		}
	}
}

// free finds an address at which nobody listens.
func free() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// kill ends it.
func (s *server) kill() {
	_ = s.command.Process.Kill() // it may have ended
	_ = s.command.Wait()         // killed is what it is to be
}
