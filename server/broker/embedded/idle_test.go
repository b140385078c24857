package embedded

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/trust"
)

// agentsAt has the test program be a crowd of agents: the address of a broker and their number.
const agentsAt = "TENET_TEST_AGENTS_AT"

func TestMain(m *testing.M) {
	if address, count, ok := strings.Cut(os.Getenv(agentsAt), " "); ok {
		if err := crowd(address, count); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// crowd connects agents, and stays until the standard input ends.
func crowd(address, count string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	const atOnce = 32
	errs, slots := make(chan error, n), make(chan struct{}, atOnce)
	conns := make(chan net.Conn, n) // what nobody refers to is closed
	defer runtime.KeepAlive(conns)
	for range n {
		slots <- struct{}{}
		go func() {
			defer func() { <-slots }()
			errs <- bareAgent(address, conns)
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			return err
		}
	}
	fmt.Println("connected")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// bareAgent connects as an agent does, with as little as it takes.
func bareAgent(address string, conns chan<- net.Conn) error {
	key, err := trust.GenerateKey()
	if err != nil {
		return err
	}
	a := link.Address{Host: key.ID(), Instance: "instance"}
	address, isWebSocket := strings.CutPrefix(address, "wss://")
	conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		return err
	}
	conns <- conn
	var stream io.ReadWriter = conn
	if isWebSocket {
		if stream, err = upgrade(conn); err != nil {
			return err
		}
	}
	return greet(stream, a)
}

func greet(stream io.ReadWriter, a link.Address) error {
	user, err := nkeys.CreateUser()
	if err != nil {
		return err
	}
	return introduce(stream, bufio.NewReaderSize(stream, 2048), a, user)
}

// introduce says who connects, and waits until that is accepted.
func introduce(stream io.Writer, reader *bufio.Reader, a link.Address, user nkeys.KeyPair) error {
	line, err := reader.ReadString('\n')
	if err != nil {
		return err
	}
	var info struct{ Nonce string }
	if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "INFO ")), &info); err != nil {
		return err
	}
	public, err := user.PublicKey()
	if err != nil {
		return err
	}
	signature, err := user.Sign([]byte(info.Nonce))
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(stream, "CONNECT {\"verbose\":false,\"protocol\":1,\"name\":%q,\"nkey\":%q,\"sig\":%q}\r\nSUB %s 1\r\nPING\r\n",
		a.String(), public, base64.RawURLEncoding.EncodeToString(signature), link.Subjects(link.Down, a)); err != nil {
		return err
	}
	for {
		line, err := reader.ReadString('\n')
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(line, "PONG"):
			return nil
		case strings.HasPrefix(line, "-ERR"):
			return errors.New(line)
		}
	}
}

// webSocket frames what is written, and takes off the frames of what is read: those are small and whole.
type webSocket struct {
	net.Conn
	reader *bufio.Reader
	left   int
}

func upgrade(conn net.Conn) (io.ReadWriter, error) {
	if _, err := fmt.Fprint(conn, "GET /v1/agent/broker HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"); err != nil {
		return nil, err
	}
	reader := bufio.NewReaderSize(conn, 2048)
	response, err := http.ReadResponse(reader, nil)
	if err == nil && response.StatusCode != http.StatusSwitchingProtocols {
		err = errors.New(response.Status)
	}
	return &webSocket{Conn: conn, reader: reader}, err
}

func (w *webSocket) Read(p []byte) (int, error) {
	if w.left == 0 {
		var head [4]byte
		if _, err := io.ReadFull(w.reader, head[:2]); err != nil {
			return 0, err
		}
		if w.left = int(head[1]); w.left == 126 {
			if _, err := io.ReadFull(w.reader, head[2:]); err != nil {
				return 0, err
			}
			w.left = int(head[2])<<8 | int(head[3])
		}
	}
	n, err := w.reader.Read(p[:min(len(p), w.left)])
	w.left -= n
	return n, err
}

func (w *webSocket) Write(p []byte) (int, error) { // with a mask of zeros
	_, err := w.Conn.Write(append([]byte{0x82, 0x80 | 126, byte(len(p) >> 8), byte(len(p)), 0, 0, 0, 0}, p...))
	return len(p), err
}

// resident is the memory of this process in bytes, as the system counts it.
func resident(t testing.TB) int {
	t.Helper()
	runtime.GC()
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	must(t, err)
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	must(t, err)
	return pages * os.Getpagesize()
}

// gather connects a crowd in a process of its own, and tells how long that took.
func gather(t testing.TB, s *site, address string, count int) time.Duration {
	t.Helper()
	crowd := exec.Command(os.Args[0])
	crowd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", agentsAt, address, count))
	crowd.Stderr = os.Stderr
	in, err := crowd.StdinPipe()
	must(t, err)
	out, err := crowd.StdoutPipe()
	must(t, err)
	begun := time.Now()
	must(t, crowd.Start())
	t.Cleanup(func() { must(t, errors.Join(in.Close(), crowd.Wait())) })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "connected\n" {
		t.Fatal(line, err)
	}
	took := time.Since(begun)
	if n := s.Connections(); n < count {
		t.Fatalf("%d of %d are connected", n, count)
	}
	return took
}

func everyone(c *Config) { c.Authorize = func(trust.ID, string) bool { return true } }

// What an agent that is idle costs the server, and how many can connect in a second; both sides share the processors.
func BenchmarkIdleAgents(b *testing.B) {
	const count = 2000
	for name, begin := range map[string]func() (*site, string){
		"tls": func() (*site, string) { s := open(b, everyone); return s, s.Addr() },
		"https": func() (*site, string) {
			s := overHTTPS(b, everyone)
			return s, strings.TrimSuffix(s.endpoint(), "/v1/agent/broker")
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s, address := begin()
				before := resident(b)
				took := gather(b, s, address, count)
				b.ReportMetric(float64(resident(b)-before)/count/1024, "KB/agent")
				b.ReportMetric(count/took.Seconds(), "connects/s")
			}
		})
	}
}
