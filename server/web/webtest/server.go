package webtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
)

// Server is tenet's own program, which runs a server.
type Server struct {
	URL, Password string
	Temp          string // in which it makes what is gone at its end
	argv          []string
	command       *exec.Cmd
}

// Build builds the program.
func Build(t testing.TB) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "tenet")
	build := exec.Command("go", "build", "-o", program, "github.com/tenetcm/tenet/cmd/tenet")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

// Run runs a server by a program, with further arguments, on ports of its own.
func Run(t testing.TB, program string, args ...string) *Server {
	t.Helper()
	s := &Server{argv: append([]string{program, "server", "--listen", free(t), "--agents", free(t), "--name", "localhost"}, args...)}
	s.Start(t)
	t.Cleanup(s.Kill)
	return s
}

// free finds an address at which nobody listens.
func free(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Start starts it, again where it has ended, and waits until it serves.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	s.command = exec.Command(s.argv[0], s.argv[1:]...)
	s.Temp = t.TempDir()
	s.command.Env = append(os.Environ(), "TMPDIR="+s.Temp)
	s.command.Stderr = io.Discard
	out, err := s.command.StdoutPipe()
	if err == nil {
		err = s.command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.read(ctx, out); err != nil {
		t.Fatal(err)
	}
}

// read reads what the server says when it begins to serve: where it is, and the first password.
func (s *Server) read(ctx context.Context, out io.Reader) error {
	ready := make(chan error, 1)
	fault.Go(func() {
		lines := bufio.NewScanner(out)
		file := regexp.MustCompile(`The password of the person "admin" is in (\S+)`)
		login := regexp.MustCompile(`TENET_PASSWORD_FILE=(\S+)`)
		told := false
		for lines.Scan() {
			line := lines.Text()
			if at, ok := strings.CutPrefix(line, "The server is at "); ok {
				s.URL = at
			}
			for _, pattern := range []*regexp.Regexp{file, login} {
				if found := pattern.FindStringSubmatch(line); found != nil && s.Password == "" {
					text, err := os.ReadFile(found[1])
					if err != nil {
						ready <- err
						return
					}
					s.Password = strings.TrimSpace(string(text))
				}
			}
			if !told && s.URL != "" && s.Password != "" {
				told = true
				ready <- nil
			}
		}
		if !told {
			ready <- fmt.Errorf("the server has ended before it served: %w", lines.Err())
		}
	})
	select {
	case err := <-ready:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the server does not serve: %w", ctx.Err())
	}
}

// Kill ends it as a loss of power would.
func (s *Server) Kill() {
	_ = s.command.Process.Kill() // it may have ended
	_ = s.command.Wait()         // killed is what it is to be
}

// RunFilled runs a server with so many hosts and runs in its store.
func RunFilled(t testing.TB, program string, hosts, runs int) *Server {
	t.Helper()
	const warm = 15 * time.Second // until hosts of the demo have something to show
	demo := Run(t, program, "--demo", "8")
	time.Sleep(warm)
	demo.Kill() // so that it does not remove what it has made
	found, err := filepath.Glob(filepath.Join(demo.Temp, "tenet-demo-*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the demo has left %q (%v)", found, err)
	}
	if err := Fill(found[0], hosts, runs); err != nil {
		t.Fatal(err)
	}
	password, err := os.ReadFile(filepath.Join(found[0], "admin.txt"))
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{argv: []string{program, "server", "--listen", free(t), "--agents", free(t), "--name", "localhost", "--dir", found[0]}, Password: strings.TrimSpace(string(password))}
	s.Start(t)
	t.Cleanup(s.Kill)
	return s
}
