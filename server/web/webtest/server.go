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

// Launch starts a server by a program, with further arguments, on ports of its own. What it makes beside its folder goes to a folder for
// that. Without a password, the one that it prints for its first person is read.
func Launch(program, temp, password string, args ...string) (*Server, error) {
	argv := []string{program, "server", "--name", "localhost"}
	for _, flag := range []string{"--listen", "--agents"} {
		at, err := freeAddress()
		if err != nil {
			return nil, err
		}
		argv = append(argv, flag, at)
	}
	s := &Server{Temp: temp, Password: password, argv: append(argv, args...)}
	return s, s.launch()
}

// Run is Launch for a test, at whose end the server ends, too.
func Run(t testing.TB, program string, args ...string) *Server {
	t.Helper()
	return run(t, program, "", args...)
}

func run(t testing.TB, program, password string, args ...string) *Server {
	t.Helper()
	s, err := Launch(program, t.TempDir(), password, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

// freeAddress finds an address at which nobody listens.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// Start starts it again, where it has ended.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	if err := s.launch(); err != nil {
		t.Fatal(err)
	}
}

// PID is that of its process.
func (s *Server) PID() int { return s.command.Process.Pid }

// launch starts it, and waits until it serves.
func (s *Server) launch() error {
	s.command = exec.Command(s.argv[0], s.argv[1:]...)
	s.command.Env = append(os.Environ(), "TMPDIR="+s.Temp)
	out, err := s.command.StdoutPipe()
	if err == nil {
		err = s.command.Start()
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return s.read(ctx, out)
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
	dir := filepath.Join(t.TempDir(), "server")
	if err := MakeFilled(program, t.TempDir(), dir, hosts, runs); err != nil {
		t.Fatal(err)
	}
	password, err := PasswordOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	return run(t, program, password, "--dir", dir)
}

// MakeFilled makes the folder of a server with so many hosts and runs, from what a demo has made that was ended in the midst.
func MakeFilled(program, temp, dir string, hosts, runs int) error {
	const warm = 25 * time.Second // until hosts of the demo have something to show
	demo, err := Launch(program, temp, "", "--demo", "20")
	if err != nil {
		return err
	}
	time.Sleep(warm)
	demo.Kill() // so that it does not remove what it has made
	found, err := filepath.Glob(filepath.Join(temp, "tenet-demo-*"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("the demo has left %d folders (%w)", len(found), err)
	}
	if err := Fill(found[0], hosts, runs); err != nil {
		return err
	}
	return os.Rename(found[0], dir)
}

// PasswordOf is that of the first person of a server, in its folder.
func PasswordOf(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "admin.txt"))
	return strings.TrimSpace(string(text)), err
}
