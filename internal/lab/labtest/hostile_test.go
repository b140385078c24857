//go:build lab

package labtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/internal/statefile"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/facts"
	contract "github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// foreignLine is what hostile texts try to bring into files as a line of its own.
const foreignLine = "tenet-hostile::0:0::/:/bin/sh"

// hostile are texts that break out, if anything does.
func hostile() []string {
	return []string{
		"-x", "-oProxyCommand=touch /tenet-hostile", "../../etc/passwd", "a\n" + foreignLine, "$(touch /tenet-hostile)`touch /tenet-hostile`",
		"'; touch /tenet-hostile; \"; touch /tenet-hostile; #", "a:b:c", "%s ${HOME}\tü\\", strings.Repeat("a", 200<<10),
	}
}

// code are the attributes that are programs to run, or are handed to one as such.
func code() map[string][]string {
	return map[string][]string{
		"command": {"argv", "shell"}, "file": {"validate"}, "cron": {"command"}, "systemd_timer": {"command"}, "systemd_unit": {"content"},
		"assert": {"command"}, "container": {"command", "image"},
	}
}

// Hostile texts reach the real programs of a host, in each attribute of each module's
// example: nothing is run or made that was not meant, and the files that decide who may
// do what stay as they were.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	const hosts = 3 // it takes long
	for i := range hosts {
		t.Run(strconv.Itoa(i+1), func(t *testing.T) {
			t.Parallel()
			var names []string
			for k, name := range modules.Standard().Names() {
				if k%hosts == i {
					names = append(names, name)
				}
			}
			hostileTexts(t, names)
		})
	}
}

func hostileTexts(t *testing.T, names []string) {
	t.Helper()
	m := boot(t)
	registry := modules.Standard()
	m.shell("mkdir /root/base; sort -o /root/base/passwd /etc/passwd; sort -o /root/base/shadow /etc/shadow; cut -d: -f1 /etc/group | sort > /root/base/group")
	files := fstest.MapFS{"check.sh": {Data: []byte(checkScript)}, "run.sh": {Data: []byte(runScript)}}
	for _, name := range names {
		entry, ok := examples()[name]
		module := registry.Lookup(name)
		if !ok || entry.Cannot != "" || name == "reboot" || name == "wait_for" { // one ends the host, the other waits for what never comes
			continue
		}
		if entry.Prepare != "" {
			m.shell(entry.Prepare)
		}
		values := entry.values(t, module)
		for _, a := range module.Attributes {
			if a.Out || a.Kind == states.KindSource || len(a.Enum) > 0 || slices.Contains(code()[name], a.Name) {
				continue
			}
			dir := "cases/" + name + "." + a.Name
			for i, text := range hostile() {
				for k, value := range hostileIn(a, text) {
					site := fmt.Sprintf("%s/%02d%d", dir, i, k)
					files[site+"/site.hcl"] = &fstest.MapFile{Data: partWith(module, values, a.Name, value, states.Present)}
					if module.Remove != nil {
						files[site+"/absent/site.hcl"] = &fstest.MapFile{Data: partWith(module, values, a.Name, value, states.Absent)}
					}
				}
			}
			if a.Kind == states.KindContent {
				files[dir+"/lines"] = &fstest.MapFile{}
			}
		}
	}
	m.copy(files, "/root/hostile")
	found := m.shell("cd /root/hostile; touch /tenet-hostile; echo '" + foreignLine + "' > /etc/found; sh check.sh cases/none; rm /etc/found")
	if strings.Count(found, "\n") != 1 {
		t.Fatalf("what is wrong is not found, but: %q", found)
	}
	t.Log(m.shell("sh /root/hostile/run.sh"))
	for line := range strings.Lines(m.shell("cat /root/hostile/wrong")) {
		t.Error(strings.TrimSpace(line))
	}
}

// values are those of the first part of the module's type in its example.
func (e example) values(t *testing.T, m *states.Module) map[string]any {
	t.Helper()
	source := "variable \"domain\" {\n  default = \"example.test\"\n}\n" + strings.NewReplacer(e.Adapt...).Replace(m.Example)
	files := fstest.MapFS{"site.hcl": {Data: []byte(source)}}
	for name, content := range e.Files {
		files[name] = &fstest.MapFile{Data: []byte(content)}
	}
	site, mistakes := lang.Load(files, lang.Options{Registry: modules.Standard()})
	known := facts.New(host.NewMemory(), nil)
	d, more := site.Evaluate(t.Context(), lang.Target{Host: "host", Facts: known.Fact})
	if mistakes.HasErrors() || more.HasErrors() {
		t.Fatalf("%s: %v %v", m.Name, mistakes, more)
	}
	for _, declaration := range d.List {
		for _, p := range declaration.Parts {
			if p.Type != m.Name {
				continue
			}
			out := maps.Clone(p.Values)
			for name := range out {
				if a := m.Attribute(name); a == nil || a.Kind == states.KindSource || a.Kind == states.KindCondition {
					delete(out, name)
				}
			}
			return out
		}
	}
	t.Fatalf("%s: its example has no part of its type", m.Name)
	return nil
}

// hostileIn puts a text into values of the attribute's kind.
func hostileIn(a states.Attribute, text string) []any {
	switch a.Kind {
	case states.KindString, states.KindContent, states.KindAny:
		return []any{text}
	case states.KindList, states.KindSet:
		return []any{[]any{text}}
	case states.KindMap:
		return []any{map[string]any{"key": text}, map[string]any{text: "x"}}
	}
	return nil
}

// partWith writes a site of one part.
func partWith(m *states.Module, values map[string]any, name string, value any, ensure states.Ensure) []byte {
	p := &contract.ImportPart{Type: m.Name, Label: "hostile"}
	for _, a := range m.Attributes {
		v, given := values[a.Name]
		if a.Name == name {
			v, given = value, true
		}
		if given {
			p.Values = append(p.Values, contract.ImportValue{Name: a.Name, Value: v})
		}
	}
	p.Values = append(p.Values, contract.ImportValue{Name: "timeout", Value: "10s"}, contract.ImportValue{Name: "retry", Value: map[string]any{"attempts": json.Number("1")}})
	if ensure == states.Absent {
		p.Values = append(p.Values, contract.ImportValue{Name: "ensure", Value: "absent"})
	}
	return []byte(statefile.HCL.Print(p))
}

// checkScript says what is wrong on the host.
const checkScript = `
[ ! -e /tenet-hostile ] || { echo "made /tenet-hostile"; rm -rf /tenet-hostile; }
[ -e "$1/lines" ] || grep -rlE '^tenet-hostile::' /etc /var/spool/cron 2>/dev/null | sed 's/^/a line of its own in /'
awk -F: 'NF != 7' /etc/passwd | cut -c1-100 | sed 's/^/broken in passwd: /'
awk -F: 'NF != 9' /etc/shadow | cut -c1-100 | sed 's/^/broken in shadow: /'
awk -F: 'NF != 4' /etc/group /etc/gshadow | cut -c1-100 | sed 's/^/broken in group: /'
sort /etc/passwd | comm -23 /root/base/passwd - | sed 's/^/lost in passwd: /'
sort /etc/shadow | comm -23 /root/base/shadow - | sed 's/^/lost in shadow: /'
cut -d: -f1 /etc/group | sort | comm -23 /root/base/group - | sed 's/^/lost in group: /'
[ ! -e /etc/fstab ] || grep -v '^ *#' /etc/fstab | awk 'NF > 0 && (NF < 4 || NF > 6)' | cut -c1-100 | sed 's/^/broken in fstab: /'
awk '$1 !~ /^#/ && NF > 0 && (NF < 2 || $1 !~ /[.:]/)' /etc/hosts | cut -c1-100 | sed 's/^/broken in hosts: /'
case $1 in *sudo*) visudo -c -q 2>&1 | head -3;; *sshd*|*ssh*) sshd -t 2>&1 | head -3;; esac
`

// runScript applies all cases, and has their absence applied, one after the other.
const runScript = `
cd /root/hostile; : > wrong; applied=0; well=0
try() {
  timeout -s KILL 120 tenet apply --yes --quiet $1 > out 2>&1 < /dev/null; status=$?; applied=$((applied+1))
  case $status in 0) well=$((well+1));; 1|3) ;; *) echo "$1: exit status $status: $(tail -c 300 out | tr '\n' ' ')" >> wrong;; esac
  grep -q -e panic -e goroutine out && echo "$1: $(grep -m1 -A3 -e panic out | tr '\n' ' ')" >> wrong
  return $status
}
for d in cases/*; do
  for site in $d/[0-9]*; do
    try $site && [ -e $site/absent ] && try $site/absent
  done
  sh check.sh $d 2>&1 | sed "s|^|$d: |" >> wrong
done
echo "$applied applies, of which $well ended well"
`
