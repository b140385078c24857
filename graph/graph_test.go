package graph_test

import (
	"testing"

	"github.com/tenetcm/tenet/states"
)

// nginx is the example from which the language was designed.
func nginx() *site {
	s := newSite()
	conf := resource("file", "/etc/nginx/sites-enabled/a", "plain")
	conf.Address, conf.Base = "file.conf", "file.conf"
	conf.Options.Notify = refs("state.reload_nginx")
	tls := conf
	tls.Values = map[string]any{"path": conf.Key, "content": "tls"}
	reload := command("nginx")
	reload.Type, reload.Address, reload.Base = "reload", "reload.nginx", "reload.nginx"
	issue := command("issue")
	issue.Paths = []string{"/etc/ssl/site/a.pem"}

	s.state("vhost", parts(conf))
	s.state("reload_nginx", lazy, parts(reload))
	s.state("certificate", require("run.plain"), parts(issue))
	s.run("plain", "state.vhost", unless("/etc/ssl/site/a.pem"))
	s.run("secure", "state.vhost", require("state.certificate"), parts(tls))
	return s
}

func TestNginx(t *testing.T) {
	s := nginx()
	if diags := s.diagnostics(); len(diags) > 0 {
		t.Errorf("unexpected: %v", diags)
	}
	run := s.compile(t).Run
	want(t, sequence(run), "run.plain state.reload_nginx#1 state.certificate run.secure state.reload_nginx#2")
	want(t, edges(t, run, "run.plain"), "requires [] after [] by []")
	want(t, edges(t, run, "state.reload_nginx#1"), "requires [] after [] by [run.plain.file.conf:change]")
	want(t, edges(t, run, "state.certificate"), "requires [run.plain state.reload_nginx#1] after [] by []")
	want(t, edges(t, run, "run.secure"), "requires [state.certificate] after [] by []")
	want(t, edges(t, run, "state.reload_nginx#2"), "requires [] after [] by [run.secure.file.conf:change]")
}

func TestOneWaveForMany(t *testing.T) {
	s := newSite()
	s.state("a", notify("state.h"))
	s.state("b", notify("state.h"))
	s.state("h", lazy)
	run := s.compile(t).Run
	want(t, sequence(run), "state.a state.b state.h")
	want(t, edges(t, run, "state.h"), "requires [] after [] by [state.a:change state.b:change]")
}

func TestWavesBetweenRequirements(t *testing.T) {
	for _, c := range []struct {
		h    option
		want string
	}{
		{lazy, "state.s2 state.s1#1 state.s3 state.s1#2"},
		{deferred, "state.s2 state.s3 state.s1"},
	} {
		s := newSite()
		s.state("s1", c.h)
		s.state("s2", notify("state.s1"))
		s.state("s3", notify("state.s1"), require("state.s2"))
		want(t, sequence(s.compile(t).Run), c.want)
	}
}

var _ = states.Present
