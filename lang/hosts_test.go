package lang_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
)

// bothLanguages evaluates a site that is written in HCL and in Starlark, demands
// that both say the same, places apart, and gives what they say.
func bothLanguages(t *testing.T, hcl, star string, of func(*lang.Site) (any, diag.List)) string {
	t.Helper()
	var said []string
	for name, source := range map[string]string{"site.hcl": hcl, "site.star": star} {
		site, list := lang.Load(fstest.MapFS{name: {Data: []byte(source)}}, lang.Options{Registry: registry()})
		if len(list) > 0 {
			t.Fatal(list.Error())
		}
		v, list := of(site)
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var plain any
		if err := json.Unmarshal(text, &plain); err != nil {
			t.Fatal(err)
		}
		withoutPlaces(plain)
		if text, err = json.Marshal(plain); err != nil {
			t.Fatal(err)
		}
		out := string(text)
		for _, d := range list {
			out += fmt.Sprintf("\n%s: %s: %s (%s)", d.Severity, d.Summary, d.Detail, d.Hint)
		}
		said = append(said, out)
	}
	if said[0] != said[1] {
		t.Errorf("the languages differ:\n%s\n%s", said[0], said[1])
	}
	return said[0]
}

// withoutPlaces removes where things stand.
func withoutPlaces(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			withoutPlaces(e)
		}
	case map[string]any:
		delete(v, "range")
		for _, e := range v {
			withoutPlaces(e)
		}
	}
}

func TestReachOfHosts(t *testing.T) {
	got := bothLanguages(t, `
host "web1" {
  address     = "2001:db8::1"
  user        = "deploy"
  become      = "app"
  ssh_options = ["IdentityFile=~/.ssh/web1"]
}
host_group "all" {
  hosts         = ["*"]
  become_method = "doas"
  ssh_options   = ["ProxyJump=gate"]
  runner_cache  = "/opt/tenet"
}
host_group "web" {
  hosts         = ["web*"]
  priority      = 1
  become_method = "sudo"
  ssh_options   = ["ProxyJump=other", "Compression=yes"]
}
`, `
host("web1", address = "2001:db8::1", user = "deploy", become = "app", ssh_options = ["IdentityFile=~/.ssh/web1"])
host_group("all", hosts = ["*"], become_method = "doas", ssh_options = ["ProxyJump=gate"], runner_cache = "/opt/tenet")
host_group("web", hosts = ["web*"], priority = 1, become_method = "sudo", ssh_options = ["ProxyJump=other", "Compression=yes"])
`, func(s *lang.Site) (any, diag.List) {
		hosts, _, list := s.Hosts(t.Context(), lang.Target{})
		return hosts, list
	})
	want := `[{"address":"2001:db8::1","become":"app","become_method":"sudo","executor":"ssh","groups":["all","web"],"name":"web1","runner_cache":"/opt/tenet",` +
		`"ssh_options":["IdentityFile=~/.ssh/web1","ProxyJump=other","Compression=yes","ProxyJump=gate"],"user":"deploy"}]`
	if got != want {
		t.Errorf("got %s", got)
	}
}

func TestRollout(t *testing.T) {
	hcl := `
host "web1" {}
host "db1" {}
host "web2" {}
host "db2" {}
host_group "db" {
  hosts = ["db*"]
}
rollout {
  batch        = [1, "10%", "100%"]
  max_failures = "20%"
  pause        = "1m30s"
  order        = "shuffle"
  stage "web" {
    hosts        = ["web*", "!web2"]
    batch        = "50%"
    max_failures = 0
  }
  stage "databases" {
    hosts = "@db"
  }
}
`
	star := `
host("web1")
host("db1")
host("web2")
host("db2")
host_group("db", hosts = ["db*"])
rollout(
    batch = [1, "10%", "100%"],
    max_failures = "20%",
    pause = "1m30s",
    order = "shuffle",
    stages = {
        "web": {"hosts": ["web*", "!web2"], "batch": "50%", "max_failures": 0},
        "databases": {"hosts": "@db"},
    },
)
`
	want := `{"batch":["1","10%","100%"],"max_failures":"20%","order":"shuffle","pause":90000000000,"stages":[` +
		`{"batch":["50%"],"hosts":["web1"],"max_failures":"0","name":"web"},{"batch":["1","10%","100%"],"hosts":["db1","db2"],"name":"databases"}]}`
	if got := bothLanguages(t, hcl, star, func(s *lang.Site) (any, diag.List) { return s.Rollout(t.Context(), lang.Target{}, nil) }); got != want {
		t.Errorf("got %s", got)
	}
	got := bothLanguages(t, hcl, star, func(s *lang.Site) (any, diag.List) {
		return s.Rollout(t.Context(), lang.Target{}, []lang.Host{{Name: "web2"}, {Name: "db2"}})
	})
	want = `{"batch":["1","10%","100%"],"max_failures":"20%","order":"shuffle","pause":90000000000,"stages":[{"batch":["1","10%","100%"],"hosts":["db2"],"name":"databases"}]}`
	if got != want {
		t.Errorf("of two hosts: %s", got)
	}
	if got := bothLanguages(t, `host "a" {}`, `host("a")`, func(s *lang.Site) (any, diag.List) { return s.Rollout(t.Context(), lang.Target{}, nil) }); got != "null" {
		t.Errorf("without one: %s", got)
	}
}

func TestRolloutRefuses(t *testing.T) {
	const hosts = "host \"web1\" {}\nhost \"db1\" {}\nhost_group \"none\" {\n hosts = [\"x*\"]\n}\n"
	for source, want := range map[string]string{
		"batch = 0":                            "7:9: batch: a batch has one host at least",
		`batch = [1, "0%"]`:                    "a batch has one host at least",
		`batch = "101%"`:                       "101% is more than all hosts",
		`batch = -1`:                           "-1 is below zero",
		`batch = 1.5`:                          "a whole number is required",
		`batch = "half"`:                       `"half" is no number of hosts, and no share of them`,
		`batch = []`:                           "the list is empty",
		`batch = true`:                         "a number or a share is required, not a bool",
		`batch = fact.cpus`:                    "a rollout cannot refer to fact",
		`max_failures = -1`:                    "-1 is below zero",
		`max_failures = "200%"`:                "200% is more than all hosts",
		`pause = "-5s"`:                        `"-5s" is no duration above zero`,
		`pause = 30`:                           "a duration is a string",
		`order = "random"`:                     `"random" is no order of hosts`,
		`forks = 3`:                            `a rollout has no attribute "forks"`,
		"stage \"a\" {\n}":                     "the stage a names no hosts",
		"stage {\n}":                           "stage needs a label",
		"stage \"a b\" {\n hosts = \"*\"\n}":   `"a b" is no name for a stage`,
		"stage \"a\" {\n hosts = \"web2\"\n}":  `there is no host "web2"`,
		"stage \"a\" {\n hosts = \"@wb\"\n}":   `there is no host group "wb"`,
		"stage \"a\" {\n hosts = \"@none\"\n}": "the stage a has no hosts: none of the site fits",
		"stage \"a\" {\n hosts = 3\n}":         "a pattern of hosts is required, or a list of them",
		"stage \"a\" {\n hosts = \"web1\"\n}\nstage \"a\" {\n hosts = \"db1\"\n}": "the stage a is declared twice",
		"stage \"a\" {\n hosts = \"*\"\n}\nstage \"b\" {\n hosts = \"db*\"\n}":    "the stage b has hosts of an earlier one: db1",
		"}\nrollout {": "the rollout is described twice",
	} {
		site, _ := lang.Load(fstest.MapFS{"a.hcl": {Data: []byte(hosts + "rollout {\n" + source + "\n}\n")}}, lang.Options{Registry: registry()})
		_, list := site.Evaluate(t.Context(), lang.Target{Host: "web1"})
		if len(list) == 0 { // what is no error is said once, and not for each host
			_, _, list = site.Hosts(t.Context(), lang.Target{})
		}
		one(t, list, want)
	}
	for source, want := range map[string]string{
		"rollout(batch = 0)":                     "a batch has one host at least",
		"rollout(stage = {})":                    `rollout() has no argument "stage"`,
		"rollout(stages = [1])":                  "stages is a dict, not a list",
		"rollout(stages = {1: {}})":              "the name of a stage is text, not an int",
		`rollout(stages = {"a": "web1"})`:        `the stage "a" is a dict, not a string`,
		`rollout(stages = {"a": {"host": "*"}})`: `a stage has no attribute "host"`,
		`rollout("x")`:                           "rollout() takes",
	} {
		site, _ := lang.Load(fstest.MapFS{"a.star": {Data: []byte("host(\"web1\")\n" + source + "\n")}}, lang.Options{Registry: registry()})
		_, list := site.Evaluate(t.Context(), lang.Target{Host: "web1"})
		if len(list) == 0 || !slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return strings.Contains(d.Error(), want) && d.Hint != "" }) {
			t.Errorf("%s: %v, want %s", source, list, want)
		}
	}
	_, list := lang.Load(fstest.MapFS{"a.hcl.json": {Data: []byte(`{"host": {"a": {}, "b": {}}, "rollout": {"stage": {"y": {"hosts": "a"}, "x": {"hosts": "b"}}}}`)}}, lang.Options{Registry: registry()})
	one(t, list, "a.hcl.json:1:51: the stages have no order")
	site, _ := lang.Load(fstest.MapFS{"a.hcl.json": {Data: []byte(`{"host": {"a": {}, "b": {}}, "rollout": {"stage": [{"y": {"hosts": "a"}}, {"x": {"hosts": "b"}}]}}`)}}, lang.Options{Registry: registry()})
	if r, list := site.Rollout(t.Context(), lang.Target{}, nil); len(list) > 0 || r.Stages[0].Name != "y" {
		t.Errorf("%+v, %v", r, list)
	}
	site, _ = lang.Load(fstest.MapFS{"a.hcl": {Data: []byte("rollout {\n}\n")}}, lang.Options{Registry: registry()})
	_, list = site.Evaluate(t.Context(), lang.Target{})
	one(t, list, "the site declares a rollout, but no hosts")
}
