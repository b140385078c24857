package signing_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/nats-io/nkeys"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/secrets"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/api/client"
	"github.com/tenetcm/tenet/server/evaluate"
	"github.com/tenetcm/tenet/server/signing"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// host is one that signs what it says.
type host struct {
	t    *testing.T
	name string
	key  trust.PrivateKey
	seal *age.X25519Identity
	nkey string
}

func newHost(t *testing.T, name string) *host {
	t.Helper()
	h := &host{t: t, name: name}
	var err error
	h.key, err = trust.GenerateKey()
	must(t, err)
	h.seal, err = age.GenerateX25519Identity()
	must(t, err)
	user, err := nkeys.CreateUser()
	must(t, err)
	h.nkey, err = user.PublicKey()
	must(t, err)
	return h
}

func (h *host) id() trust.ID { return h.key.ID() }

func (h *host) sign(kind trust.Kind, content any) *trust.Signed {
	h.t.Helper()
	s, err := trust.Sign(kind, content, h.key)
	must(h.t, err)
	return s
}

func (h *host) keys(number uint64, sealing string) *trust.Signed {
	return h.sign(trust.KindHostKeys, trust.HostKeys{Identity: h.key.Public(), Connection: h.nkey, Sealing: sealing, Number: number})
}

func (h *host) facts(number uint64, hostname string) *trust.Signed {
	return h.sign(trust.KindReport, control.FactsReport{Host: h.id(), Number: number, Facts: map[string]json.RawMessage{"hostname": json.RawMessage(fmt.Sprintf("%q", hostname))}})
}

func (h *host) outputs(site string, number uint64, port string) *trust.Signed {
	return h.sign(trust.KindOutputs, control.OutputsReport{Host: h.id(), Site: site, Number: number, Values: map[string]json.RawMessage{"port": json.RawMessage(fmt.Sprintf("%q", port))}})
}

// desk is an operator of the hosts web1, which reads what db gives, and db.
type desk struct {
	*testing.T
	login   string
	web, db *host
	key     trust.PrivateKey
	pinned  map[string]trust.ID
	empty   bool
	more    string // of the site
}

func newDesk(t *testing.T) *desk {
	d := &desk{T: t, login: t.TempDir(), web: newHost(t, "web1"), db: newHost(t, "db"), pinned: map[string]trust.ID{}}
	var err error
	d.key, err = trust.GenerateKey()
	must(t, err)
	return d
}

const site = `site { name = "shop" }
host "web1" { executor = "agent" }
host "db" {
  executor = "agent"
  roles    = ["db"]
}
role "db" {
  command "port" {
    argv = ["true"]
    plan = true
  }
  output "port" { value = command.port.stdout }
}
file "/etc/motd" { content = fact.hostname }
file "/etc/port" { content = join(",", [for h in hosts("db", { outputs = "last" }) : h.outputs.port == null ? "none" : h.outputs.port]) }
`

// signing is what an honest server says of the hosts.
func (d *desk) signing() client.Signing {
	q := client.Signing{Site: "shop", Revision: 7}
	for _, h := range []*host{d.web, d.db} {
		q.Hosts = append(q.Hosts, client.SigningHost{ID: h.id(), Name: h.name, Keys: h.keys(3, h.seal.Recipient().String()), Facts: h.facts(5, h.name), Outputs: h.outputs("shop", 5, "80"),
			Position: trust.Position{Epoch: 2, N: 10}, Chosen: true, Declared: true})
	}
	return q
}

// sign signs with what was signed before in mind, as another call of the command does.
func (d *desk) sign(q client.Signing) (*signing.Signed, error) {
	d.Helper()
	dir := d.TempDir()
	must(d.T, os.WriteFile(filepath.Join(dir, "site.hcl"), []byte(site+d.more), 0o600))
	memory, err := signing.OpenMemory(filepath.Join(d.login, "signed.json"))
	must(d.T, err)
	defer func() { must(d.T, memory.Close()) }()
	s := &signing.Signer{Key: d.key, Memory: memory, Empty: d.empty, Program: "test", Identities: func() ([]secrets.Identity, error) { return nil, nil },
		Known: func(name string, id trust.ID) error {
			if former := d.pinned[name]; former != "" && former != id {
				return &diag.HintError{Code: client.CodeIdentity, Message: name + " is another host than before"}
			}
			d.pinned[name] = id
			return nil
		}}
	return s.Sign(d.Context(), q, dir, d.TempDir())
}

// positions are those of what was signed, by host. All of it is by the operator's key, and for the host to which it goes.
func (d *desk) positions(s *signing.Signed) map[trust.ID]trust.Position {
	d.Helper()
	out := map[trust.ID]trust.Position{}
	for _, h := range s.Hosts {
		a, err := trust.Open[trust.Assignment](h.Assignment, trust.KindAssignment, d.key.Public())
		must(d.T, err)
		if err := a.Check(); err != nil || a.Host != h.Host || a.Site != "shop" || a.Revision != "7" || a.Until.After(time.Now().Add(signing.Validity)) {
			d.Errorf("signed for %s: %+v: %v", h.Host, a, err)
		}
		if !a.Absent && a.Recipient != map[trust.ID]string{d.web.id(): d.web.seal.Recipient().String(), d.db.id(): d.db.seal.Recipient().String()}[a.Host] {
			d.Errorf("for %s it is encrypted to %s", h.Host, a.Recipient)
		}
		out[h.Host] = a.Position
	}
	return out
}

// A server that is somebody else's gets nothing signed: not with a key, a host, facts or outputs that it has made up, of another host, or that are older than those of before, and
// not with a position that would undo what was signed before.
func TestEvilServer(t *testing.T) {
	mallory := newHost(t, "web1")
	for name, one := range map[string]struct {
		evil       func(d *desk, q *client.Signing, web *client.SigningHost)
		code, want string
	}{
		"sealing key by another": {func(d *desk, _ *client.Signing, h *client.SigningHost) {
			h.Keys = forge(d, mallory, d.web.keys(4, mallory.seal.Recipient().String()))
		}, "forged", "keys of web1"},
		"another of the number": {func(d *desk, _ *client.Signing, h *client.SigningHost) {
			h.Keys = d.web.keys(3, mallory.seal.Recipient().String())
		}, "forged", "two of the number 3"},
		"former sealing key": {func(d *desk, _ *client.Signing, h *client.SigningHost) {
			h.Keys = d.web.keys(2, d.web.seal.Recipient().String())
		}, "forged", "the number 2, and 3 was seen"},
		"keys of another host": {func(_ *desk, q *client.Signing, h *client.SigningHost) { h.Keys = q.Hosts[1].Keys }, "forged", "keys of web1"},
		"no keys":              {func(_ *desk, _ *client.Signing, h *client.SigningHost) { h.Keys = nil }, "forged", "there are none"},
		"keys of another kind": {func(_ *desk, _ *client.Signing, h *client.SigningHost) { h.Keys = h.Facts }, "forged", "keys of web1"},
		"another host": {func(_ *desk, _ *client.Signing, h *client.SigningHost) {
			h.ID, h.Keys, h.Facts, h.Outputs = mallory.id(), mallory.keys(1, mallory.seal.Recipient().String()), nil, nil
		}, "identity", "another host"},
		"names swapped": {func(_ *desk, q *client.Signing, _ *client.SigningHost) {
			q.Hosts[0].Name, q.Hosts[1].Name = "db", "web1"
		}, "identity", "another host"},
		"a name twice": {func(_ *desk, q *client.Signing, _ *client.SigningHost) { q.Hosts = append(q.Hosts, q.Hosts[0]) }, "forged", "two hosts web1"},
		"a host twice": {func(_ *desk, q *client.Signing, h *client.SigningHost) {
			two := *h
			two.Name = "web2"
			q.Hosts = append(q.Hosts, two)
		}, "forged", "web1 and web2"},
		"facts of another host": {func(_ *desk, q *client.Signing, h *client.SigningHost) { h.Facts = q.Hosts[1].Facts }, "forged", "facts of web1"},
		"facts about another": {func(d *desk, _ *client.Signing, h *client.SigningHost) {
			h.Facts = d.web.sign(trust.KindReport, control.FactsReport{Host: d.db.id(), Number: 6})
		}, "forged", "another host"},
		"facts by another": {func(d *desk, _ *client.Signing, h *client.SigningHost) {
			h.Facts = forge(d, mallory, d.web.facts(6, "evil"))
		}, "forged", "facts of web1"},
		"facts that were altered": {func(_ *desk, _ *client.Signing, h *client.SigningHost) { h.Facts = alter(h.Facts) }, "forged", "facts of web1"},
		"former facts":            {func(d *desk, _ *client.Signing, h *client.SigningHost) { h.Facts = d.web.facts(4, "former") }, "forged", "the number 4, and 5 was seen"},
		"no facts any more": {func(_ *desk, q *client.Signing, _ *client.SigningHost) {
			q.Hosts[1].Facts, q.Hosts[1].Chosen = nil, false
		}, "forged", "facts of db"},
		"outputs of another host": {func(_ *desk, q *client.Signing, h *client.SigningHost) { q.Hosts[1].Outputs = h.Outputs }, "forged", "outputs of db"},
		"outputs by another": {func(d *desk, q *client.Signing, _ *client.SigningHost) {
			q.Hosts[1].Outputs = forge(d, mallory, d.db.outputs("shop", 6, "evil"))
		}, "forged", "outputs of db"},
		"outputs about another": {func(d *desk, q *client.Signing, _ *client.SigningHost) {
			q.Hosts[1].Outputs = d.db.sign(trust.KindOutputs, control.OutputsReport{Host: d.web.id(), Site: "shop", Number: 6})
		}, "forged", "another host or site"},
		"outputs of another site": {func(d *desk, q *client.Signing, _ *client.SigningHost) {
			q.Hosts[1].Outputs = d.db.outputs("mail", 6, "25")
		}, "forged", "another host or site"},
		"former outputs": {func(d *desk, q *client.Signing, _ *client.SigningHost) {
			q.Hosts[1].Outputs = d.db.outputs("shop", 4, "79")
		}, "forged", "the number 4, and 5 was seen"},
		"no outputs any more":      {func(_ *desk, q *client.Signing, _ *client.SigningHost) { q.Hosts[1].Outputs = nil }, "forged", "outputs of db"},
		"former epoch":             {func(_ *desk, _ *client.Signing, h *client.SigningHost) { h.Position = trust.Position{Epoch: 1, N: 99} }, "forged", "older epoch"},
		"position that uses it up": {func(_ *desk, _ *client.Signing, h *client.SigningHost) { h.Position.N += 1 << 40 }, "forged", "far beyond"},
		"last position": {func(_ *desk, _ *client.Signing, h *client.SigningHost) {
			h.Position = trust.Position{Epoch: 3, N: 1 << 63}
		}, "forged", "position that cannot be"},
		"no position": {func(_ *desk, _ *client.Signing, h *client.SigningHost) { h.Position = trust.Position{} }, "forged", "position that cannot be"},
		"another site": {func(_ *desk, q *client.Signing, _ *client.SigningHost) {
			q.Site = "mail"
			q.Hosts[0].Outputs, q.Hosts[1].Outputs = nil, nil
		}, evaluate.CodeSite, `not "mail"`},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			first, err := d.sign(d.signing())
			must(t, err)
			was := d.positions(first)
			before, err := os.ReadFile(filepath.Join(d.login, "signed.json"))
			must(t, err)
			q := d.signing()
			one.evil(d, &q, &q.Hosts[0])
			got, err := d.sign(q)
			if err == nil {
				t.Fatalf("it has signed for %v", d.positions(got))
			}
			if got != nil || diag.CodeOf(err) != one.code || !strings.Contains(err.Error(), one.want) {
				t.Fatalf("%v (%s), and not %s: %s", err, diag.CodeOf(err), one.code, one.want)
			}
			if after, err := os.ReadFile(filepath.Join(d.login, "signed.json")); err != nil || string(after) != string(before) {
				t.Errorf("what is remembered has changed: %s, %v", after, err)
			}
			// An honest server goes on.
			next, err := d.sign(d.signing())
			must(t, err)
			for id, at := range d.positions(next) {
				if at.Compare(was[id]) <= 0 {
					t.Errorf("%s has %s after %s", id, at, was[id])
				}
			}
		})
	}
}

// Of a host of which nothing was signed yet, what is known of it counts.
func TestFirstSight(t *testing.T) {
	d, mallory := newDesk(t), newHost(t, "web1")
	d.pinned["web1"] = d.web.id()
	q := d.signing()
	q.Hosts[0].Keys = mallory.keys(1, mallory.seal.Recipient().String())
	if _, err := d.sign(q); diag.CodeOf(err) != signing.CodeForged || !strings.Contains(err.Error(), "they are those of the host "+mallory.id().Short()) {
		t.Errorf("keys of another host: %v", err)
	}
	q.Hosts[0].ID = mallory.id()
	if _, err := d.sign(q); diag.CodeOf(err) != client.CodeIdentity {
		t.Errorf("another host: %v", err)
	}
	q = d.signing()
	q.Hosts[0].Position = trust.Position{}
	if _, err := d.sign(q); diag.CodeOf(err) != signing.CodeForged || !strings.Contains(err.Error(), "position that cannot be") {
		t.Errorf("no position: %v", err)
	}
}

// forge has another host sign in the place of one.
func forge(d *desk, by *host, s *trust.Signed) *trust.Signed {
	d.Helper()
	return by.sign(s.Kind, json.RawMessage(s.Content))
}

// alter changes what was signed.
func alter(s *trust.Signed) *trust.Signed {
	c := *s
	c.Content = []byte(strings.Replace(string(s.Content), "web1", "evil", 1))
	return &c
}

// A server that gives a former position again gets a later one, so that what was signed before does not take the place of what is signed now; what somebody takes back in an epoch counts in
// the next one.
func TestPositionsGrow(t *testing.T) {
	d := newDesk(t)
	var last trust.Position
	for _, from := range []trust.Position{{Epoch: 2, N: 10}, {Epoch: 2, N: 10}, {Epoch: 2, N: 1}, {Epoch: 2, N: 500}, {Epoch: 3, N: 1}} {
		q := d.signing()
		q.Hosts[0].Position, q.Hosts[1].Position = from, from
		s, err := d.sign(q)
		must(t, err)
		at := d.positions(s)[d.web.id()]
		if at.Compare(last) <= 0 || at.Compare(from) < 0 {
			t.Errorf("from %s on: %s after %s", from, at, last)
		}
		last = at
	}
}

// What a host is given depends on what the operator's files say, not on what the server says of them.
func TestServerMisstatesTheSite(t *testing.T) {
	d := newDesk(t)
	q := d.signing()
	q.Hosts[0].Declared = false
	d.empty = true
	s, err := d.sign(q)
	must(t, err)
	if len(s.Hosts) != 2 || slices.ContainsFunc(s.Hosts, func(h signing.SignedHost) bool { return h.Empty }) {
		t.Errorf("a host that is declared: %+v, %v", s.Hosts, s.Waiting)
	}
	q = d.signing()
	other := newHost(t, "other")
	q.Hosts = append(q.Hosts, client.SigningHost{ID: other.id(), Name: "other", Keys: other.keys(1, other.seal.Recipient().String()), Facts: other.facts(1, "other"),
		Position: trust.Position{Epoch: 2, N: 1}, Chosen: true, Declared: true})
	d.empty = false
	if s, err = d.sign(q); err != nil || len(s.Hosts) != 2 || s.Waiting["other"] == "" {
		t.Errorf("a host that is not: %+v, %v", s, err)
	}
}

// A cluster is refused, rather than left out: what was rolled out of it before would go. One that is to be absent is right.
func TestClustersAreRefused(t *testing.T) {
	for ensure, wanted := range map[string]string{"present": "no clusters, and the site has bench", "absent": ""} {
		d := newDesk(t)
		d.more = fmt.Sprintf("cluster \"bench\" {\n  hosts  = \"*\"\n  ensure = %q\n}\n", ensure)
		switch s, err := d.sign(d.signing()); {
		case wanted == "" && (err != nil || len(s.Hosts) != 2):
			t.Errorf("%s: %+v, %v", ensure, s, err)
		case wanted != "" && (err == nil || !strings.Contains(err.Error(), wanted) || diag.HintOf(err) == ""):
			t.Errorf("%s: %v", ensure, err)
		}
	}
}
