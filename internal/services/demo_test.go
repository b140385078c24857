package services

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenetcm/tenet/internal/cli"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/remote"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/server/api/client"
	"github.com/tenetcm/tenet/server/evaluate"
)

// The program of these tests is tenet as well, and evaluates sites.
func TestMain(m *testing.M) {
	if version := os.Getenv(versionVariable); version != "" {
		os.Exit(runVersion(version))
	}
	if os.Args[0] == program {
		os.Exit(cli.Main(os.Args[1:], cli.Environment{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(), Services: Services{}}))
	}
	if os.Args[0] == natsProgram {
		runNATS(os.Args[1])
		return
	}
	if len(os.Args) == 2 && os.Args[1] == evaluate.Argument {
		if err := evaluate.Serve(context.Background(), os.Stdin, os.Stdout, os.Exit); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// A server, its agents and an operator, over real connections: hosts join, a site is deployed to them, one of them cannot have it, and all can be asked.
func TestDemo(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	var logged []string
	ready := make(chan cli.ServerReady, 1)
	served := make(chan error, 1)
	t.Chdir(t.TempDir())
	const dir = "server" // whoever evaluates sites does so in another directory
	go func() {
		served <- Services{}.Serve(ctx, cli.ServerConfig{Dir: dir, Listen: "127.0.0.1:0", Agents: "127.0.0.1:0", Names: []string{"localhost"}, Demo: 3, Evaluator: []string{self, evaluate.Argument},
			ShowRecovery: func(string) error { return nil }}, func(r cli.ServerReady) { ready <- r }, func(text string) {
			mu.Lock()
			defer mu.Unlock()
			logged = append(logged, text)
		})
	}()
	defer func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(strings.Join(logged, "\n"))
		}
	}()
	var r cli.ServerReady
	select {
	case r = <-ready:
	case err := <-served:
		t.Fatal(err)
	}
	if len(r.Demo) < 5 {
		t.Errorf("there is not much to try: %q", r.Demo)
	}
	c := operator(t, r, filepath.Join(dir, "admin.txt"))
	awaitDeployment(t, c)
	for _, name := range []string{"web1", "web2", "web3"} {
		m := &remote.Machine{Name: name, Registry: modules.Standard(), Dial: func(ctx context.Context, o wire.Opening) (*wire.Conn, *wire.Hello, error) {
			return c.Dial(ctx, name, o)
		}}
		facts, err := m.Facts(t.Context(), []string{"hostname"})
		if err != nil || facts.Values["hostname"] != name {
			t.Errorf("%s says that it is %v: %v", name, facts, err)
		}
		if st := awaitStatus(t, m); st.Report.Ready != (name != "web3") {
			t.Errorf("%s stands as %+v", name, st.Report)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	checkFleetStatus(t, c)
}

// checkFleetStatus waits until the server knows that one host of three is not as wanted, and finds it by that.
func checkFleetStatus(t *testing.T, c *client.Client) {
	t.Helper()
	limit := time.Now().Add(4 * time.Minute)
	for {
		st, err := c.Status(t.Context(), "", "shop")
		if err != nil || time.Now().After(limit) {
			t.Fatalf("the hosts stand as %+v: %v", st, err)
		}
		if st.States["active"] == 3 && st.Reachability["connected"] == 3 && st.Delivery["adopted"] == 3 && st.Readiness["ready"] == 2 && st.Readiness["not-ready"] == 1 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if st, err := c.Status(t.Context(), "web1", "other"); err != nil || len(st.States) > 0 {
		t.Errorf("of a site that there is not %+v stand somehow: %v", st, err)
	}
	for filter, want := range map[client.HostFilter]string{
		{Readiness: "not-ready"}:                        "web3",
		{Readiness: "ready", Select: "!web1"}:           "web2",
		{Site: "shop", Delivery: "adopted"}:             "web1 web2 web3",
		{Reachability: "lost"}:                          "",
		{Readiness: "not-ready", Site: "other"}:         "",
		{Readiness: "not-ready", Delivery: "pending"}:   "",
		{Reachability: "connected", Readiness: "ready"}: "web1 web2",
	} {
		var names []string
		for h, err := range c.Hosts(t.Context(), filter) {
			if err != nil {
				t.Fatal(err)
			}
			if h.Status == nil || h.Status.Sites["shop"] == nil || h.Status.Sites["shop"].Report.Ready == (h.Name == "web3") {
				t.Errorf("%s stands as %+v", h.Name, h.Status)
			}
			names = append(names, h.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%+v names %q, not %q", filter, got, want)
		}
	}
}

// awaitStatus waits until something was applied to a machine, and gives how that has ended.
func awaitStatus(t *testing.T, m *remote.Machine) *machine.Status {
	t.Helper()
	limit := time.Now().Add(4 * time.Minute)
	for {
		st, err := m.Status(t.Context(), "")
		if err != nil || time.Now().After(limit) {
			t.Fatalf("%s stands as %+v: %v", m.Name, st, err)
		}
		if st.Status != nil && st.Report != nil {
			return st
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// operator logs in as the person who administers the server.
func operator(t *testing.T, r cli.ServerReady, file string) *client.Client {
	t.Helper()
	password, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var authority trust.Digest
	if err := authority.UnmarshalText([]byte(r.CADigest)); err != nil {
		t.Fatal(err)
	}
	c, err := client.Login(t.Context(), t.TempDir(), client.Credentials{URL: r.URL, Authority: authority, Name: "admin", Password: strings.TrimSpace(string(password))})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// awaitDeployment waits until two of the three hosts have what was deployed, and the other one has tried.
func awaitDeployment(t *testing.T, c *client.Client) {
	t.Helper()
	limit := time.Now().Add(4 * time.Minute)
	for last := ""; ; {
		d, err := c.Deployment(t.Context(), 1)
		if err == nil {
			ready, tried := 0, false
			for _, h := range d.Members {
				if h.State == "ready" {
					ready++
				}
				tried = tried || h.State == "failed" || h.Why != nil && h.Why.Code == "progress"
			}
			if last = fmt.Sprintf("%s: %+v", d.Phase, d.Members); ready == 2 && tried {
				return
			}
		} else {
			last = err.Error()
		}
		if time.Now().After(limit) {
			t.Fatalf("it stands as %s", last)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
