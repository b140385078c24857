package services

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenetcm/tenet/internal/cli"
	"github.com/tenetcm/tenet/modules"
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

// demoLimit is generous: whoever starts a demo on a machine with two cores has all of this within ten seconds.
const demoLimit = 4 * time.Minute

// startDemo starts a demo in a folder, and gives how it is reached.
func startDemo(t *testing.T, dir string, count int) (r cli.ServerReady) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var logged []string
	ready := make(chan cli.ServerReady, 1)
	served := make(chan error, 1)
	go func() {
		served <- Services{}.Serve(ctx, cli.ServerConfig{Dir: dir, Listen: "127.0.0.1:0", Agents: "127.0.0.1:0", Names: []string{"localhost"}, Demo: count, Evaluator: []string{self, evaluate.Argument},
			ShowRecovery: func(string) error { return nil }}, func(r cli.ServerReady) { ready <- r }, func(text string) {
			mu.Lock()
			defer mu.Unlock()
			logged = append(logged, text)
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(strings.Join(logged, "\n"))
		}
	})
	select {
	case r = <-ready:
	case err := <-served:
		served <- nil
		t.Fatal(err)
	}
	return r
}

// fact is something that a demo shows.
type fact struct {
	name string
	is   func() (bool, error)
}

// awaitFacts waits until each of them was seen, and says when it was.
func awaitFacts(t *testing.T, facts []fact) {
	t.Helper()
	began := time.Now()
	for ; len(facts) > 0; time.Sleep(100 * time.Millisecond) {
		left := facts[:0]
		for _, f := range facts {
			is, err := f.is()
			switch {
			case is:
				t.Logf("%5.1f s: %s", time.Since(began).Seconds(), f.name)
			case time.Since(began) > demoLimit:
				t.Errorf("never seen: %s (%v)", f.name, err)
			default:
				left = append(left, f)
			}
		}
		facts = left
	}
}

// Whoever starts a demo finds hosts, deployments, failures and whatever else there is to see, all of it by the API.
func TestDemo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := startDemo(t, dir, 20)
	if len(r.Demo) < 5 || len(r.People) != 5 {
		t.Errorf("there is not much to try: %q", r.Demo)
	}
	c := operator(t, r, filepath.Join(dir, "admin.txt"))
	awaitFacts(t, slices.Concat(hostFacts(t.Context(), c), deploymentFacts(t.Context(), c), otherFacts(t.Context(), c)))
	began := time.Now()
	awaitFacts(t, []fact{{"a machine that was changed by hand is mended", func() (bool, error) {
		for r, err := range c.Runs(t.Context(), client.RunFilter{Site: "base", Outcome: "changed"}) {
			return err == nil && r.Started.After(began), err
		}
		return false, nil
	}}})
	for _, p := range r.People {
		if _, err := client.Login(t.Context(), t.TempDir(), client.Credentials{URL: r.URL, Authority: c.Saved().Authority, Name: p.Name, Password: p.Password}); err != nil {
			t.Errorf("%s cannot log in: %v", p.Name, err)
		}
	}
	m := &remote.Machine{Name: "web1", Registry: modules.Standard(), Dial: func(ctx context.Context, o wire.Opening) (*wire.Conn, *wire.Hello, error) {
		return c.Dial(ctx, "web1", o)
	}}
	defer m.Close()
	facts, err := m.Facts(t.Context(), []string{"hostname"})
	if err != nil || facts.Values["hostname"] != "web1" {
		t.Errorf("web1 says that it is %v: %v", facts, err)
	}
}

// A demo of any size works: with few machines there is less to see.
func TestDemoOfOneMachine(t *testing.T) {
	t.Chdir(t.TempDir())
	const dir = "server" // whoever evaluates sites does so in another directory
	r := startDemo(t, dir, 1)
	c := operator(t, r, filepath.Join(dir, "admin.txt"))
	awaitFacts(t, []fact{
		{"one host is as it should be", func() (bool, error) {
			st, err := c.HostStatus(t.Context(), "web1")
			return err == nil && len(st.Sites) == 2 && st.Sites["base"].Report != nil && st.Sites["base"].Report.Ready, err
		}},
		deploymentFact(t.Context(), c, "one deployment is done", func(d client.Deployment) bool { return d.Site == "shop" && d.Phase == "done" }),
		deploymentFact(t.Context(), c, "one deployment waits for an approval", func(d client.Deployment) bool { return d.Why != nil && d.Why.Code == "approval" }),
	})
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
