//go:build lab

package labtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tenetcm/tenet/runtime/wire"
)

// The test program is an ssh as well: one that starts the real ssh, and writes down what
// goes through it and in which direction.
const (
	traceDir   = "LAB_SSH_TRACE" // the folder to write into
	traceLimit = "LAB_SSH_LIMIT" // so many bytes go to the host, and then the line is cut
)

// chunk is what went through at once, in the order in which it came to this machine or
// left it.
type chunk struct {
	ToHost bool
	Data   []byte
}

// traceSSH is that ssh.
func traceSSH() int {
	real, err := exec.LookPath("/usr/bin/ssh")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 255
	}
	out, err := os.CreateTemp(os.Getenv(traceDir), "trace-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 255
	}
	defer out.Close()
	cmd := exec.Command(real, os.Args[1:]...)
	cmd.Stderr = os.Stderr
	stdin, _ := cmd.StdinPipe()
	stdout, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 255
	}
	limit := -1
	_, _ = fmt.Sscan(os.Getenv(traceLimit), &limit)
	var mu sync.Mutex
	pass := func(from io.Reader, to io.Writer, toHost bool) {
		buffer := make([]byte, 1<<16)
		for sent := 0; ; {
			n, err := from.Read(buffer)
			if toHost && limit >= 0 && sent+n > limit {
				n = limit - sent
				_, _ = to.Write(buffer[:n])
				_ = cmd.Process.Kill()
				return
			}
			sent += n
			mu.Lock()
			line, _ := json.Marshal(chunk{toHost, buffer[:n]})
			_, _ = out.Write(append(line, '\n'))
			mu.Unlock()
			if _, werr := to.Write(buffer[:n]); err != nil || werr != nil {
				return
			}
		}
	}
	go func() {
		pass(os.Stdin, stdin, true)
		_ = stdin.Close()
	}()
	pass(stdout, os.Stdout, false)
	err = cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(exit.ExitCode(), 1)
	}
	return 0
}

// traced is the fleet with a controller whose connections are written down, and the
// folder that they are in.
func (f *fleet) traced(env ...string) (*fleet, string) {
	f.Helper()
	dir, err := os.MkdirTemp(f.c.Home(), "trace-")
	if err != nil {
		f.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		f.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "ssh")); err != nil {
		f.Fatal(err)
	}
	c := *f.c
	c.Path, c.Env = dir, append([]string{traceDir + "=" + dir}, env...)
	return &fleet{T: f.T, c: &c, hosts: f.hosts}, dir
}

// trips counts, for each connection, the round trips before the first part: how often
// something came from the host before the last that was sent to it before the run was
// told to have started. The first one asks for the program to be started.
func (f *fleet) trips(dir string) (trips []int) {
	f.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "trace-*"))
	if err != nil || len(paths) == 0 {
		f.Fatalf("no connection was written down in %s: %v", dir, err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		n, err := tripsOf(data)
		if err != nil {
			f.Fatal(path, err)
		}
		trips = append(trips, n)
	}
	return trips
}

// tripsOf counts those of one connection.
func tripsOf(trace []byte) (int, error) {
	var chunks []chunk
	var said []byte
	var ends []int // of chunks from the host, in said; for others 0
	lines := bufio.NewScanner(bytes.NewReader(trace))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c chunk
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return 0, err
		}
		if len(c.Data) == 0 {
			continue
		}
		end := 0
		if !c.ToHost {
			said = append(said, c.Data...)
			end = len(said)
		}
		chunks, ends = append(chunks, c), append(ends, end)
	}
	started, err := startedAt(said)
	if err != nil {
		return 0, err
	}
	trips, pending, asked := 0, 0, true
	for i, c := range chunks {
		switch {
		case c.ToHost:
			trips, pending, asked = trips+pending, 0, true
		case ends[i] > started:
			return trips, nil
		case asked:
			pending, asked = pending+1, false
		}
	}
	return 0, errors.New("the run was not started")
}

// startedAt finds where in what a host says the Started frame begins.
func startedAt(said []byte) (int, error) {
	hello := bytes.Index(said, []byte(`H{"protocol"`))
	if hello < 4 {
		return 0, fmt.Errorf("no Hello in %.200q", said)
	}
	rest := bytes.NewReader(said[hello-4:])
	conn := wire.New(byteByByte{rest}, io.Discard, nil)
	for {
		at := len(said) - rest.Len()
		f, err := conn.Receive()
		if err != nil {
			return 0, fmt.Errorf("no Started: %w", err)
		}
		if f.Kind == wire.KindStarted {
			return at, nil
		}
	}
}

// byteByByte keeps a reader from being read ahead.
type byteByByte struct{ io.Reader }

func (b byteByByte) Read(data []byte) (int, error) { return b.Reader.Read(data[:min(1, len(data))]) }

// What counts as a round trip.
func TestTripsAreCounted(t *testing.T) {
	var hello, started bytes.Buffer
	_ = wire.New(nil, &hello, nil).Send(wire.KindHello, wire.Hello{Protocol: wire.Protocol})
	_ = wire.New(nil, &started, nil).Send(wire.KindStarted, wire.Started{Run: "1"})
	for name, c := range map[string]struct {
		want   int
		chunks []chunk
	}{
		"warm":      {1, []chunk{{false, hello.Bytes()}, {true, []byte("bundle")}, {false, started.Bytes()}}},
		"in pieces": {1, []chunk{{false, hello.Bytes()[:9]}, {false, hello.Bytes()[9:]}, {true, []byte("bun")}, {true, []byte("dle")}, {false, started.Bytes()}}},
		"cold":      {2, []chunk{{false, []byte("Linux x86_64\n")}, {true, []byte("runner")}, {false, hello.Bytes()}, {true, []byte("bundle")}, {false, started.Bytes()}}},
		"needed":    {3, []chunk{{false, []byte("banner")}, {true, []byte("runner")}, {false, hello.Bytes()}, {true, []byte("bundle")}, {false, []byte("\x00\x00\x00\x00N")}, {true, []byte("more")}, {false, started.Bytes()}}},
	} {
		var b strings.Builder
		for _, chunk := range c.chunks {
			line, _ := json.Marshal(chunk)
			b.Write(append(line, '\n'))
		}
		if got, err := tripsOf([]byte(b.String())); err != nil || got != c.want {
			t.Errorf("%s: %d, %v, want %d", name, got, err, c.want)
		}
	}
}
