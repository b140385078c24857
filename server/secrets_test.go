package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/internal/telemetry"
	"github.com/tenetcm/tenet/lang/secrets"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api/client"
	"github.com/tenetcm/tenet/server/evaluate"
	"github.com/tenetcm/tenet/server/sessions"
)

// openPlace is a server that evaluates a site whose secrets it can open.
type openPlace struct{ *signedPlace }

// Ask evaluates in this process.
func (p openPlace) Ask(ctx context.Context, q evaluate.Question) (*evaluate.Answer, error) {
	return evaluate.Here(ctx, q, func() ([]secrets.Identity, error) {
		id, err := secrets.ParseIdentity(secrets.IdentityFile{Name: "key", Data: []byte(p.own.String())})
		return []secrets.Identity{id}, err
	})
}

const openSite = `site { name = "shop" }
host "web1" { executor = "agent" }
file "/etc/key" {
  content = "key = ${secret("db")}\n"
  mode    = "0600"
}
%s
`

// deployOpen deploys the site with some more in it.
func (p openPlace) deployOpen(more string, q client.DeployRequest) client.Deployment {
	p.t.Helper()
	files := p.files("")
	files["site.hcl"] = fmt.Sprintf(openSite, more)
	q.Site, q.Revision = "shop", p.upload(files).Number
	d, err := p.ops.Deploy(p.t.Context(), q)
	must(p.t, err)
	return d
}

// A secret that the server opens to evaluate is on the host, and in the clear nowhere else: in no file of the server, no row, no event, report, plan or reason, no log and
// no number, whatever a program does with it and however the site is wrong.
func TestSecretsStayBetweenEvaluatorAndHost(t *testing.T) {
	p := openPlace{newSignedPlace(t, "web1")}
	p.Deployments.Evaluate = p
	h, err := p.Hosts.Named(t.Context(), "web1")
	must(t, err)
	p.mu.Lock()
	p.machines["web1"].Handle("leak", func(_ context.Context, c host.Command) (host.Result, error) {
		text := strings.Join(c.Argv, " ")
		return host.Result{ExitCode: 1, Stdout: []byte(text), Stderr: []byte("cannot log in with " + text)}, nil
	})
	p.mu.Unlock()
	seen := 0
	look := func(what string, v any) {
		t.Helper()
		data, isText := v.([]byte)
		if !isText {
			var err error
			data, err = json.Marshal(v)
			must(t, err)
		}
		seen += len(data)
		for _, form := range []string{plaintext, base64.StdEncoding.EncodeToString([]byte(plaintext))[:24]} {
			if i := bytes.Index(data, []byte(form)); i >= 0 {
				t.Errorf("%s has the secret: …%s…", what, data[max(0, i-200):min(len(data), i+100)])
			}
		}
	}
	d := p.deployOpen("", client.DeployRequest{Consent: "start"})
	d = p.awaitPhase(d.ID, "there is a plan", func(d client.Deployment) bool { return d.Why != nil && d.Why.Code == "start" })
	if d.Plan == nil || len(d.Plan.Hosts) != 1 {
		t.Fatalf("there is no plan: %+v", d.Why)
	}
	look("the plan", d)
	must(t, err2(p.ops.Consent(t.Context(), d.ID, "start", d.Plan.Digest, "")))
	p.awaitPhase(d.ID, "what was planned is done", isDone)
	if key := p.read("web1", "/etc/key"); key != "key = "+plaintext+"\n" {
		t.Fatalf("the host has %q", key)
	}
	for name, more := range map[string]string{
		"a mode":     `file "/etc/wrong" { mode = secret("db") }`,
		"a path":     `file "wrong" { path = "/etc/${secret("db")}/x" }`,
		"a number":   `file "/etc/wrong" { content = "${1 + secret("db")}" }`,
		"a function": `file "/etc/wrong" { content = jsondecode(secret("db")).x }`,
	} {
		d := p.deployOpen(more, client.DeployRequest{})
		d = p.awaitPhase(d.ID, name+" is refused", func(d client.Deployment) bool { return d.Phase == "failed" })
		look("the deployment with "+name, d)
	}
	d = p.deployOpen(`command "login" { argv = ["leak", secret("db")] }`, client.DeployRequest{})
	p.await("a program has failed", func() bool {
		s := p.Sessions.Status(h.ID).Sites["shop"]
		return s.Loop != nil && s.Loop.Phase == control.PhaseRetrying
	})
	d, err = p.ops.Deployment(t.Context(), d.ID)
	must(t, err)
	look("the deployment of a program that fails", d)
	p.lookAtHost(h.ID, look)
	must(t, p.Store.Backup(t.Context(), writer(func(data []byte) { look("the store", data) })))
	look("the audit", p.audit(access.AuditFilter{Limit: 1000}))
	look("the metrics", telemetry.Text(p.api.Metrics()))
	p.mu.Lock()
	look("the log", []byte(fmt.Sprint(p.failed)))
	p.mu.Unlock()
	p.noPlaintext()
	if seen < 10_000 {
		t.Errorf("only %d bytes were looked at", seen)
	}
}

// lookAtHost looks at all that the host has told.
func (p openPlace) lookAtHost(id trust.ID, look func(string, any)) {
	p.t.Helper()
	look("the host's status", p.Sessions.Status(id))
	report, _, err := p.Sessions.Report(p.t.Context(), id, "shop")
	must(p.t, err)
	look("the report", report)
	part, err := p.Sessions.Runs(p.t.Context(), sessions.RunFilter{Hosts: []trust.ID{id}})
	must(p.t, err)
	runs := part.Runs
	if len(runs) < 2 || !runs[0].Failed {
		p.t.Errorf("the host has told %d runs", len(runs))
	}
	look("the runs", runs)
	said := false
	for _, r := range runs {
		events, err := p.Sessions.Events(p.t.Context(), id, r.Run)
		must(p.t, err)
		said = said || bytes.Contains(events, []byte("cannot log in with "))
		look("the events of a run", events)
	}
	if !said {
		p.t.Error("the events do not say what the program has printed")
	}
}

// writer is told all that is written.
type writer func([]byte)

// Write is io.Writer's.
func (w writer) Write(data []byte) (int, error) {
	w(data)
	return len(data), nil
}
