package services

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
)

// natsProgram is what this program is called where it is a server of NATS.
const natsProgram = "nats-server"

// runNATS is one by its configuration, until it is killed.
func runNATS(file string) {
	o, err := natsserver.ProcessConfigFile(file)
	var s *natsserver.Server
	if err == nil {
		s, err = natsserver.NewServer(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s.ConfigureLogger()
	s.Start()
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	<-ended
	s.Shutdown()
}

// natsCluster is three servers of NATS, by the configuration that the program makes.
type natsCluster struct {
	servers []*process
	args    []string // of tenet's server
}

func newNATSCluster(t testing.TB) *natsCluster {
	t.Helper()
	addresses := []string{"127.0.0.11", "127.0.0.12", "127.0.0.13"}
	port := freePorts(t, addresses)
	dir := filepath.Join(t.TempDir(), "nats")
	var hosts, urls []string
	for _, a := range addresses {
		hosts = append(hosts, net.JoinHostPort(a, fmt.Sprint(port)))
		urls = append(urls, "tls://"+hosts[len(hosts)-1])
	}
	if err := (Services{}).BrokerConfig(dir, hosts); err != nil {
		t.Fatal(err)
	}
	c := &natsCluster{args: []string{"--broker", strings.Join(urls, ","), "--broker-credentials", filepath.Join(dir, "tenet-broker.json"), "--broker-ca", filepath.Join(dir, "nats-ca.pem")}}
	for _, h := range hosts {
		name := strings.ReplaceAll(h, ":", "-")
		p := &process{t: t, name: natsProgram, args: []string{name + ".conf"}, dir: dir, output: filepath.Join(dir, name+".log")}
		t.Cleanup(p.end)
		p.start()
		p.says("Server is ready")
		c.servers = append(c.servers, p)
	}
	return c
}

// The broker is a cluster of three. Agents go on where one of them is killed, and where the server is; where the whole cluster is, the server serves
// people, says so, and is back with the agents when the cluster is.
func TestCluster(t *testing.T) {
	t.Parallel()
	c := newNATSCluster(t)
	f := newFarmWith(t, c.args, "", 2, "127.0.0.1")
	e := &evidence{farm: f, name: filepath.Join(f.serverDir(0), "store"), stored: map[string]uint64{}}
	if l, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", f.port+1), time.Second); err == nil {
		l.Close()
		t.Error("the server listens for agents itself")
	}
	f.broker(true)
	f.settle(e, f.deploy())

	id := f.deploy()
	c.servers[0].end()
	f.settle(e, id)

	id = f.deploy()
	f.servers[0].end()
	f.servers[0].start()
	f.settle(e, id)

	for _, s := range c.servers[1:] {
		s.end()
	}
	f.broker(false)
	id = f.deploy() // it is only noted
	for _, s := range c.servers {
		s.start()
	}
	f.broker(true)
	f.settle(e, id)
}

// A server whose cluster is away from the start on serves people, and takes hosts in.
func TestClusterThatIsAway(t *testing.T) {
	t.Parallel()
	c := newNATSCluster(t)
	for _, s := range c.servers {
		s.end()
	}
	f := newFarmWith(t, c.args, "", 1, "127.0.0.1")
	f.broker(false)
	for _, s := range c.servers {
		s.start()
	}
	f.broker(true)
	e := &evidence{farm: f, name: filepath.Join(f.serverDir(0), "store"), stored: map[string]uint64{}}
	f.settle(e, f.deploy())
}

// broker waits until the server says whether it reaches the cluster.
func (f *farm) broker(connected bool) {
	f.Helper()
	f.eventually(func(ctx context.Context) error {
		st, err := f.client.ServerStatus(ctx)
		if err == nil && (st.Broker.Kind != "cluster" || st.Broker.Connected != connected || connected != (st.Broker.Reason == "")) {
			err = errors.New("the server says of its broker: " + fmt.Sprintf("%+v", st.Broker))
		}
		return err
	})
}

// A folder with keys is not written to.
func TestBrokerConfigReplacesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := (Services{}).BrokerConfig(dir, nil); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Error(err)
	}
	for _, wrong := range []string{"", "a b", "n1:0", "n1:65000", "../n1", "n1/x", "-n1", "n1\n", "[::1", "a:b:c"} {
		if err := (Services{}).BrokerConfig(filepath.Join(dir, "new"), []string{wrong}); err == nil {
			t.Errorf("%q is taken for a server", wrong)
		}
	}
	if err := (Services{}).BrokerConfig(filepath.Join(dir, "new"), []string{"n1", "n1"}); err == nil {
		t.Error("a server that is there twice is accepted")
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); err == nil {
		t.Error("something was written")
	}
	if err := (Services{}).BrokerConfig(filepath.Join(dir, "new"), []string{"n1", "[fd00::1]:4223"}); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"nats.conf": 0o644, "n1.conf": 0o644, "n1.pem": 0o644, "n1.key": 0o600, "nats-ca.key": 0o600, "tenet-broker.json": 0o600, "nats-operator.seed": 0o600} {
		info, err := os.Stat(filepath.Join(dir, "new", name))
		if err != nil || info.Mode().Perm()&^mode != 0 {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
}
