//go:build lab

package labtest

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/states"
)

// The language was designed from this example; see examples/nginx.
func TestNginxWithCertificate(t *testing.T) {
	m := boot(t)
	m.copy(os.DirFS("../../../examples/nginx"), "/root/site")
	order := []string{"run.plain", "state.reload_nginx#1", "state.certificate", "run.secure", "state.reload_nginx#2"}

	var run states.StateRun
	if err := json.Unmarshal([]byte(m.shell("tenet compile --json /root/site")), &run); err != nil {
		t.Fatal(err)
	}
	var compiled []string
	for _, i := range run.Invocations {
		compiled = append(compiled, i.Address)
	}
	if !slices.Equal(compiled, order) {
		t.Errorf("compiled to %q, want %q", compiled, order)
	}

	const http = "curl -fsS --resolve example.test:80:127.0.0.1 http://example.test/"
	const https = "curl -fsS --cacert /etc/ssl/site/example.test.pem --resolve example.test:443:127.0.0.1 https://example.test/"
	if out := m.shell(http + " || true"); strings.Contains(out, "example.test over http") {
		t.Fatalf("the site is there before it was published: %s", out)
	}
	since := m.shell("date +%s")
	r := m.tenet("apply", "--yes")
	if r.status != 0 {
		t.Fatalf("exit status %d\n%s%s", r.status, r.failures(), r.stderr)
	}
	var ended []string
	for _, e := range r.parts() {
		ended = append(ended, e.Address+" "+string(e.Outcome))
	}
	if want := []string{
		"run.plain.file.conf changed",
		"state.reload_nginx#1.reload.nginx changed",
		"state.certificate.directory.certificates changed",
		"state.certificate.command.challenge changed", // asks over http: the plain site is live
		"state.certificate.command.issue changed",
		"run.secure.file.conf changed",
		"state.reload_nginx#2.reload.nginx changed",
	}; !slices.Equal(ended, want) {
		t.Errorf("it went\n%s\nwant\n%s", strings.Join(ended, "\n"), strings.Join(want, "\n"))
	}
	for command, answer := range map[string]string{http: "example.test over http", https: "example.test over https"} {
		if got := m.shell("for i in 1 2 3 4 5 6 7 8 9; do " + command + " && break; sleep 0.2; done"); got != answer {
			t.Errorf("%s\nanswers %q", command, got)
		}
	}
	reloads := func() string {
		return m.shell("journalctl --sync; journalctl -u nginx --since @" + since + " -o cat | grep -c '^Reloaded '")
	}
	if got := reloads(); got != "2" {
		t.Errorf("nginx was reloaded %s times, want 2", got)
	}
	if got := m.apply(); len(got) > 0 {
		t.Errorf("the second apply changed %q", got)
	}
	if got := reloads(); got != "2" {
		t.Errorf("after the second apply nginx was reloaded %s times, want 2", got)
	}
}

// A configuration that nginx refuses does not stay, and nginx is not reloaded.
func TestNginxRefusesConfiguration(t *testing.T) {
	m := boot(t)
	m.site(`
file "/etc/nginx/conf.d/bad.conf" {
  content  = "no_such_directive on;\n"
  validate = ["nginx", "-t", "-q"]
  notify   = [reload.nginx]
}

reload "nginx" {}
`)
	e := m.fails(`file["/etc/nginx/conf.d/bad.conf"]`)
	says(t, e, "no_such_directive")
	m.shell("test ! -e /etc/nginx/conf.d/bad.conf && nginx -t -q && curl -fsS -o /dev/null http://127.0.0.1/")
}
