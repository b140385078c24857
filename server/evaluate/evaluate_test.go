package evaluate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/secrets"
	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/evaluate"
)

// child makes this test's program the process that evaluates.
const child = "evaluate-for-a-test"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == child {
		if err := evaluate.Serve(context.Background(), os.Stdin, os.Stdout, os.Exit); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func evaluator(t *testing.T) *evaluate.Evaluator {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &evaluate.Evaluator{Command: []string{self, child}, Program: "test"}
}

func key(t *testing.T) *age.X25519Identity {
	t.Helper()
	k, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const shop = `
site { name = "shop" }
host "web1" { executor = "agent" }
host "web2" { executor = "agent" }
file "/etc/motd" { source = "motd" }
file "/etc/name" { content = "${fact.hostname}" }
file "/etc/key" { content = secret("db") }
`

// secretFile has a secret that a key opens.
func secretFile(t *testing.T, to *age.X25519Identity, value string) string {
	t.Helper()
	r, list := secrets.ParseRecipients("secrets.recipients", []byte(to.Recipient().String()+"\n"))
	if list.HasErrors() {
		t.Fatal(list)
	}
	f, err := secrets.New("secrets.age", r)
	if err == nil {
		err = f.Set("db", value)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(f.Bytes())
}

func facts(t *testing.T, text string) map[string]map[string]json.RawMessage {
	t.Helper()
	var out map[string]map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// What is wanted of a host is sealed to it, with its secrets, which are nowhere else; and the same again is seen to be the same.
func TestSealedToTheHost(t *testing.T) {
	own, host := key(t), key(t)
	const plaintext = "correct horse battery"
	dir := write(t, map[string]string{"site.hcl": shop, "motd": "hello", "secrets.age": secretFile(t, own, plaintext)})
	ask := func(out string) (*evaluate.Answer, evaluate.Result) {
		t.Helper()
		q := evaluate.Question{Dir: dir, Out: out, Origin: "server:shop", Keys: []string{own.String()}, Facts: facts(t, `{"web1": {"hostname": "one"}}`),
			Hosts: []evaluate.Recipient{{Name: "web1", Sealing: host.Recipient().String()}, {Name: "web2", Sealing: host.Recipient().String()}, {Name: "db", Sealing: host.Recipient().String()}}}
		a, err := evaluator(t).Ask(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		data, _ := json.Marshal(a)
		if bytes.Contains(data, []byte(plaintext)) || bytes.Contains(data, []byte(own.String())) {
			t.Fatal("the answer has a secret in the clear")
		}
		return a, a.Results[0]
	}
	out := t.TempDir()
	a, r := ask(out)
	if a.Name != "shop" || len(a.Hosts) != 2 || r.Error != "" || r.Empty || len(r.Files) != 1 {
		t.Fatalf("%+v", a)
	}
	if !slices.Equal(r.Read, []evaluate.Value{{Host: "web1", Name: "hostname", Digest: trust.DigestOf([]byte(`"one"`))}}) {
		t.Errorf("read: %+v", r.Read)
	}
	if e := a.Results[1].Error; !strings.Contains(e, "web2 has not told the fact hostname") {
		t.Errorf("without facts: %q", e)
	}
	if db := a.Results[2]; !db.Absent || db.Sealed != nil {
		t.Errorf("not declared: %+v", db)
	}
	b, err := (&bundle.Store{Dir: t.TempDir()}).Unseal(r.Sealed, func([]trust.Content) func(trust.Content) (io.ReadCloser, error) {
		return func(c trust.Content) (io.ReadCloser, error) { return os.Open(filepath.Join(out, c.SHA256.String())) }
	}, host)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(b.Run)
	if !bytes.Contains(text, []byte(plaintext)) {
		t.Error("the host does not get its secret")
	}
	if _, again := ask(t.TempDir()); again.Identity != r.Identity || bytes.Equal(again.Sealed, r.Sealed) {
		t.Error("the same is not the same, or its ciphertext is")
	}
	for name, text := range map[string]string{"motd": "hello again", "secrets.age": secretFile(t, own, "another")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, other := ask(t.TempDir()); other.Identity == r.Identity {
			t.Errorf("another %s is the same", name)
		}
	}
}

// A process that takes too long is ended, and says so.
func TestLimits(t *testing.T) {
	dir := write(t, map[string]string{"site.hcl": `
host "web1" { executor = "agent" }
locals {
  n = range(0, 1000)
  x = length([for a in local.n : [for b in local.n : [for c in local.n : a + b + c]]])
}
file "/etc/x" { content = "${local.x}" }
`})
	e := evaluator(t)
	e.Time = 300 * time.Millisecond
	_, err := e.Ask(t.Context(), evaluate.Question{Dir: dir, Hosts: []evaluate.Recipient{{Name: "web1", Sealing: key(t).Recipient().String()}}})
	if diag.CodeOf(err) != evaluate.CodeLimit {
		t.Errorf("time: %v", err)
	}
	grows := "host \"web1\" { executor = \"agent\" }\nlocals {\n  x0 = \"0123456789abcdef\"\n"
	for i := range 24 {
		grows += fmt.Sprintf("  x%d = \"${local.x%d}${local.x%d}\"\n", i+1, i, i)
	}
	dir = write(t, map[string]string{"site.hcl": grows + "}\nfile \"/etc/x\" { content = local.x24 }\n"})
	e = evaluator(t)
	e.Memory = 64 << 20
	_, err = e.Ask(t.Context(), evaluate.Question{Dir: dir, Hosts: []evaluate.Recipient{{Name: "web1", Sealing: key(t).Recipient().String()}}})
	if diag.CodeOf(err) != evaluate.CodeLimit || !strings.Contains(err.Error(), "memory") {
		t.Errorf("memory: %v", err)
	}
	e = &evaluate.Evaluator{Command: []string{"/bin/sh", "-c", "sleep 60"}, Time: 20 * time.Millisecond}
	if _, err := e.Ask(t.Context(), evaluate.Question{}); diag.CodeOf(err) != evaluate.CodeLimit {
		t.Errorf("a process that hangs: %v", err)
	}
	e = &evaluate.Evaluator{Command: []string{"/bin/sh", "-c", "kill -9 $$"}}
	if _, err := e.Ask(t.Context(), evaluate.Question{}); err == nil || diag.CodeOf(err) != "" {
		t.Errorf("a process that was killed: %v", err)
	}
}

// The process sees nothing of the server's environment, and nothing outside of the site.
func TestApart(t *testing.T) {
	t.Setenv("TENET_VAR_password", "hunter2")
	e := &evaluate.Evaluator{Command: []string{"/bin/sh", "-c", "/usr/bin/env >&2"}, Environ: []string{"TZ=UTC"}}
	_, err := e.Ask(t.Context(), evaluate.Question{})
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "TZ=UTC") {
		t.Errorf("the environment: %v", err)
	}
	outside := write(t, map[string]string{"secret": "hunter2"})
	dir := write(t, map[string]string{"site.hcl": `
site { name = "shop" }
host "web1" { executor = "agent" }
file "/etc/a" { content = file("link") }
`})
	if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	a, err := evaluator(t).Ask(t.Context(), evaluate.Question{Dir: dir, Hosts: []evaluate.Recipient{{Name: "web1", Sealing: key(t).Recipient().String()}}})
	if err == nil && a.Results[0].Error == "" {
		t.Error("a link leads out of the site")
	}
	dir = write(t, map[string]string{"site.hcl": "site { name = \"shop\" }\ninventory { program = [\"/bin/true\"] }\n"})
	if _, err := evaluator(t).Ask(t.Context(), evaluate.Question{Dir: dir}); diag.CodeOf(err) != evaluate.CodeSite {
		t.Errorf("an inventory's program: %v", err)
	}
}

// The consent that rules may delete all that they have made is given to hosts that have rules, in what is signed.
func TestEmptyRules(t *testing.T) {
	host := key(t)
	ask := func(more string, isAllowed bool) (evaluate.Result, bool) {
		t.Helper()
		dir := write(t, map[string]string{"site.hcl": "site { name = \"shop\" }\nhost \"web1\" { executor = \"agent\" }\nfile \"/etc/x\" { content = \"x\" }\n" + more})
		a, err := evaluator(t).Ask(t.Context(), evaluate.Question{Dir: dir, AllowEmpty: isAllowed, Hosts: []evaluate.Recipient{{Name: "web1", Sealing: host.Recipient().String()}}})
		if err != nil || a.Error != "" || a.Results[0].Error != "" {
			t.Fatal(err, a)
		}
		b, err := (&bundle.Store{Dir: t.TempDir()}).Unseal(a.Results[0].Sealed, func([]trust.Content) func(trust.Content) (io.ReadCloser, error) { return nil }, host)
		if err != nil {
			t.Fatal(err)
		}
		return a.Results[0], b.Run.AllowEmpty
	}
	const rule = `
data "users" { value = { users = [] } }
state "set" {
  param "path" {}
  print "set" { message = param.path.users }
}
rule "user" {
  data   = data.users
  select = "users[name]"
  create = state.set
  delete = state.set
}
`
	without, isGiven := ask(rule, false)
	with, isGivenToo := ask(rule, true)
	if isGiven || !isGivenToo || without.Identity == with.Identity {
		t.Errorf("given without: %v, given with: %v, the same: %v", isGiven, isGivenToo, without.Identity == with.Identity)
	}
	without, _ = ask("", false)
	if with, isGiven := ask("", true); isGiven || with.Identity != without.Identity {
		t.Error("what has no rules is another thing by it")
	}
}

// What other hosts give is taken from what they have told, and makes an assignment another one; as long as it is not there, the host waits.
func TestOutputsOfOthers(t *testing.T) {
	host := key(t)
	dir := write(t, map[string]string{"site.hcl": `
site { name = "shop" }
host "db1" {
  executor = "agent"
  roles    = ["db"]
}
host "web1" { executor = "agent" }
role "db" {
  command "port" {
    argv = ["true"]
    plan = true
  }
  output "port" { value = command.port.stdout }
}
host_group "web" { hosts = "web*" }
file "/etc/last" {
  content = join(",", [for h in hosts("db1", { outputs = "last" }) : h.outputs.port == null ? "none" : h.outputs.port])
}
file "/etc/port" {
  content = host.name == "web1" ? hosts("db1")[0].outputs.port : "none"
}
`})
	ask := func(outputs string) evaluate.Result {
		t.Helper()
		q := evaluate.Question{Dir: dir, Outputs: facts(t, outputs), Hosts: []evaluate.Recipient{{Name: "web1", Sealing: host.Recipient().String()}}}
		a, err := evaluator(t).Ask(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if a.Results[0].Error != "" {
			t.Fatal(a.Results[0].Error)
		}
		return a.Results[0]
	}
	r := ask(`{}`)
	if !slices.Equal(r.Waits, []string{"port of db1"}) || r.Sealed != nil || !r.Identity.IsZero() {
		t.Errorf("it does not wait: %+v", r)
	}
	isPort := func(v evaluate.Value) bool { return v.IsOutput && !v.IsLast && v.Name == "port" }
	if !slices.ContainsFunc(r.Read, isPort) {
		t.Errorf("read: %+v", r.Read)
	}
	one := ask(`{"db1": {"port": "5432"}}`)
	b, err := (&bundle.Store{Dir: t.TempDir()}).Unseal(one.Sealed, func([]trust.Content) func(trust.Content) (io.ReadCloser, error) { return nil }, host)
	if err != nil {
		t.Fatal(err)
	}
	if g := b.Run.GivenOutput("db1", "port"); g == nil || fmt.Sprint(g.Output.Value) != "5432" || !g.Output.IsKnown {
		t.Errorf("it is given %+v", b.Run.Given)
	}
	if again := ask(`{"db1": {"port": "5432"}}`); again.Identity != one.Identity {
		t.Error("the same is not the same")
	}
	if other := ask(`{"db1": {"port": "5433"}}`); other.Identity == one.Identity {
		t.Error("what another host gives has changed, and it is the same")
	}
	for _, v := range one.Read {
		if now := v.In(nil, facts(t, `{"db1": {"port": "5432", "new": 1}}`)); v.IsLast && v.Name == "" && now == v {
			t.Error("nobody would see that there is another output")
		}
	}
}
