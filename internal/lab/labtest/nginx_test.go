//go:build lab

package labtest

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/states"
)

// The language was designed from this example; see examples/nginx.
func TestNginxWithCertificate(t *testing.T) {
	t.Parallel()
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

	// So many workers nginx has, whatever of this machine the test may use.
	const workers = "$(getconf _NPROCESSORS_ONLN)"
	m.shell("sed -i 's,^error_log .*,error_log /var/log/nginx/error.log notice;,' /etc/nginx/nginx.conf && systemctl restart nginx && " +
		"until [ $(grep -c 'start worker process ' /var/log/nginx/error.log) = " + workers + " ]; do sleep 0.05; done; : > /var/log/nginx/error.log")
	// The certificate takes as long as others need to look at the site meanwhile.
	m.shell("printf '#!/bin/sh\\nsleep 1\\nexec /usr/bin/openssl \"$@\"\\n' > /usr/local/bin/openssl && chmod 0755 /usr/local/bin/openssl")
	seen := m.watch("example.test")
	r := m.tenet("apply", "--yes")
	timeline := seen()
	if r.status != 0 {
		t.Fatalf("exit status %d\n%s%s", r.status, r.failures(), r.stderr)
	}
	var ended []string
	at := map[string]time.Time{}
	for _, e := range r.parts() {
		ended = append(ended, e.Address+" "+string(e.Outcome))
		at[e.Address] = e.Time
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

	// As others see it: first neither, then http alone, while the certificate is made,
	// then both.
	const neither, plain, both = "http: other, https: none", "http: example.test over http, https: none", "http: example.test over http, https: example.test over https"
	var went []string
	for _, s := range timeline {
		// As new workers begin, the old ones may still answer a request.
		if !slices.Contains(went, s.answers) {
			went = append(went, s.answers)
		}
		switch {
		case s.answers == plain && s.ended.Before(at["run.plain.file.conf"]):
			t.Errorf("the plain site answers at %v, before run.plain has written it", s.ended)
		case s.answers == both && s.ended.Before(at["run.secure.file.conf"]):
			t.Errorf("https answers at %v, before run.secure has written it", s.ended)
		case s.answers == neither && s.began.After(at["state.certificate.command.issue"]):
			t.Errorf("the site does not answer at %v, when there is a certificate already", s.began)
		}
	}
	if want := []string{neither, plain, both}; !slices.Equal(went, want) {
		t.Errorf("others saw %q, want %q", went, want)
	}

	// nginx says itself when it reads its configuration anew, and which workers it
	// starts then; the last ones are there.
	const started = `grep -o 'start worker process [0-9]*' /var/log/nginx/error.log | grep -o '[0-9]*$'`
	reloads := func() string { return m.shell("grep -c 'SIGHUP) received.*reconfiguring' /var/log/nginx/error.log") }
	for range 2 {
		if got := reloads(); got != "2" {
			t.Errorf("nginx was reloaded %s times, want 2", got)
		}
		m.shell("[ $(grep -c 'notice.*start worker processes$' /var/log/nginx/error.log) = 2 ]")
		m.shell("[ $(" + started + " | sort -u | wc -l) = $((2 * " + workers + ")) ]")
		m.until("[ \"$(pgrep -P $(cat /run/nginx.pid) | sort)\" = \"$(" + started + " | tail -n " + workers + " | sort)\" ]")
		if got := m.apply(); len(got) > 0 {
			t.Errorf("a later apply changed %q", got)
		}
	}
}

// sight is what a web server answered at some time between two.
type sight struct {
	began, ended time.Time
	answers      string
}

// watch asks the host from outside over http and https until the function that it
// returns is called, which waits until both answer, at most a minute, and gives
// what was seen.
func (m *machine) watch(domain string) func() []sight {
	m.Helper()
	ask := func(scheme, port string) string {
		transport := &http.Transport{
			DisableKeepAlives: true,
			TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, ServerName: domain},
		}
		transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return shared.run.Dial(ctx, network, net.JoinHostPort(m.host.Name, port))
		}
		r, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Get(scheme + "://" + domain + "/")
		if err != nil {
			return "none"
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if text := strings.TrimSpace(string(body)); err == nil && strings.HasPrefix(text, domain+" over ") {
			return text
		}
		return "other"
	}
	look := func() sight {
		s := sight{began: time.Now(), answers: "http: " + ask("http", "80") + ", https: " + ask("https", "443")}
		s.ended = time.Now()
		return s
	}
	stop, done := make(chan struct{}), make(chan []sight)
	seen := []sight{look()} // before anything is done
	go func() {
		var deadline time.Time
		for {
			seen = append(seen, look())
			select {
			case <-stop:
				if deadline.IsZero() {
					deadline = time.Now().Add(time.Minute)
				}
				if last := seen[len(seen)-1]; !strings.Contains(last.answers, "none") || time.Now().After(deadline) {
					done <- seen
					return
				}
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	return func() []sight {
		close(stop)
		return <-done
	}
}

// A configuration that nginx refuses does not stay, and nginx is not reloaded.
func TestNginxRefusesConfiguration(t *testing.T) {
	t.Parallel()
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
