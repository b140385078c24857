package testcase_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/internal/testcase"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
)

// drawThings describes a machine: the same words for before and after.
func drawThings(t *rapid.T) string {
	var out strings.Builder
	quoted := rapid.Custom(func(t *rapid.T) string {
		text := rapid.SampledFrom([]string{"", "a\n", "ü", "${x}", "%{if}", "\"q\"", "a\\b", "\x01", "l1\nl2\nl3"}).Draw(t, "text")
		return strings.NewReplacer("\\", "\\\\", "\"", "\\\"", "\n", "\\n", "${", "$${", "%{", "%%{", "\x01", "\\u0001").Replace(text)
	})
	flag := func(name string) bool { return rapid.Bool().Draw(t, name) }
	users := []string{"root", "daemon", "33"}
	for _, name := range []string{"app", "deploy"} {
		if flag("group " + name) {
			fmt.Fprintf(&out, "group %q {\n gid = %d\n}\n", name+"s", rapid.IntRange(500, 510).Draw(t, "gid")+len(name)*20)
		}
		if flag("user " + name) {
			fmt.Fprintf(&out, "user %q {\n uid = %d\n groups = [\"adm\"]\n shell = \"/bin/zsh\"\n}\n", name, 2000+len(name))
			users = append(users, name)
		}
		if flag("package " + name) {
			fmt.Fprintf(&out, "package %q {\n installed = \"%d.0\"\n held = %v\n}\n", name, rapid.IntRange(0, 9).Draw(t, "version"), flag("held"))
		}
		if flag("service " + name) {
			masked := flag("masked")
			fmt.Fprintf(&out, "service %q {\n masked = %v\n running = %v\n enabled = %v\n}\n", name, masked, !masked && flag("running"), flag("enabled"))
		}
	}
	for _, name := range []string{"/srv/a", "/srv/b/c", "/etc/motd", "/srv/ü x"} {
		switch rapid.IntRange(0, 3).Draw(t, name) {
		case 1:
			fmt.Fprintf(&out, "file %q {\n content = \"%s\"\n mode = \"0%s\"\n owner = %q\n}\n", name, quoted.Draw(t, "content"),
				rapid.StringMatching(`[0-7]{3}`).Draw(t, "mode"), rapid.SampledFrom(users).Draw(t, "owner"))
		case 2:
			fmt.Fprintf(&out, "directory %q {\n mode = \"%s\"\n group = \"staff\"\n}\n", name, rapid.StringMatching(`[0-7]{4}`).Draw(t, "mode"))
		case 3:
			fmt.Fprintf(&out, "link %q {\n target = \"/etc/passwd\"\n}\n", name)
		}
	}
	return out.String()
}

// What a machine is described as, it is; and after an apply of something else it
// still is.
func TestDescribedIsWhatIsThere(t *testing.T) {
	registry := modules.Standard()
	rapid.Check(t, func(t *rapid.T) {
		things := drawThings(t)
		files := fstest.MapFS{
			"site.hcl":    {Data: []byte("file \"/opt/x\" {}\n")},
			"tests/a.hcl": {Data: []byte("case \"c\" {\nmachine {\n" + things + "}\nexpect_apply {\nafter {\n" + things + "}\n}\n}\n")},
		}
		site, _ := lang.Load(files, lang.Options{Registry: registry})
		cases, list := testcase.Read(files)
		if len(list) > 0 {
			t.Fatalf("%v in\n%s", list, things)
		}
		r := testcase.Run(t.Context(), cases.List[0], testcase.Options{Site: site, Registry: registry})
		if r.Outcome != testcase.Passed {
			t.Fatalf("%s%v in\n%s", r.Text(""), r.Diagnostics, things)
		}
	})
}
