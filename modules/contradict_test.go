package modules_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules"
)

// contradictions compiles a site and gives the warnings of parts that contradict.
func contradictions(t *testing.T, text string) []diag.Diagnostic {
	t.Helper()
	registry := modules.Standard()
	site, mistakes := lang.Load(fstest.MapFS{"site.hcl": {Data: []byte(text)}, "f": {Data: []byte("x")}}, lang.Options{Registry: registry})
	if mistakes.HasErrors() {
		t.Fatal(mistakes)
	}
	declared, mistakes := site.Evaluate(t.Context(), lang.Target{Host: "x"})
	if mistakes.HasErrors() {
		t.Fatal(mistakes)
	}
	_, mistakes = graph.Compile(declared, graph.Options{Registry: registry})
	if mistakes.HasErrors() {
		t.Fatal(mistakes)
	}
	var found []diag.Diagnostic
	for _, d := range mistakes {
		if strings.HasSuffix(d.Summary, "contradict each other") {
			found = append(found, d)
		}
	}
	return found
}

// Parts that say the contrary of one thing are found, whatever their types and keys; and
// those that say the same, or of which a guard tells when, are not.
func TestContradictions(t *testing.T) {
	for _, c := range []struct{ name, site, parts string }{
		{"two names", "hostname \"a\" {}\nhostname \"b\" {}\n", "hostname.a and hostname.b"},
		{"one name", "hostname \"a\" {}\nhostname \"again\" {\n  name = \"a\"\n}\n", ""},
		{"names for two machines", "hostname \"a\" {\n  only_if {\n    exists = \"/a\"\n  }\n}\nhostname \"b\" {\n  only_if {\n    exists = \"/b\"\n  }\n}\n", ""},
		{"a user in a group of others", "user \"ann\" {\n  groups = [\"adm\"]\n}\ngroup \"adm\" {\n  members = [\"bob\"]\n}\n", "user.ann and group.adm"},
		{"one more of others", "user \"ann\" {\n  groups = [\"adm\"]\n  append = true\n}\ngroup \"adm\" {\n  members = []\n}\n", "user.ann and group.adm"},
		{"a group with a user of others", "group \"adm\" {\n  members = [\"ann\"]\n}\nuser \"ann\" {\n  groups = []\n}\n", "group.adm and user.ann"},
		{"both say it", "group \"adm\" {\n  members = [\"ann\", \"bob\"]\n}\nuser \"ann\" {\n  groups = [\"adm\"]\n}\nuser \"bob\" {\n  groups = [\"adm\"]\n}\n", ""},
		{"a user in any groups", "group \"adm\" {\n  members = [\"ann\"]\n}\nuser \"ann\" {}\n", ""},
		{"a user who also stays in others", "group \"adm\" {\n  members = [\"ann\"]\n}\nuser \"ann\" {\n  groups = [\"www\"]\n  append = true\n}\n", ""},
		{"a member who is to go", "group \"adm\" {\n  members = [\"ann\"]\n}\nuser \"ann\" {\n  ensure = \"absent\"\n}\n", "group.adm and user.ann"},
		{"a group that is to go", "group \"adm\" {\n  ensure = \"absent\"\n}\nuser \"ann\" {\n  groups = [\"adm\"]\n}\n", "group.adm and user.ann"},
		{"a file and a line", "file \"/x\" {\n  content = \"a\\n\"\n}\nline \"/x\" {\n  line = \"b\"\n}\n", "file[\"/x\"] and line[\"/x\"]"},
		{"a file that has the line", "file \"/x\" {\n  content = \"a\\nb\\n\"\n}\nline \"/x\" {\n  line = \"b\"\n}\n", ""},
		{"a file of the site and a line", "file \"/x\" {\n  source = \"f\"\n}\nline \"/x\" {\n  line = \"b\"\n}\n", "file[\"/x\"] and line[\"/x\"]"},
		{"a file of any content and a line", "file \"/x\" {\n  mode = \"0600\"\n}\nline \"/x\" {\n  line = \"b\"\n}\n", ""},
		{"a file and a setting", "file \"/x.ini\" {\n  content = \"a=1\\n\"\n}\nsetting \"/x.ini\" {\n  key   = \"b\"\n  value = \"1\"\n}\n", "file[\"/x.ini\"] and setting[\"/x.ini\"]"},
		{"a file with the setting", "file \"/x.ini\" {\n  content = \"[s]\\nb=1\\n\"\n}\nsetting \"/x.ini\" {\n  key   = \"s.b\"\n  value = \"1\"\n}\n", ""},
		{"a file with another value", "file \"/x.json\" {\n  content = jsonencode({ s = { b = [1, 2] } })\n}\nsetting \"/x.json\" {\n  key   = \"s.b\"\n  value = [2, 1]\n}\n", "file[\"/x.json\"] and setting[\"/x.json\"]"},
		{"a file with the same list", "file \"/x\" {\n  content = jsonencode({ s = { b = [1, 2] } })\n}\nsetting \"/x\" {\n  key    = \"s.b\"\n  format = \"json\"\n  value  = [1, 2]\n}\n", ""},
		{"a file that is not what its name says", "file \"/x.json\" {\n  content = \"{\"\n}\nsetting \"/x.json\" {\n  key   = \"b\"\n  value = 1\n}\n", "file[\"/x.json\"] and setting[\"/x.json\"]"},
		{"a file and a block", "file \"/x\" {\n  content = \"a\\n\"\n}\nmarked_block \"b\" {\n  path    = \"/x\"\n  content = \"c\\n\"\n}\n", "file[\"/x\"] and marked_block.b"},
		{"two lines", "line \"a\" {\n  path = \"/x\"\n  line = \"a\"\n}\nline \"b\" {\n  path = \"/x\"\n  line = \"b\"\n}\n", ""},
		{"a line that is to go", "file \"/x\" {\n  content = \"a\\n\"\n}\nline \"/x\" {\n  line   = \"b\"\n  ensure = \"absent\"\n}\n", ""},
		{"a file and the table of mounts", "file \"/etc/fstab\" {\n  content = \"\"\n}\nmount \"/srv\" {\n  source = \"tmpfs\"\n}\n", "file[\"/etc/fstab\"] and mount[\"/srv\"]"},
		{"a file and an entry of hosts", "file \"/etc/hosts\" {\n  content = \"127.0.0.1 localhost\\n\"\n}\nhosts_entry \"192.0.2.1\" {\n  names = [\"web\"]\n}\n", "file[\"/etc/hosts\"] and hosts_entry[\"192.0.2.1\"]"},
		{"a file and the machine's name", "file \"/etc/hostname\" {\n  content = \"db\\n\"\n}\nhostname \"web\" {}\n", "file[\"/etc/hostname\"] and hostname.web"},
		{"a file and a directory", "file \"/x\" {}\ndirectory \"/x\" {}\n", "file[\"/x\"] and directory[\"/x\"]"},
		{"a link and a download", "symlink \"/x\" {\n  target = \"/y\"\n}\ndownload \"/x\" {\n  url = \"https://example.test/x\"\n}\n", "symlink[\"/x\"] and download[\"/x\"]"},
		{"a file in place of a directory", "directory \"/x\" {\n  ensure = \"absent\"\n}\nfile \"/x\" {}\n", ""},
		{"a directory and a tree", "directory \"/x\" {}\ntree \"/x\" {\n  source = \".\"\n}\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := contradictions(t, c.site)
			if c.parts == "" {
				if len(found) > 0 {
					t.Errorf("%v", found)
				}
				return
			}
			if len(found) != 1 || found[0].Summary != c.parts+" contradict each other" || len(found[0].Related) != 1 || found[0].Hint == "" {
				t.Errorf("%v", found)
			}
		})
	}
}
