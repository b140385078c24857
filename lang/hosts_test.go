package lang_test

import (
	"encoding/json"
	"fmt"
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
}
host_group "web" {
  hosts         = ["web*"]
  priority      = 1
  become_method = "sudo"
  ssh_options   = ["ProxyJump=other", "Compression=yes"]
}
`, `
host("web1", address = "2001:db8::1", user = "deploy", become = "app", ssh_options = ["IdentityFile=~/.ssh/web1"])
host_group("all", hosts = ["*"], become_method = "doas", ssh_options = ["ProxyJump=gate"])
host_group("web", hosts = ["web*"], priority = 1, become_method = "sudo", ssh_options = ["ProxyJump=other", "Compression=yes"])
`, func(s *lang.Site) (any, diag.List) {
		hosts, _, list := s.Hosts(t.Context(), lang.Target{})
		return hosts, list
	})
	want := `[{"address":"2001:db8::1","become":"app","become_method":"sudo","executor":"ssh","groups":["all","web"],"name":"web1",` +
		`"ssh_options":["IdentityFile=~/.ssh/web1","ProxyJump=other","Compression=yes","ProxyJump=gate"],"user":"deploy"}]`
	if got != want {
		t.Errorf("got %s", got)
	}
}
