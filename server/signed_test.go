package server

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"filippo.io/age"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/secrets"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/api/client"
	"github.com/tenetcm/tenet/server/authority"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/server/evaluate"
	"github.com/tenetcm/tenet/server/signing"
	"github.com/tenetcm/tenet/server/store"
)

// signedPlace is a server that may not say what hosts are to be, and an operator who does.
type signedPlace struct {
	*target
	key    trust.PrivateKey
	own    *age.X25519Identity // opens the site's secrets
	ops    *client.Client
	login  string       // the folder of the operator's login
	forall atomic.Int32 // how often the server has evaluated for hosts
}

// Ask evaluates in this process.
func (p *signedPlace) Ask(ctx context.Context, q evaluate.Question) (*evaluate.Answer, error) {
	if len(q.Hosts) > 0 {
		p.forall.Add(1)
	}
	return evaluate.Here(ctx, q, func() ([]secrets.Identity, error) { return nil, nil })
}

func newSignedPlace(t *testing.T, hosts ...string) *signedPlace {
	t.Helper()
	p := &signedPlace{target: newTarget(t), login: t.TempDir()}
	p.Deployments.Evaluate = p
	var err error
	p.key, err = trust.GenerateKey()
	must(t, err)
	p.own, err = age.GenerateX25519Identity()
	must(t, err)
	for _, name := range hosts {
		id, _ := p.host(name)
		p.await(name+" has told facts", func() bool {
			r, _, err := p.Sessions.Facts(t.Context(), id)
			return err == nil && r != nil
		})
	}
	p.person("olga", "read@*", "deploy@*", "exec@*")
	must(t, err2(client.Login(t.Context(), p.login, client.Credentials{URL: p.url, Authority: p.Authority.AuthorityDigest(), Name: "olga", Password: hostilePassword})))
	p.ops, err = client.Open(p.login)
	must(t, err)
	return p
}

// take lets the operator's key sign, and takes that from the server's, as docs/server.md says it: the second document is signed by the operator.
func (p *signedPlace) take(verbs ...trust.Verb) {
	p.t.Helper()
	must(p.t, p.Authority.Trust(p.t.Context(), authority.AddKey(p.key.Public(), "olga", trust.VerbTrust, trust.VerbAssign), nil))
	next := *p.Authority.Chain().Newest()
	next.Number++
	next.Keys = []trust.Delegated{{Key: next.Keys[0].Key, Name: authority.ServerKey, Verbs: verbs}, next.Keys[1]}
	document, err := trust.Sign(trust.KindDocument, next, p.key)
	must(p.t, err)
	must(p.t, p.Authority.Accept(p.t.Context(), document, nil))
}

// requests are what a server keeps that cannot change anything, and may have hosts plan.
func requests() []trust.Verb {
	return []trust.Verb{"open", "ping", "status", "managed", "history", "logs", "plan"}
}

const signedSite = `site { name = "shop" }
host "web1" { executor = "agent" }
host "web2" { executor = "agent" }
file "/etc/motd" { content = "%s" }
file "/etc/key" {
  content = secret("db")
  mode    = "0600"
}
`

const plaintext = "hunter2 is the password"

func (p *signedPlace) files(motd string) map[string]string {
	p.t.Helper()
	to, list := secrets.ParseRecipients("secrets.recipients", []byte(p.own.Recipient().String()+"\n"))
	must(p.t, list.Err())
	f, err := secrets.New("secrets.age", to)
	must(p.t, err)
	must(p.t, f.Set("db", plaintext))
	return map[string]string{"site.hcl": fmt.Sprintf(signedSite, motd), "secrets.age": string(f.Bytes())}
}

// upload uploads files as a revision.
func (p *signedPlace) upload(files map[string]string) client.Revision {
	p.t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for name, text := range files {
		must(p.t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg}))
		must(p.t, err2(w.Write([]byte(text))))
	}
	must(p.t, w.Close())
	r, err := p.ops.Upload(p.t.Context(), "shop", out.Bytes(), "")
	must(p.t, err)
	return r
}

// sign evaluates and signs what a server has answered, which somebody may have changed.
func (p *signedPlace) sign(files map[string]string, asked client.Signing, change func(*signing.Signer)) (*signing.Signed, error) {
	p.t.Helper()
	dir, out := p.t.TempDir(), p.t.TempDir()
	for name, text := range files {
		must(p.t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	memory, err := signing.OpenMemory(filepath.Join(p.login, "signed.json"))
	must(p.t, err)
	defer func() { must(p.t, memory.Close()) }()
	s := &signing.Signer{Key: p.key, Known: p.ops.CheckHost, Memory: memory, Program: "test", Identities: func() ([]secrets.Identity, error) {
		id, err := secrets.ParseIdentity(secrets.IdentityFile{Name: "key", Data: []byte(p.own.String())})
		return []secrets.Identity{id}, err
	}}
	if change != nil {
		change(s)
	}
	return s.Sign(p.t.Context(), asked, dir, out)
}

func (p *signedPlace) signing(r client.Revision) client.Signing {
	p.t.Helper()
	asked, err := p.ops.Signing(p.t.Context(), "shop", r.Number, "")
	must(p.t, err)
	return asked
}

// send gives the server what was signed.
func (p *signedPlace) send(r client.Revision, s *signing.Signed) (err error) {
	for data, failed := range s.Archives(func(trust.Digest) bool { return false }) {
		must(p.t, failed)
		if err = p.ops.SendAssignments(p.t.Context(), "shop", r.Number, data); err != nil {
			return err
		}
	}
	return nil
}

// deploy does all that tenet deploy --sign does.
func (p *signedPlace) deploy(files map[string]string, q client.DeployRequest) client.Deployment {
	p.t.Helper()
	r := p.upload(files)
	s, err := p.sign(files, p.signing(r), func(s *signing.Signer) { s.Empty = q.Empty })
	must(p.t, err)
	must(p.t, p.send(r, s))
	q.Site, q.Revision, q.Signed = "shop", r.Number, true
	d, err := p.ops.Deploy(p.t.Context(), q)
	must(p.t, err)
	return d
}

func (p *signedPlace) awaitPhase(id int64, what string, reached func(client.Deployment) bool) (d client.Deployment) {
	p.t.Helper()
	p.await(what, func() (ok bool) {
		var err error
		d, err = p.ops.Deployment(p.t.Context(), id)
		must(p.t, err)
		return reached(d)
	})
	return d
}

func isDone(d client.Deployment) bool { return d.Phase == "done" }

func (p *signedPlace) read(machine, path string) string {
	p.mu.Lock()
	m := p.machines[machine]
	p.mu.Unlock()
	text, err := host.ReadText(m, path)
	if err != nil {
		return err.Error()
	}
	return text
}

func (p *signedPlace) position(name string) trust.Position {
	p.t.Helper()
	h, err := p.Hosts.Named(p.t.Context(), name)
	must(p.t, err)
	var at trust.Position
	must(p.t, p.Store.Read(p.t.Context(), func(r store.Reader) error {
		at, err = p.Sessions.Next(r, h.ID, "shop")
		return err
	}))
	at.N-- // the next one
	return at
}

// A server that may not say what hosts are to be delivers what an operator has evaluated, signed and encrypted, by the same phases, and never sees a secret.
func TestDeploySigned(t *testing.T) {
	p := newSignedPlace(t, "web1", "web2")
	p.take(requests()...)
	first := p.files("one")
	r := p.upload(first)
	_, err := p.ops.Deploy(t.Context(), client.DeployRequest{Site: "shop", Revision: r.Number})
	if code(err) != deploy.ErrSign || !strings.Contains(diag.HintOf(err), "tenet deploy --sign KEY") {
		t.Fatalf("the server evaluates: %v (%s)", err, diag.HintOf(err))
	}
	d := p.deploy(first, client.DeployRequest{})
	p.awaitPhase(d.ID, "it is done", isDone)
	for _, name := range []string{"web1", "web2"} {
		if motd, key := p.read(name, "/etc/motd"), p.read(name, "/etc/key"); motd != "one" || key != plaintext {
			t.Errorf("%s has %q and %q", name, motd, key)
		}
	}
	if o, err := p.Deployments.Outcome(t.Context(), d.ID); err != nil || len(o.Hosts) != 1 || o.Hosts[0].Others != 1 || !slices.Equal(o.Hosts[0].Components, []string{""}) {
		t.Errorf("what became of it is told as %+v, %v", o, err)
	}
	// The same again is nothing new.
	was := p.position("web1")
	d = p.deploy(first, client.DeployRequest{})
	p.awaitPhase(d.ID, "the same again is done", isDone)
	if now := p.position("web1"); now != was || was.N != 1 {
		t.Errorf("the same again has the position %s, and was %s", now, was)
	}
	// With a plan of the hosts, which somebody starts.
	d = p.deploy(p.files("two"), client.DeployRequest{Consent: "start"})
	d = p.awaitPhase(d.ID, "there is a plan", func(d client.Deployment) bool { return d.Why != nil && d.Why.Code == "start" })
	if len(d.Plan.Hosts) != 2 || p.read("web1", "/etc/motd") != "one" {
		t.Fatalf("the plan is %+v, web1 has %q, and waits for %+v", d.Plan, p.read("web1", "/etc/motd"), d.Members[0].Why)
	}
	must(t, err2(p.ops.Consent(t.Context(), d.ID, "start", d.Plan.Digest, "")))
	p.awaitPhase(d.ID, "what was planned is done", isDone)
	if motd := p.read("web2", "/etc/motd"); motd != "two" {
		t.Errorf("web2 has %q", motd)
	}
	// Going back takes a signature, too.
	if _, err := p.ops.Rollback(t.Context(), "shop", client.RollbackRequest{Hosts: "web1", To: 1}); code(err) != deploy.ErrSign {
		t.Errorf("a rollback: %v", err)
	}
	if p.forall.Load() != 0 {
		t.Error("the server has evaluated for hosts")
	}
	p.noPlaintext()
}

// noPlaintext looks for the secret in all that the server keeps.
func (p *signedPlace) noPlaintext() {
	p.t.Helper()
	files := 0
	must(p.t, filepath.WalkDir(p.Dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if os.IsNotExist(err) { // of the database, meanwhile
			return nil
		}
		files++
		if bytes.Contains(data, []byte(plaintext)) {
			p.t.Errorf("%s has the secret", path)
		}
		return err
	}))
	if files < 5 {
		p.t.Errorf("only %d files were looked at", files)
	}
}

// What the site does not declare any more is removed by a signed absence alone, which takes that somebody means it.
func TestRemoveSigned(t *testing.T) {
	p := newSignedPlace(t, "web1", "web2")
	p.take(requests()...)
	files := p.files("one")
	p.awaitPhase(p.deploy(files, client.DeployRequest{}).ID, "it is done", isDone)
	files["site.hcl"] = strings.Replace(files["site.hcl"], `host "web2" { executor = "agent" }`, "", 1)
	d := p.awaitPhase(p.deploy(files, client.DeployRequest{}).ID, "web1 alone is done", isDone)
	for _, m := range d.Members {
		if m.Name == "web2" && (m.Why == nil || m.Why.Code != "empty") {
			t.Errorf("web2 is left: %+v", m.Why)
		}
	}
	p.awaitPhase(p.deploy(files, client.DeployRequest{Empty: true}).ID, "web2 is done", func(d client.Deployment) bool {
		for _, m := range d.Members {
			if m.Name == "web2" && m.State == "ready" {
				return true
			}
		}
		return false
	})
}
