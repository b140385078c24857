package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/runtime/agent/daemon"
	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api/client"
	"github.com/tenetcm/tenet/server/enroll"
	"github.com/tenetcm/tenet/server/store"
)

const hostilePassword = "correct horse battery"

// target is a server that serves at its real ports, with agents of simulated machines: what attackers find.
type target struct {
	*Server
	t    *testing.T
	root *access.Caller
	wait fault.Group
	// A program "wait" of the machines says here that it was started, and that it was ended.
	waiting, stopped chan struct{}
	// logins are those of people whose passwords cost little.
	logins *access.Directory

	mu       sync.Mutex
	failed   []error
	machines map[string]*host.Memory
}

func newTarget(t *testing.T) *target {
	t.Helper()
	b := &target{t: t, root: &access.Caller{Name: access.FirstPerson, Kind: access.Person, Grants: access.AllGrants()}, waiting: make(chan struct{}, 1), stopped: make(chan struct{}, 1), machines: map[string]*host.Memory{}}
	c := config(t.TempDir())
	c.Failed = func(err error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.failed = append(b.failed, err)
	}
	var err error
	b.Server, err = Open(t.Context(), c)
	must(t, err)
	b.logins = access.NewDirectory(b.Store, access.Options{Cost: access.Cost{Time: 1, Memory: 64, Threads: 1}})
	ctx, cancel := context.WithCancel(context.Background())
	ready, served := make(chan Ready, 1), make(chan error, 1)
	fault.Go(func() { served <- b.Serve(ctx, func(r Ready) { ready <- r }) })
	t.Cleanup(func() {
		cancel()
		b.wait.Wait()
		must(t, errors.Join(<-served, b.Close()))
	})
	select {
	case <-ready:
	case err := <-served:
		t.Fatal(err)
	}
	return b
}

// person makes somebody with grants, and gives what they call the server by.
func (b *target) person(name string, grants ...string) *client.Client {
	b.t.Helper()
	list := b.grants(grants...)
	must(b.t, b.logins.AddPerson(b.t.Context(), b.root, name, access.PersonChange{Password: new(hostilePassword), Grants: &list}))
	login, err := b.logins.LogIn(b.t.Context(), name, hostilePassword, "here")
	must(b.t, err)
	return b.client(login.Secret)
}

func (b *target) client(secret string) *client.Client {
	b.t.Helper()
	c, err := client.New(client.Saved{URL: b.url, Authority: b.Authority.AuthorityDigest(), Secret: secret})
	must(b.t, err)
	return c
}

// grants reads VERB@HOSTS, and VERB@HOSTS:SITE.
func (b *target) grants(texts ...string) (list []access.Grant) {
	b.t.Helper()
	for _, text := range texts {
		verb, rest, _ := strings.Cut(text, "@")
		hosts, site, _ := strings.Cut(rest, ":")
		selector, err := access.ParseSelector(hosts)
		must(b.t, err)
		list = append(list, access.Grant{Verb: access.Verb(verb), Hosts: selector, Site: cmp.Or(site, access.All)})
	}
	return list
}

// host makes a simulated machine with its agent, and gives its id once it is connected, and the folder of its agent.
func (b *target) host(name string) (trust.ID, string) {
	b.t.Helper()
	token, _, err := b.Hosts.NewToken(b.t.Context(), enroll.By{Actor: access.FirstPerson}, enroll.NewToken{Auto: true, Names: name})
	must(b.t, err)
	dir := b.t.TempDir()
	i, err := daemon.Join(b.t.Context(), dir, token, identity.Joining{Name: name})
	must(b.t, err)
	id := i.ID()
	must(b.t, i.Close())
	b.run(name, dir)
	b.await(name+" is connected", func() bool { return b.Sessions.Status(id).Reachability.Connected })
	return id, dir
}

// run runs the agent of a folder until the test ends.
func (b *target) run(name, dir string) {
	b.t.Helper()
	m, err := simulated.New(b.t.Context(), simulated.Machine{Name: name})
	must(b.t, err)
	b.mu.Lock()
	b.machines[name] = m
	b.mu.Unlock()
	m.Handle("wait", func(ctx context.Context, _ host.Command) (host.Result, error) {
		b.waiting <- struct{}{}
		<-ctx.Done()
		b.stopped <- struct{}{}
		return host.Result{}, context.Cause(ctx)
	})
	ctx, cancel := context.WithCancel(context.Background())
	b.t.Cleanup(cancel)
	b.wait.Go(func() {
		_ = daemon.Run(ctx, daemon.Options{StateDir: dir, Host: m, Registry: modules.Standard(), Version: "test", Volatile: true, Retry: 100 * time.Millisecond}) // it ends with the test
	})
}

// await waits for a state that comes by itself.
func (b *target) await(what string, reached func() bool) {
	b.t.Helper()
	for limit := time.Now().Add(time.Minute); !reached(); {
		if time.Now().After(limit) {
			b.t.Fatal("a minute has passed, and it is not so: ", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// dial opens a connection to a host, and gives what it ends with.
func (b *target) dial(c *client.Client, name string) (*wire.Conn, <-chan error) {
	b.t.Helper()
	conn, _, err := c.Dial(b.t.Context(), name, wire.Opening{Site: "shop"})
	must(b.t, err)
	ended := make(chan error, 1)
	fault.Go(func() {
		_, err := conn.Receive()
		ended <- err
	})
	b.t.Cleanup(func() { conn.Close() })
	return conn, ended
}

func (b *target) audit(f access.AuditFilter) (records []access.Record) {
	b.t.Helper()
	must(b.t, b.Store.Read(b.t.Context(), func(r store.Reader) (err error) {
		records, err = access.ListAudit(r, f)
		return err
	}))
	return records
}

// A connection that is open ends as soon as whoever has opened it may not have it any more.
func TestConnectionsEndWithTheirRight(t *testing.T) {
	b := newTarget(t)
	id, _ := b.host("web1")
	must(t, err2(b.Hosts.Label(t.Context(), enroll.By{Actor: access.FirstPerson}, id, map[string]string{"env": "test"})))
	for name, take := range map[string]func(name string) error{
		"session": func(name string) error {
			list, err := b.People.Sessions(t.Context(), name)
			must(t, err)
			return b.People.EndSession(t.Context(), b.root, list[0].ID, "")
		},
		"password": func(name string) error {
			return b.People.ChangePerson(t.Context(), b.root, name, access.PersonChange{Password: new("another horse battery")})
		},
		"person": func(name string) error { return b.People.RemovePerson(t.Context(), b.root, name, "") },
		"grant": func(name string) error {
			none := b.grants("read@db*")
			return b.People.ChangePerson(t.Context(), b.root, name, access.PersonChange{Grants: &none})
		},
		"label": func(string) error {
			return err2(b.Hosts.Label(t.Context(), enroll.By{Actor: access.FirstPerson}, id, map[string]string{"env": "prod"}))
		},
	} {
		selector := "read@web*"
		if name == "label" {
			selector = "read@env=test"
		}
		_, ended := b.dial(b.person(name, selector), "web1")
		_, stays := b.dial(b.person(name+"-friend", "read@web*"), "web1")
		must(t, take(name))
		if err := <-ended; err == nil || code(err) != access.CodeUnknown && code(err) != access.CodeForbidden {
			t.Errorf("%s: it ended with %v", name, err)
		}
		select {
		case err := <-stays:
			t.Errorf("%s: that of somebody else ended with %v", name, err)
		default:
		}
	}
}

// err2 gives the error of a call that gives something besides.
func err2[T any](_ T, err error) error { return err }

// A verb that was used on a connection counts for as long as that is open: a program ends that somebody may not run any more.
func TestConnectionsEndWithTheirVerb(t *testing.T) {
	b := newTarget(t)
	b.host("web1")
	bob := b.person("bob", "read@*", "exec@*")
	conn, ended := b.dial(bob, "web1")
	_, reads := b.dial(bob, "web1")
	must(t, conn.Send(wire.KindRequest, wire.Request{Op: wire.OpExec, Exec: &machine.Exec{Argv: []string{"wait"}}}))
	<-b.waiting
	less := b.grants("read@*")
	must(t, b.People.ChangePerson(t.Context(), b.root, "bob", access.PersonChange{Grants: &less}))
	if err := <-ended; code(err) != access.CodeForbidden {
		t.Errorf("it ended with %v", err)
	}
	<-b.stopped
	select {
	case err := <-reads:
		t.Errorf("what takes the grant to read ended with %v", err)
	default:
	}
}

// One reader cannot take all connections to a host, nor can several keep the server itself out.
func TestOneReaderStarvesNobody(t *testing.T) {
	b := newTarget(t)
	id, _ := b.host("web1")
	mallory := b.person("mallory", "read@*")
	for range 16 {
		b.dial(mallory, "web1")
	}
	if _, _, err := mallory.Dial(t.Context(), "web1", wire.Opening{}); code(err) != access.CodeTooMany {
		t.Errorf("the 17th connection of one person: %v", err)
	}
	for n := range 2 {
		friend := b.person(fmt.Sprint("friend", n), "read@*")
		for range 16 {
			b.dial(friend, "web1")
		}
	}
	if _, _, err := b.person("alice", "read@*").Dial(t.Context(), "web1", wire.Opening{}); code(err) != access.CodeTooMany {
		t.Errorf("the 49th connection to a host: %v", err)
	}
	conn, _, err := b.Sessions.Dial(t.Context(), id, b.Sessions.SignAs("the server"), wire.Opening{})
	must(t, err)
	must(t, conn.Close())
}

// The audit tells what a program was given word by word, for which site, and of what is too long for it the digest.
func TestAuditTellsWhatWasRun(t *testing.T) {
	b := newTarget(t)
	id, _ := b.host("web1")
	bob := b.person("bob", "read@*", "exec@*")
	long := []string{"none", strings.Repeat("x", 10_000) + "; rm -rf /"}
	text, err := json.Marshal(long)
	must(t, err)
	for argv, want := range map[string]map[string]string{
		`["none","a b"]`:     {"argv": `["none","a b"]`, "argv_sha256": ""},
		`["none","a","b"]`:   {"argv": `["none","a","b"]`, "argv_sha256": ""},
		`["none","é\u0000"]`: {"argv": `["none","é\u0000"]`},
		string(text):         {"argv_bytes": fmt.Sprint(len(text)), "argv_sha256": trust.DigestOf(text).String()},
	} {
		var words []string
		must(t, json.Unmarshal([]byte(argv), &words))
		conn, ended := b.dial(bob, "web1")
		must(t, conn.Send(wire.KindRequest, wire.Request{Op: wire.OpExec, Exec: &machine.Exec{Argv: words}}))
		<-ended // it was allowed, and there is no such program
		records := b.audit(access.AuditFilter{Host: string(id), Action: "host.request", Limit: 1})
		if len(records) != 1 || records[0].Actor != "bob" || records[0].Site != "shop" {
			t.Fatalf("the audit has %+v", records)
		}
		for name, text := range want {
			if got := records[0].Detail[name]; got != text {
				t.Errorf("%.80s: the %s is %.80q, and not %.80q", argv, name, got, text)
			}
		}
		if shown := records[0].Detail["argv"]; len(argv) > 4096 && (!strings.HasSuffix(shown, `; rm -rf /"]`) || !strings.Contains(shown, "bytes more")) {
			t.Errorf("what is left out is not seen: %.60q … %.60q", shown, shown[len(shown)-60:])
		}
	}
}

// Which host a name stands for is kept where somebody is logged in: a server that names another one later, with whatever keys, is not believed
// until that person says that it is right.
func TestHostsAreKnown(t *testing.T) {
	b := newTarget(t)
	b.person("bob", "read@*")
	dir := t.TempDir()
	with := client.Credentials{URL: b.url, Authority: b.Authority.AuthorityDigest(), Name: "bob", Password: hostilePassword}
	must(t, err2(client.Login(t.Context(), dir, with)))
	dial := func() error {
		t.Helper()
		c, err := client.Open(dir) // as each command does
		must(t, err)
		conn, _, err := c.Dial(t.Context(), "web1", wire.Opening{})
		if err == nil {
			must(t, conn.Close())
		}
		return err
	}
	first, _ := b.host("web1")
	must(t, dial())
	must(t, dial())
	by := enroll.By{Actor: access.FirstPerson}
	second, _ := b.host("web2")
	must(t, err2(b.Hosts.Rename(t.Context(), by, first, "former")))
	must(t, err2(b.Hosts.Rename(t.Context(), by, second, "web1")))
	err := dial()
	if code(err) != client.CodeIdentity || !strings.Contains(err.Error(), string(first)) || !strings.Contains(err.Error(), string(second)) || !strings.Contains(diag.HintOf(err), "tenet host trust web1 "+string(second)) {
		t.Errorf("names were swapped: %v, %s", err, diag.HintOf(err))
	}
	must(t, err2(client.Login(t.Context(), dir, with))) // which is no reason to believe more
	if err := dial(); code(err) != client.CodeIdentity {
		t.Errorf("after another login: %v", err)
	}
	c, err := client.Open(dir)
	must(t, err)
	if former, err := c.TrustHost("web1", second); err != nil || former != first {
		t.Errorf("it was %s: %v", former, err)
	}
	must(t, dial())
	// A line that somebody was killed while writing never counted, and one that makes no sense is no reason to believe anything.
	file := filepath.Join(dir, "known_hosts")
	text, err := os.ReadFile(file)
	must(t, err)
	must(t, os.WriteFile(file, append(text, "localhost web1 aaaa"...), 0o600))
	must(t, dial())
	must(t, os.WriteFile(file, append(text, "localhost web1 aaaa\n"...), 0o600))
	if err := dial(); code(err) != client.CodeInvalid {
		t.Errorf("a damaged file: %v", err)
	}
}
