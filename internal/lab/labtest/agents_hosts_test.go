//go:build lab

package labtest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/internal/lab"
	"github.com/tenetcm/tenet/states"
)

// agents is hosts whose agents have joined a server, and who works with them. The server runs on
// the controller's side of the network.
type agents struct {
	*fleet
	server *lab.Process
}

// The server is reached here: there is one in a run.
const serverName = "10.77.0.1"

// unitPoll has agents look again after seconds, in place of half an hour.
const unitPoll = `mkdir -p /etc/systemd/system/tenet-agent.service.d
printf '[Service]\nExecStart=\nExecStart=/usr/local/bin/tenet agent run --state-dir /var/lib/tenet --poll 3s\n' > /etc/systemd/system/tenet-agent.service.d/poll.conf
systemctl daemon-reload && systemctl restart tenet-agent`

// agentHosts boots a host that can reboot and others, which join a new server.
func agentHosts(t *testing.T, lasting string, names ...string) *agents {
	t.Helper()
	first, err := shared.run.BootLasting(t.Context(), lasting)
	if err != nil {
		t.Fatal(err)
	}
	powerOff := func(h *lab.Host) {
		t.Cleanup(func() {
			if err := h.PowerOff(); err != nil {
				t.Error(err)
			}
		})
	}
	powerOff(first)
	others, err := shared.run.BootAll(t.Context(), names...)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range others {
		powerOff(h)
	}
	c, err := shared.run.Controller(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := &agents{fleet: &fleet{T: t, c: c, hosts: append([]*lab.Host{first}, others...)}}
	f.begin()
	for _, h := range f.hosts {
		f.join(h)
	}
	return f
}

// run runs the server, and gives what it prints once it is there.
func (f *agents) run() string {
	f.Helper()
	f.server = f.start("server", "--dir", "srv", "--name", serverName)
	err := f.server.Await(f.within(2*time.Minute), func(stdout, _ string) bool { return strings.Contains(stdout, "Its CA has the digest") })
	if err != nil {
		f.Fatal(err)
	}
	said, _ := f.server.Output()
	return said
}

// begin begins a server in an empty folder, and logs in by the line that it prints.
func (f *agents) begin() {
	f.Helper()
	f.c.Path = shared.bin
	said := f.run()
	login := regexp.MustCompile(`(?m)^  (TENET_PASSWORD_FILE=.* tenet login .*)$`).FindStringSubmatch(said)
	if login == nil {
		f.Fatalf("it does not say how one logs in:\n%s", said)
	}
	f.must("sh", "-c", login[1])
}

// must runs a program of the controller, which must end well, and gives what it prints.
func (f *agents) must(argv ...string) string {
	f.Helper()
	r, err := f.c.Exec(f.within(5*time.Minute), argv...)
	if err != nil || r.ExitCode != 0 {
		f.Fatalf("%q: exit status %d, %v\n%s%s", argv, r.ExitCode, err, r.Stdout, r.Stderr)
	}
	return string(r.Stdout)
}

// ask has the server answer a question as JSON.
func ask[T any](f *agents, args ...string) (out T) {
	f.Helper()
	text := f.must(append([]string{tenetPath()}, append(args, "--json")...)...)
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		f.Fatalf("tenet %s: %v\n%s", args, err, text)
	}
	return out
}

// join has a host join, as its owner would, and look again often.
func (f *agents) join(h *lab.Host) {
	f.Helper()
	m := &machine{T: f.T, host: h}
	m.copy(os.DirFS(shared.bin), "/usr/local/bin")
	token := ask[struct{ Secret string }](f, "host", "token", "make", "--names", h.Name)
	if said := f.on(h, "echo "+token.Secret+" | tenet agent join 2>&1"); !strings.Contains(said, "has joined as "+h.Name) {
		f.Errorf("%s: %s", h.Name, said)
	}
	f.on(h, "systemctl is-active tenet-agent && systemctl is-enabled tenet-agent && test $(stat -c %a /var/lib/tenet/agent/identity) = 700")
	f.on(h, unitPoll)
}

// wait asks until the answer is right.
func wait[T any](f *agents, what string, right func(T) bool, args ...string) T {
	f.Helper()
	for limit := time.Now().Add(3 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		got := ask[T](f, args...)
		if right(got) {
			return got
		}
		if time.Now().After(limit) {
			f.Fatalf("%s: not after three minutes: %+v\n%s", what, got, f.journals())
		}
	}
}

// journals is what agents and the server have said.
func (f *agents) journals() string {
	var b strings.Builder
	for _, h := range f.hosts {
		r, err := h.Shell(context.WithoutCancel(f.Context()), "journalctl -u tenet-agent -n 20 --no-pager -o cat")
		fmt.Fprintf(&b, "%s: %s %v\n", h.Name, r.Stdout, err)
	}
	stdout, stderr := f.server.Output()
	return b.String() + tail(stdout) + tail(stderr)
}

// shown is a deployment as it is shown.
type shown struct {
	ID      int
	Phase   string
	Members []struct {
		Name, State string
		Why         *struct{ Code string }
	}
}

// members gives the state of each host.
func (d shown) members() map[string]string {
	all := map[string]string{}
	for _, m := range d.Members {
		all[m.Name] = m.State
	}
	return all
}

// deploy deploys a site, and gives the number of the deployment.
func (f *agents) deploy(site string, args ...string) string {
	f.Helper()
	return fmt.Sprint(ask[shown](f, append([]string{"deploy", site}, args...)...).ID)
}

// done waits until a deployment is, with these hosts ready.
func (f *agents) done(id string, ready ...string) {
	f.Helper()
	d := wait(f, "deployment "+id, func(d shown) bool { return d.Phase != "planned" && d.Phase != "rolling" }, "deployments", "show", id)
	members := d.members()
	for _, name := range ready {
		if d.Phase != "done" || members[name] != "ready" {
			f.Fatalf("deployment %s is %s, and %s is %s\n%s", id, d.Phase, name, members[name], f.journals())
		}
	}
}

// stepsSite has steps that each wait until they may begin, and a handler of what came before them.
func (f *agents) stepsSite(revision string) string {
	return "site {\n  name = \"lab\"\n}\n\n" + f.hostBlocks(`  executor = "agent"`) + `
file "settings" {
  path    = "/srv/settings"
  content = "` + revision + `\n"
  notify  = [state.load]
}

state "steps" {
  require = [file.settings]
  command "step" {
    for_each = toset([for i in range(20) : format("%02d", i)])
    shell    = "until test ${each.key} -lt $(cat /srv/steps.allowed); do sleep 0.05; done; echo ${each.key} >> /srv/steps.` + revision + `; touch /srv/` + revision + `.${each.key}"
    creates  = "/srv/` + revision + `.${each.key}"
  }
}

state "load" {
  lazy = true
  command "load" {
    shell   = "cat /srv/settings >> /srv/loads"
  }
}
`
}

// wholeStream wants the server to know each run of a host, with all of its events.
func (f *agents) wholeStream(h *lab.Host) {
	f.Helper()
	type run struct {
		Run   string
		State string
		Site  string
	}
	var own []run
	if err := json.Unmarshal([]byte(f.on(h, "tenet history --json")), &own); err != nil {
		f.Fatal(err)
	}
	var login struct{ URL, Secret string }
	data, err := os.ReadFile(filepath.Join(f.c.Home(), ".config/tenet/server.json"))
	if err == nil {
		err = json.Unmarshal(data, &login)
	}
	if err != nil {
		f.Fatal(err)
	}
	get := func(path string) string {
		return f.must("curl", "-fsSk", "-H", "Authorization: Bearer "+login.Secret, login.URL+"/v1/hosts/"+h.Name+path)
	}
	for _, r := range own {
		if r.Site != "lab" {
			continue // an operator's own
		}
		want := strings.Count(f.on(h, "tenet logs --json "+r.Run), "\n") + 1
		var got []states.Event
		for limit := time.Now().Add(time.Minute); len(got) < want; time.Sleep(200 * time.Millisecond) {
			got = nil
			for line := range strings.Lines(get("/runs/" + r.Run + "/events")) {
				var e states.Event
				if err := json.Unmarshal([]byte(line), &e); err != nil {
					f.Fatal(err, line)
				}
				got = append(got, e)
			}
			if time.Now().After(limit) {
				f.Errorf("%s: of run %s the server has %d of %d events\n%s\n%s", h.Name, r.Run, len(got), want, get("/status"), f.journals())
				return
			}
		}
		for i, e := range got {
			if e.Seq != int64(i+1) {
				f.Errorf("%s: event %d of run %s is where %d should be", h.Name, e.Seq, r.Run, i+1)
			}
		}
	}
}
