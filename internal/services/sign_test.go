package services

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/tenetcm/tenet/lang/secrets"
	"github.com/tenetcm/tenet/runtime/trust"
)

// desk is where an operator of a farm types commands.
type desk struct {
	*farm
	dir string // with the site, keys and the login
}

func newDesk(f *farm) *desk {
	f.Helper()
	d := &desk{farm: f, dir: filepath.Join(f.dir, "desk")}
	if err := errors.Join(os.MkdirAll(filepath.Join(d.dir, "site"), 0o700), os.Mkdir(filepath.Join(d.dir, "config"), 0o700),
		os.Rename(filepath.Join(f.dir, "login"), filepath.Join(d.dir, "config", "tenet"))); err != nil {
		f.Fatal(err)
	}
	return d
}

// tenet runs a command to its end, and gives what it prints, what it says, and its exit code.
func (d *desk) tenet(args ...string) (out, said string, code int) {
	d.Helper()
	self, err := os.Executable()
	if err != nil {
		d.Fatal(err)
	}
	cmd := exec.CommandContext(d.Context(), self)
	cmd.Args, cmd.Dir = append([]string{program}, args...), d.dir
	cmd.Env = append(os.Environ(), "HOME="+d.dir, "XDG_CONFIG_HOME="+filepath.Join(d.dir, "config"), "TENET_IDENTITY="+filepath.Join(d.dir, "own.key"))
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		d.Fatal(err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// must runs a command that goes well, and gives what it prints.
func (d *desk) must(args ...string) string {
	d.Helper()
	out, said, code := d.tenet(args...)
	if code != 0 {
		d.Fatalf("tenet %q: exit code %d\n%s%s", args, code, out, said)
	}
	return strings.TrimSpace(out)
}

// refused runs a command that ends with 1, and says something.
func (d *desk) refused(want string, args ...string) {
	d.Helper()
	if out, said, code := d.tenet(args...); code != 1 || !strings.Contains(said, want) {
		d.Errorf("tenet %q: exit code %d, without %q:\n%s%s", args, code, want, out, said)
	}
}

func (d *desk) write(name, text string) {
	d.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o600); err != nil {
		d.Fatal(err)
	}
}

// site writes a site for the host h1, with a secret that the server cannot open.
func (d *desk) site(secret string) {
	d.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		d.Fatal(err)
	}
	to, list := secrets.ParseRecipients("secrets.recipients", []byte(key.Recipient().String()+"\n"))
	store, err := secrets.New("secrets.age", to)
	if err := errors.Join(list.Err(), err, store.Set("db", secret)); err != nil {
		d.Fatal(err)
	}
	d.write("own.key", key.String()+"\n")
	d.write("site/secrets.age", string(store.Bytes()))
	d.write("site/site.hcl", fmt.Sprintf("site { name = \"farm\" }\nhost \"h1\" { executor = \"agent\" }\nfile \"key\" {\n  path    = %q\n  content = secret(\"db\")\n  mode    = \"0600\"\n}\n",
		filepath.Join(d.hosts[0].root, "key")))
}

// has is what the host has of the secret.
func (d *desk) has() string {
	d.Helper()
	data, err := os.ReadFile(filepath.Join(d.hosts[0].root, "key"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.Fatal(err)
	}
	return string(data)
}

// takeAssign has another document take from the server that it says what hosts are to be.
func (d *desk) takeAssign(key string) {
	d.Helper()
	d.leaveServer(key, "open", "ping", "status", "managed", "history", "logs", "plan")
}

// leaveServer has another document say what the server's key may sign: a key signs it that may sign trust.
func (d *desk) leaveServer(key string, verbs ...trust.Verb) {
	d.Helper()
	var next trust.Document
	if err := json.Unmarshal([]byte(d.must("trust", "draft")), &next); err != nil {
		d.Fatal(err)
	}
	for i, k := range next.Keys {
		if k.Name == "server" {
			next.Keys[i].Verbs = verbs
		}
	}
	text, err := json.Marshal(next)
	if err != nil {
		d.Fatal(err)
	}
	d.write("next.json", string(text))
	d.write("signed.json", d.must("trust", "sign", "next.json", "--key", key))
	d.must("trust", "add", "signed.json")
}

// An operator signs what a host is to be, by the commands of the documentation alone, for a server that may not, and is held to the hosts that were seen before.
func TestDeploySign(t *testing.T) {
	t.Parallel()
	d := newDesk(newFarm(t, "", 1, "127.0.0.1"))
	d.site("hunter2 is one")
	public := d.must("trust", "key", "olga.key")

	eventually(t, func() error { // the host has to tell its facts first
		_, said, _ := d.tenet("deploy", "site", "--sign", "olga.key")
		if strings.Contains(said, "h1: nothing was signed: it has told no facts yet") {
			return errors.New(said)
		}
		return nil
	})

	// Nobody has let the key sign, or it may sign something else.
	d.refused("sign with a key that the trust document lets assign", "deploy", "site", "--sign", "olga.key")
	d.must("trust", "add-key", public, "--name", "olga", "--verb", "trust")
	d.refused("sign with a key that the trust document lets assign", "deploy", "site", "--sign", "olga.key")
	if out := d.must("deployments"); out != "" {
		t.Errorf("there are deployments:\n%s", out)
	}
	d.must("trust", "remove-key", "olga")
	d.must("trust", "add-key", public, "--name", "olga", "--verb", "trust,assign")
	d.takeAssign("olga.key")
	d.refused("tenet deploy --sign KEY", "deploy", "site")

	// It may.
	if _, said, code := d.tenet("deploy", "site", "--sign", "olga.key", "--wait"); code != 0 || !strings.Contains(said, "signed for 1 host: h1\n") {
		t.Errorf("exit code %d, and it does not say for whom it has signed:\n%s", code, said)
	}
	if got := d.has(); got != "hunter2 is one" {
		t.Errorf("h1 has %q", got)
	}

	// The server names another host by the name: nothing is signed for it until somebody says that it is right.
	known := filepath.Join(d.dir, "config", "tenet", "known_hosts")
	data, err := os.ReadFile(known)
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(data))
	if len(fields) != 3 || fields[1] != "h1" {
		t.Fatalf("known_hosts has %q", data)
	}
	if err := os.WriteFile(known, []byte(strings.Replace(string(data), fields[2], strings.Repeat("b", 51)+"a", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	d.site("hunter2 is two")
	d.refused("h1 is another host than before", "deploy", "site", "--sign", "olga.key", "--wait")
	if got := d.has(); got != "hunter2 is one" {
		t.Errorf("h1 has %q, without a signature", got)
	}
	d.must("host", "trust", "h1", fields[2])
	d.must("deploy", "site", "--sign", "olga.key", "--wait")
	if got := d.has(); got != "hunter2 is two" {
		t.Errorf("h1 has %q", got)
	}
}

// What hosts are asked for is signed by the key of a login where the server's own may not: hosts do what that key may ask for, and no more.
func TestRequestsSignedByOperators(t *testing.T) {
	t.Parallel()
	d := newDesk(newFarm(t, "", 1, "127.0.0.1"))
	d.site("hunter2")
	public := d.must("trust", "key", "olga.key")
	d.must("trust", "add-key", public, "--name", "olga", "--verb", "trust,open,ping,plan,apply,history")
	d.leaveServer("olga.key", "status")
	if _, said, code := d.tenet("ping", "-i", "site"); code == 0 || !strings.Contains(said, "tenet login URL --sign KEY") {
		t.Errorf("ping by the server's key: exit code %d\n%s", code, said)
	}

	login := filepath.Join(d.dir, "config", "tenet", "server.json")
	var saved map[string]any
	data, err := os.ReadFile(login)
	if err := errors.Join(err, json.Unmarshal(data, &saved)); err != nil {
		t.Fatal(err)
	}
	d.write("secret", saved["secret"].(string))
	d.write("open.key", "")
	if err := os.Chmod(filepath.Join(d.dir, "open.key"), 0o644); err != nil {
		t.Fatal(err)
	}
	again := []string{"login", saved["url"].(string), "--token-file", "secret", "--ca-digest", saved["authority"].(string), "--sign"}
	d.refused("others may read", append(again, "open.key")...)
	d.must(append(again, "olga.key")...)

	d.must("ping", "-i", "site")
	if _, said, code := d.tenet("apply", "site", "--yes"); code != 0 {
		t.Fatalf("apply: exit code %d\n%s", code, said)
	}
	if got := d.has(); got != "hunter2" {
		t.Errorf("h1 has %q", got)
	}
	if out, err := exec.CommandContext(t.Context(), "grep", "-rlE", `"verb":"apply".*"key":"olga"`, d.farm.dir, "--include=requests.jsonl").Output(); err != nil || len(out) == 0 {
		t.Errorf("h1 does not know whose key has asked it: %v", err)
	}
	d.refused("no key that may exec", "exec", "-i", "site", "--", "true")
}
