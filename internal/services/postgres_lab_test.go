//go:build lab

package services

import (
	"cmp"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenetcm/tenet/server/api/client"
	"github.com/tenetcm/tenet/server/store/postgres/postgrestest"
)

// The database is killed as well. A server ends when it is away, and is started again, as by a unit.
func TestKilledDatabase(t *testing.T) {
	db := postgrestest.New(t)
	url := db.Database(t)
	f := newFarm(t, url, 3, "127.0.0.1")
	f.servers[0].supervise()
	f.survives(url, cmp.Or(*kills, 12), []func(){
		func() { db.Kill(t); db.Start(t) },
		func() { db.Kill(t); db.Start(t) },
	})
}

// Of two servers with one database the active one is killed during a deployment, and the next one stopped: each time the other takes over, agents
// follow, and the deployment ends well. The one that was stopped goes on later, and writes nothing.
func TestStandby(t *testing.T) {
	db := postgrestest.New(t)
	url := db.Database(t)
	f := newFarm(t, url, 3, "127.0.0.2", "127.0.0.3")
	e := f.standby(url)
	f.settle(e, f.deploy())

	id := f.deploy()
	time.Sleep(300 * time.Millisecond) // in the midst of it
	f.servers[0].end()
	f.turnTo(1)
	f.settle(e, id)

	f.servers[0].start()
	f.servers[0].says(standsBy)
	id = f.deploy()
	time.Sleep(300 * time.Millisecond)
	f.servers[1].signal(syscall.SIGSTOP)
	db.Steal(t, url) // as its end of the connection would be missed
	f.turnTo(0)
	f.settle(e, id)
	before := len(f.entries())
	f.servers[1].signal(syscall.SIGCONT)
	err := f.servers[1].wait()
	if said := f.servers[1].says(""); err == nil || !strings.Contains(said, "this server is no longer the active one") {
		t.Errorf("the one that was stopped ends: %v\n%s", err, said)
	}
	if after := len(f.entries()); after != before {
		t.Errorf("the audit had %d entries, and has %d", before, after)
	}
	f.servers[1].start()
	f.settle(e, f.deploy())
	if _, err := f.client.VerifyAudit(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

const standsBy = "another server is the active one"

// standby starts the second server, which stands by.
func (f *farm) standby(url string) *evidence {
	f.Helper()
	if err := os.Mkdir(f.serverDir(1), 0o700); err != nil {
		f.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", filepath.Join(f.serverDir(0), "keys"), f.serverDir(1)).CombinedOutput(); err != nil {
		f.Fatalf("%v: %s", err, out)
	}
	f.servers[1].start()
	f.servers[1].says(standsBy)
	return &evidence{farm: f, name: url, stored: map[string]uint64{}}
}

// Two servers with one database have a cluster of three servers of NATS for a broker. During a deployment one of each is killed: the active server, one of
// the cluster, the database. The standby takes over, agents stay where they are connected, and the deployment ends well.
func TestStandbyWithCluster(t *testing.T) {
	db := postgrestest.New(t)
	url := db.Database(t)
	c := newNATSCluster(t)
	f := newFarmWith(t, c.args, url, 3, "127.0.0.2", "127.0.0.3")
	e := f.standby(url)
	f.settle(e, f.deploy())

	id := f.deploy()
	time.Sleep(300 * time.Millisecond) // in the midst of it
	c.servers[0].end()
	f.servers[0].end()
	f.turnTo(1)
	f.settle(e, id)

	f.servers[0].start()
	f.servers[0].says(standsBy)
	f.servers[0].supervise() // each ends with the database, and is started again as by a unit
	f.servers[1].supervise()
	id = f.deploy()
	time.Sleep(300 * time.Millisecond)
	db.Kill(t)
	c.servers[1].end()
	c.servers[0].start()
	db.Start(t)
	f.toActive()
	f.settle(e, id)
	c.servers[1].start()
	f.settle(e, f.deploy())
	if _, err := f.client.VerifyAudit(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// toActive has whoever connects come to whichever server answers, since either may have become the active one.
func (f *farm) toActive() {
	f.Helper()
	eventually(f, func() error {
		for i, s := range []string{"127.0.0.2", "127.0.0.3"} {
			conn, err := net.DialTimeout("tcp", net.JoinHostPort(s, strconv.Itoa(f.port)), time.Second)
			if err == nil {
				conn.Close()
				f.turnTo(int64(i))
				return nil
			}
		}
		return errors.New("neither server serves")
	})
}

// supervise starts it again whenever it ends by itself, until the test ends.
func (p *process) supervise() {
	go func() {
		for p.t.Context().Err() == nil {
			time.Sleep(100 * time.Millisecond)
			p.mu.Lock()
			if p.cmd != nil && len(p.done) > 0 {
				p.run()
			}
			p.mu.Unlock()
		}
	}()
}

// turnTo has whoever connects come to another server, and those that are connected connect anew.
func (f *farm) turnTo(server int64) {
	f.active.Store(server)
	f.passed.Range(func(conn, _ any) bool {
		conn.(net.Conn).Close()
		return true
	})
}

// signal sends a process a signal.
func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// entries is the audit.
func (f *farm) entries() (all []client.AuditEntry) {
	f.Helper()
	f.eventually(func(ctx context.Context) error {
		all = nil
		for one, err := range f.client.Audit(ctx, client.AuditFilter{}) {
			if err != nil {
				return err
			}
			all = append(all, one)
		}
		return nil
	})
	return all
}
