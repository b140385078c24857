package services

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/api/client"
	"github.com/tenetcm/tenet/server/sessions"
)

// program is what this program is called where it is tenet.
const program = "tenet"

// limit is how long anything may take.
const limit = 4 * time.Minute

// process is one of tenet, which is begun again after each end.
type process struct {
	t      testing.TB
	name   string // of the program; empty: tenet
	args   []string
	dir    string // empty: that of the test
	output string // a file

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan error // its end
}

// start starts it.
func (p *process) start() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.run()
}

func (p *process) run() {
	p.t.Helper()
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	out, err := os.OpenFile(p.output, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	defer out.Close()
	p.cmd = exec.Command(self)
	p.cmd.Args, p.cmd.Dir = append([]string{cmp.Or(p.name, program)}, p.args...), p.dir
	p.cmd.Stdout, p.cmd.Stderr = out, out
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	done := make(chan error, 1)
	p.done = done
	go func(cmd *exec.Cmd) { done <- cmd.Wait() }(p.cmd)
}

// end ends it at once.
func (p *process) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.done
		p.cmd = nil
	}
}

// wait waits until it ends by itself.
func (p *process) wait() error {
	err := <-p.done
	p.cmd = nil
	return err
}

// says waits until it has said something, and gives all that it has said.
func (p *process) says(what string) string {
	p.t.Helper()
	text := ""
	eventually(p.t, func() error {
		data, err := os.ReadFile(p.output)
		if text = string(data); err == nil && !strings.Contains(text, what) {
			err = fmt.Errorf("%q is not in what it says:\n%s", what, text)
		}
		return err
	})
	return text
}

// eventually tries something until it goes well.
func eventually(t testing.TB, try func() error) {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Since(begun) > limit {
			t.Fatalf("not within %s: %v", limit, err)
		}
	}
}

// farm is servers, agents and an operator, each a process of its own but for the operator.
type farm struct {
	testing.TB
	dir     string
	port    int // of people; that of agents is the next one
	servers []*process
	hosts   []*farmHost
	client  *client.Client
	version int
	active  atomic.Int64 // the number of the server to which whoever connects comes, where there are several
	passed  sync.Map     // connections to it
}

// farmHost is a host of the farm: an agent, and a folder that stands for the machine.
type farmHost struct {
	*process
	name, root string
	killed     int // how often, since the present version was deployed
}

// newFarm starts servers at addresses of this machine, and makes hosts whose agents join.
func newFarm(t testing.TB, store string, count int, addresses ...string) *farm {
	t.Helper()
	return newFarmWith(t, nil, store, count, addresses...)
}

// newFarmWith gives the servers more arguments.
func newFarmWith(t testing.TB, more []string, store string, count int, addresses ...string) *farm {
	t.Helper()
	f := &farm{TB: t, dir: t.TempDir(), port: freePorts(t, addresses)}
	t.Cleanup(func() {
		for _, h := range f.hosts {
			h.end()
		}
		for _, s := range f.servers {
			s.end()
			if data, err := os.ReadFile(s.output); err == nil && t.Failed() {
				t.Logf("%s:\n%s", s.output, data[max(0, len(data)-3000):])
			}
		}
	})
	for i, address := range addresses {
		p := &process{t: t, output: filepath.Join(f.dir, fmt.Sprintf("server%d.log", i)), args: []string{"server", "--dir", f.serverDir(i), "--name", "localhost",
			"--listen", fmt.Sprintf("%s:%d", address, f.port), "--agents", fmt.Sprintf("%s:%d", address, f.port+1)}}
		if store != "" {
			p.args = append(p.args, "--store", store)
		}
		p.args = append(p.args, more...)
		f.servers = append(f.servers, p)
	}
	if len(addresses) > 1 {
		f.balance(addresses)
	}
	f.servers[0].start()
	f.logIn(f.servers[0].says("tenet agent join"))
	for i := range count {
		f.join(fmt.Sprintf("h%d", i+1))
	}
	return f
}

// balance passes connections on to the server that is active, as something in front of several servers does.
func (f *farm) balance(addresses []string) {
	f.Helper()
	for _, port := range []int{f.port, f.port + 1} {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			f.Fatal(err)
		}
		f.Cleanup(func() { l.Close() })
		go func() {
			for {
				from, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					defer from.Close()
					to, err := net.Dial("tcp", net.JoinHostPort(addresses[f.active.Load()], strconv.Itoa(port)))
					if err != nil {
						return
					}
					defer to.Close()
					f.passed.Store(to, true)
					defer f.passed.Delete(to)
					go func() { _, _ = io.Copy(to, from); to.Close() }()
					_, _ = io.Copy(from, to)
				}()
			}
		}()
	}
}

// serverDir is the folder of a server.
func (f *farm) serverDir(i int) string { return filepath.Join(f.dir, fmt.Sprintf("server%d", i)) }

// freePorts finds two ports, one after the other, that are free on all addresses, and that are not given to whoever connects.
func freePorts(t testing.TB, addresses []string) int {
	t.Helper()
	for range 100 {
		port, free := 10000+2*rand.IntN(10000), true
		for _, address := range append([]string{"127.0.0.1"}, addresses...) {
			for _, one := range []int{port, port + 1} {
				l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", address, one))
				if err != nil {
					free = false
					continue
				}
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if free {
			return port
		}
	}
	t.Fatal("there are no free ports")
	return 0
}

// logIn logs in as the first person, by what a server says at its first start.
func (f *farm) logIn(said string) {
	f.Helper()
	_, digest, _ := strings.Cut(said, "Its CA has the digest ")
	digest, _, _ = strings.Cut(digest, "\n")
	password, err := os.ReadFile(filepath.Join(f.serverDir(0), "admin.txt"))
	if err != nil {
		f.Fatal(err)
	}
	with := client.Credentials{URL: fmt.Sprintf("https://localhost:%d", f.port), Name: "admin", Password: strings.TrimSpace(string(password))}
	if err := errors.Join(with.Authority.UnmarshalText([]byte(digest))); err != nil || with.Authority == (trust.Digest{}) {
		f.Fatal(digest, err)
	}
	f.eventually(func(ctx context.Context) (err error) {
		f.client, err = client.Login(ctx, filepath.Join(f.dir, "login"), with)
		return err
	})
}

// eventually asks the server for something until it is there.
func (f *farm) eventually(ask func(ctx context.Context) error) {
	f.Helper()
	eventually(f, func() error {
		ctx, cancel := context.WithTimeout(f.Context(), time.Minute)
		defer cancel()
		return ask(ctx)
	})
}

// join makes a host, and starts its agent.
func (f *farm) join(name string) {
	f.Helper()
	h := &farmHost{name: name, root: filepath.Join(f.dir, name), process: &process{t: f, output: filepath.Join(f.dir, name+".log")}}
	state := filepath.Join(f.dir, name+".state")
	if err := errors.Join(os.Mkdir(h.root, 0o700), os.Mkdir(state, 0o700)); err != nil {
		f.Fatal(err)
	}
	token, err := f.client.AddToken(f.Context(), client.TokenRequest{Auto: true, Names: name})
	if err != nil {
		f.Fatal(err)
	}
	file := filepath.Join(f.dir, name+".token")
	if err := os.WriteFile(file, []byte(token.Secret), 0o600); err != nil {
		f.Fatal(err)
	}
	h.args = []string{"agent", "join", "--no-unit", "--state-dir", state, "--name", name, "--token-file", file}
	h.start()
	if err := h.wait(); err != nil {
		f.Fatal(err, h.says(""))
	}
	h.args = []string{"agent", "run", "--state-dir", state, "--poll", "1s"}
	h.start()
	f.hosts = append(f.hosts, h)
}

// connected waits until as many agents are connected: one that has only begun takes no commands yet.
func (f *farm) connected(count int) {
	f.Helper()
	f.eventually(func(ctx context.Context) error {
		st, err := f.client.Status(ctx, "", "")
		if got := st.Reachability[string(sessions.ReachConnected)]; err == nil && got != count {
			err = fmt.Errorf("%d agents of %d are connected", got, count)
		}
		return err
	})
}

// farmSite has a file whose handler loads it, and steps, of which none may be done twice.
const farmSite = `
rollout {
  batch = [2]
}
file "conf" {
  path    = "%[1]s/${host.name}/conf"
  content = "%[2]d\n"
  notify  = [state.load]
}
state "steps" {
  require = [file.conf]
  command "step" {
    for_each = toset(["a", "b", "c", "d"])
    dir      = "%[1]s/${host.name}"
    shell    = "echo ${each.key} >> steps.%[2]d; sleep 0.02; touch done.%[2]d.${each.key}"
    creates  = "%[1]s/${host.name}/done.%[2]d.${each.key}"
  }
}
state "load" {
  lazy = true
  command "load" {
    dir   = "%[1]s/${host.name}"
    shell = "cat conf >> loads"
  }
}
`

// deploy deploys the next version, and gives the number of its deployment.
func (f *farm) deploy() (id int64) {
	f.Helper()
	f.version++
	text := "site {\n  name = \"farm\"\n}\n"
	for _, h := range f.hosts {
		h.killed = 0
		text += fmt.Sprintf("host %q {\n  executor = \"agent\"\n}\n", h.name)
	}
	text += fmt.Sprintf(farmSite, f.dir, f.version)
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	err := w.WriteHeader(&tar.Header{Name: "site.hcl", Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg})
	if _, writing := w.Write([]byte(text)); errors.Join(err, writing, w.Close()) != nil {
		f.Fatal(err, writing)
	}
	f.eventually(func(ctx context.Context) error {
		r, err := f.client.Upload(ctx, "farm", archive.Bytes(), "")
		if err != nil {
			return err
		}
		d, err := f.client.Deploy(ctx, client.DeployRequest{Site: "farm", Revision: r.Number})
		id = d.ID
		return err
	})
	return id
}
