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

// windows gives the windows of each host as JSON, or what is wrong.
func windows(t *testing.T, file, src string) string {
	t.Helper()
	s, loaded := lang.Load(fstest.MapFS{file: {Data: []byte(src)}}, lang.Options{Registry: modules.Standard()})
	hosts, _, list := s.Hosts(t.Context(), lang.Target{})
	if list = append(loaded, list...); list.HasErrors() {
		return list.Err().Error()
	}
	var out []string
	for _, h := range hosts {
		data, err := json.Marshal(h.Windows)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, h.Name+" "+string(data))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// A host's own windows replace its groups'; those of several groups are all kept, since all of them have to be open.
func TestWindows(t *testing.T) {
	const want = `db1 null
web1 [[{"hours":"22:00-04:00"}],[{"days":["sat","sun"],"hours":"00:00-24:00","timezone":"Europe/Berlin"}]]
web2 [[{"hours":"01:00-02:00"},{"hours":"13:00-14:00"}]]`
	for file, src := range map[string]string{
		"site.hcl": `
host "web1" {}
host "web2" {
  window { hours = "01:00-02:00" }
  window { hours = "13:00-14:00" }
}
host "db1" {}
host_group "web" {
  hosts = "web*"
  window { hours = "22:00-04:00" }
}
host_group "weekend" {
  hosts  = ["web1", "web2"]
  window = { days = ["sat", "sunday"], hours = "00:00-24:00", timezone = "Europe/Berlin" }
}
`,
		"site.star": `
host("web1")
host("web2", window = [{"hours": "01:00-02:00"}, {"hours": "13:00-14:00"}])
host("db1")
host_group("web", hosts = "web*", window = {"hours": "22:00-04:00"})
host_group("weekend", hosts = ["web1", "web2"], window = {"days": ["sat", "sun"], "hours": "00:00-24:00", "timezone": "Europe/Berlin"})
`,
		"site.hcl.json": `{
  "host": {"web1": {}, "web2": {"window": [{"hours": "01:00-02:00"}, {"hours": "13:00-14:00"}]}, "db1": {}},
  "host_group": {
    "web": {"hosts": "web*", "window": {"hours": "22:00-04:00"}},
    "weekend": {"hosts": ["web1", "web2"], "window": {"days": ["sat", "sun"], "hours": "00:00-24:00", "timezone": "Europe/Berlin"}}
  }
}`,
	} {
		if got := windows(t, file, src); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", file, got, want)
		}
	}
	for body, word := range map[string]string{
		`window { hours = "8-9" }`:                                                 "is no time of day",
		`window { days = ["mon"] }`:                                                "a window has hours",
		`window = { hours = "08:00-09:00", days = ["mo"] }`:                        "is no day",
		`window = { hours = "08:00-09:00", day = "mon" }`:                          `no "day"`,
		`window = "08:00-09:00"`:                                                   "a window is an object",
		`window = { hours = 8 }`:                                                   "its hours is text",
		`window { minutes = 3 }`:                                                   "minutes",
		"window { hours = \"08:00-09:00\" }\nwindow = { hours = \"08:00-09:00\" }": "window is given as an attribute, too",
		`window = { hours = "08:00-09:00", timezone = "Mars" }`:                    "is no time zone",
	} {
		if got := windows(t, "site.hcl", "host \"a\" {\n"+body+"\n}\n"); !strings.Contains(got, word) {
			t.Errorf("%s: %s", body, got)
		}
	}
}
