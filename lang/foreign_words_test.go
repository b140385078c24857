package lang_test

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/lang/foreign"
)

// A word that stands behind one that fits wherever it does is never found.
func TestForeignEachWordIsFound(t *testing.T) {
	for name, table := range map[string][]foreign.Word{"blocks": foreign.Blocks(), "attributes": foreign.Attributes(),
		"values": foreign.Values(), "functions": foreign.Functions(), "types": foreign.Types()} {
		seen := map[string]bool{}
		for _, w := range table {
			if w.Name == "" || w.Write == "" {
				t.Errorf("%s: %+v is not complete", name, w)
			}
			for _, before := range []string{w.Name + "||", w.Name + "|" + w.On + "|", w.Name + "||" + w.Value, w.Name + "|" + w.On + "|" + w.Value} {
				if seen[before] {
					t.Errorf("%s: %+v stands behind one that always fits first", name, w)
				}
			}
			seen[w.Name+"|"+w.On+"|"+w.Value] = true
		}
	}
}

func TestForeignLine(t *testing.T) {
	for line, want := range map[string]string{ // ^ stands at the place of the error
		`  ^content: 'hello'`: `write content = "hello"`,
		`  ^enabled: yes`:     `write enabled = true`,
		`  ^mode: 644`:        `write mode = "0644"`,
		`  ^mode: "0644"`:     `write mode = "0644"`,
		`  ^when: ansible_os_family == 'Debian' and not x`: `write when = fact.os.family == "Debian" && !x`,
		`  ^motd: "a == b"`:                `write motd = "a == b"`,
		`  ^port: 80`:                      `write port = 80`,
		`  ^motd: {{ motd }}`:              `write motd = {{ motd }}`,
		`  ^when => undef,`:                `write when = null`,
		`- ^name: nginx`:                   `here name = "nginx"`,
		`  x = ^'it'`:                      `write "it"`,
		`  x = {{ ^grains.os_family }}`:    `write fact.os.family`,
		`  x = {{ ^item.name }}`:           `write each.key`,
		`  x = var.y ^| upper`:             `upper(TEXT)`,
		`  x = a ^is defined`:              `x == null`,
		`  x = a ^=== b`:                   ``,
		`  x = a ==^= b`:                   `write == or !=`,
		`  x ^+= [1]`:                      `concat(LIST, LIST)`,
		`^file.absent "/etc/motd" {`:       `file "/etc/motd" { … }, with ensure = "absent"`,
		`^file.directory "/srv" {`:         `directory "/srv" { … }`,
		`^nginx.something "x" {`:           `tenet doc lists the types`,
		`  mode = 0^x1f`:                   `parseint("1f", 16)`,
		`  x = ^@`:                         ``,
		`define web::site^($name) {`:       `param "NAME"`,
		`  port ^80`:                       `write port = 80`,
		`  while ^true {`:                  `for_each = LIST`,
		"\tx = a\u00a0^\u00a0+ 1":          `plain space`,
		`file { "/etc/motd":^`:             `write file "/etc/motd" { … }`,
		`  def ^install(name):`:            `*.star`,
		`  local dir ^= '/etc/app'`:        ``,
		`local dir^=/etc/app`:              `locals { dir = "/etc/app" }`,
		`  x = "${salt["a.b"]^("c")}"`:     `no remote functions`,
		`  listen = [file.^/etc/motd.txt]`: `file["/etc/motd.txt"]`,
	} {
		text, offset := strings.Replace(line, "^", "", 1), strings.Index(line, "^")
		a, ok := foreign.Line(text, offset)
		if want == "" {
			continue // must not panic; whatever it says
		}
		if !ok || !strings.Contains(a.Hint, want) || a.Summary == "" {
			t.Errorf("%s: %+v, want %s", line, a, want)
		}
	}
}

func FuzzForeignLine(f *testing.F) {
	f.Add("  x = {{ y | default('z') }}", 6)
	f.Add("\xff'", 1)
	f.Fuzz(func(t *testing.T, line string, offset int) {
		if a, ok := foreign.Line(line, offset); ok && (a.Summary == "" || a.Hint == "") {
			t.Errorf("%q at %d: %+v", line, offset, a)
		}
		if a, number, ok := foreign.Document(line); ok && (a.Summary == "" || a.Hint == "" || number < 1) {
			t.Errorf("%q: line %d, %+v", line, number, a)
		}
	})
}

func TestForeignStarlark(t *testing.T) {
	for hcl, want := range map[string]string{
		`write package "nginx" {}`:                  `write package("nginx")`,
		`write service "nginx" { running = true }`:  `write service("nginx", running = True)`,
		`write retry = { attempts = 3, delay = 2 }`: `write retry = {"attempts": 3, "delay": 2}`,
		`write only_if { exists = PATH }`:           `write only_if = {"exists": PATH}`,
		`write line "NAME" { path = "/etc/hosts" line = "…" }, each attribute on a line of its own`: `write line("NAME", path = "/etc/hosts", line = "…")`,
		`write for_each = LIST, and each.key for the element`:                                       `write a loop, and give each turn instance = KEY: for x in LIST: …`,
		`write true`: `write True`,
		`write fact.os.family, whose values are in lower case: "debian"`: `write fact.os.family, whose values are in lower case: "debian"`,
	} {
		got := foreign.Starlark(foreign.Advice{Hint: hcl}).Hint
		if strings.NewReplacer("{ ", "{", " }", "}").Replace(got) != want {
			t.Errorf("%s becomes %s, want %s", hcl, got, want)
		}
	}
}
