package lang_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
)

// keeping gives how each host is kept as JSON, or what is wrong. A site without hosts is for this machine.
func keeping(t *testing.T, file, src string) string {
	t.Helper()
	s, loaded := lang.Load(fstest.MapFS{file: {Data: []byte(src)}}, lang.Options{Registry: modules.Standard()})
	hosts, _, list := s.Hosts(t.Context(), lang.Target{})
	if list = append(loaded, list...); list.HasErrors() {
		return list.Err().Error()
	}
	if len(hosts) == 0 {
		hosts = append(hosts, lang.Host{Name: "localhost"})
	}
	var out []string
	for _, h := range hosts {
		d, list := s.Evaluate(t.Context(), lang.Target{Host: h.Name})
		if list.HasErrors() {
			return list.Err().Error()
		}
		data, err := json.Marshal(d.Reconcile)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, h.Name+" "+string(data))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// What a host says counts before what its groups say, word by word, and that before what the site says; of groups that with the higher priority.
func TestReconcile(t *testing.T) {
	const want = `db1 {"mode":"audit","poll":600000000000,"on_failure":"revert"}
web1 {"mode":"apply","poll":600000000000,"jitter":-1,"deadline":60000000000,"attempts":3,"on_failure":"revert","backoff":1000000000,"windows":[[{"hours":"22:00-04:00"}]]}
web2 {"mode":"apply","poll":5000000000,"deadline":120000000000,"on_failure":"revert"}`
	for file, src := range map[string]string{
		"site.hcl": `
site {
  name = "shop"
  reconcile {
    mode       = "audit"
    poll       = "10m"
    on_failure = "revert"
  }
}
variable "patience" { default = "2m" }
host "db1" {}
host "web1" {
  reconcile {
    jitter   = 0
    attempts = 3
    backoff  = "1s"
    deadline = "1m"
  }
  window { hours = "22:00-04:00" }
}
host "web2" {
  reconcile = { poll = "5s" }
}
host_group "web" {
  hosts     = "web*"
  priority  = 2
  reconcile = { mode = "apply", deadline = var.patience }
}
host_group "all" {
  hosts = "*,!db*"
  reconcile {
    deadline = "9m"
  }
}
`,
		"site.star": `
site(name = "shop", reconcile = {"mode": "audit", "poll": "10m", "on_failure": "revert"})
patience = variable("patience", default = "2m")
host("db1")
host("web1", reconcile = {"jitter": 0, "attempts": 3, "backoff": "1s", "deadline": "1m"}, window = {"hours": "22:00-04:00"})
host("web2", reconcile = {"poll": "5s"})
host_group("web", hosts = "web*", priority = 2, reconcile = {"mode": "apply", "deadline": patience})
host_group("all", hosts = "*,!db*", reconcile = {"deadline": "9m"})
`,
	} {
		if got := keeping(t, file, src); got != want {
			t.Errorf("%s gives\n%s\nwant\n%s", file, got, want)
		}
	}
	for src, want := range map[string]string{
		"site {\n reconcile { poll = \"1h\" }\n}": `localhost {"poll":3600000000000}`,
		`site { name = "a" }`:                     "localhost null",
	} {
		if got := keeping(t, "site.hcl", src); got != want {
			t.Errorf("%s gives %s", src, got)
		}
	}
}

// Whatever is wrong is said at its place.
func TestWrongReconcile(t *testing.T) {
	for src, want := range map[string]string{
		"site {\n reconcile { mode = \"look\" }\n}":                                      `"look" is no mode`,
		"site {\n reconcile { poll = 5 }\n}":                                             "poll",
		"site {\n reconcile { poll = \"-5m\" }\n}":                                       "poll",
		"site {\n reconcile { attempts = 1.5 }\n}":                                       "whole number",
		"site {\n reconcile { attempts = 0 }\n}":                                         "whole number",
		"site {\n reconcile { jitter = 1 }\n}":                                           "part of one",
		"site {\n reconcile { on_failure = \"panic\" }\n}":                               `on_failure cannot be "panic"`,
		"site {\n reconcile { polls = \"1m\" }\n}":                                       `"polls"`,
		"site {\n reconcile = [\"a\"]\n}":                                                "object",
		"site {\n reconcile { poll = var.x }\n}\nvariable \"x\" { default = \"1m\" }":    "cannot be computed",
		"site {\n reconcile { poll = \"1ms\" }\n}":                                       "at least 1s",
		"host \"a\" {\n reconcile = { mode = 1 }\n}":                                     "mode",
		"host \"a\" {\n reconcile { mode = \"audit\" }\n reconcile { poll = \"1m\" }\n}": "twice",
		"host \"a\" {\n reconcile = {}\n reconcile { poll = \"1m\" }\n}":                 "twice",
	} {
		if got := keeping(t, "site.hcl", src); !strings.Contains(got, want) || !strings.Contains(got, "site.hcl:") {
			t.Errorf("%s: %s\nwant %s", src, got, want)
		}
	}
}
