package webpage_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/internal/ui/webpage"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/states"
)

var update = flag.Bool("update", false, "rewrite the page that is expected")

// planOf plans an example on a simulated machine.
func planOf(t *testing.T, example string, m simulated.Machine) webpage.Page {
	t.Helper()
	site, list := lang.Load(os.DirFS(example), lang.Options{Registry: modules.Standard()})
	if len(list) > 0 {
		t.Fatal(list)
	}
	machine, err := simulated.New(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	facts, err := simulated.Facts(machine, nil)
	if err != nil {
		t.Fatal(err)
	}
	declarations, list := site.Evaluate(t.Context(), lang.Target{Host: "web1", Facts: facts.Fact})
	if len(list) > 0 {
		t.Fatal(list)
	}
	result, list := graph.Compile(declarations, graph.Options{Registry: site.Registry()})
	if len(list) > 0 {
		t.Fatal(list)
	}
	p := pageOf(result.Run)
	_, err = runtime.Plan(t.Context(), result.Run, runtime.Options{Host: machine, Registry: site.Registry(), Site: site.Files(),
		Events: func(ev states.Event) {
			if ev.Type != states.EventRun && ev.Type != states.EventSummary {
				p.Hosts[0].Rows = append(p.Hosts[0].Rows, ev)
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// pageOf is a page of one host.
func pageOf(run *states.StateRun) webpage.Page {
	p := webpage.Page{Site: "shop", Program: "1.2.3", Created: time.Unix(1_800_000_000, 0), Revision: run.Revision, Hosts: []webpage.Host{{Name: "web1"}},
		Runs: func(yield func(*states.StateRun) bool) { yield(run) }}
	for i := range run.Invocations {
		if run.Invocations[i].Handler {
			p.Hosts[0].Handlers = append(p.Hosts[0].Handlers, run.Invocations[i].Address)
		}
	}
	return p
}

func write(t *testing.T, p webpage.Page) string {
	t.Helper()
	var out bytes.Buffer
	if err := webpage.Write(&out, p); err != nil {
		t.Fatal(err)
	}
	check(t, out.String())
	return out.String()
}

// check reports what a page must not have: something from elsewhere, a script,
// or an element that does not end.
func check(t *testing.T, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	ids, links, policy, scripts := map[string]bool{}, []string{}, "", 0
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("it is not well-formed: %v", err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch start.Name.Local {
		case "script":
			scripts++
			var text string
			if inner, err := d.Token(); err == nil {
				data, _ := inner.(xml.CharData)
				text = string(data)
			}
			digest := sha256.Sum256([]byte(text))
			if !strings.Contains(policy, "script-src 'sha256-"+base64.StdEncoding.EncodeToString(digest[:])+"'") {
				t.Errorf("a script is not the one that may run: %.80s", text)
			}
		case "link", "img", "iframe", "object", "embed", "image", "use", "foreignObject", "form", "base", "frame", "video", "audio":
			t.Errorf("there is a <%s>", start.Name.Local)
		}
		for _, a := range start.Attr {
			name := strings.ToLower(a.Name.Local)
			switch {
			case name == "src", name == "style", strings.HasPrefix(name, "on"):
				t.Errorf("<%s> has %s=%q", start.Name.Local, name, a.Value)
			case name == "content" && strings.HasPrefix(a.Value, "default-src 'none'"):
				policy = a.Value
			case name == "href":
				links = append(links, a.Value)
			case name == "id":
				ids[a.Value] = true
			case name != "xmlns" && a.Name.Space != "xmlns" && strings.Contains(a.Value, "://"):
				t.Errorf("<%s> has %s=%q", start.Name.Local, name, a.Value)
			}
		}
	}
	if scripts != 1 || strings.Contains(policy, "script-src 'unsafe") {
		t.Errorf("there are %d scripts, and the policy is %q", scripts, policy)
	}
	for _, l := range links {
		if !strings.HasPrefix(l, "#") || !ids[l[1:]] {
			t.Errorf("a link leads to %q", l)
		}
	}
	if style := text[strings.Index(text, "<style>"):strings.Index(text, "</style>")]; strings.Contains(style, "url(") || strings.Contains(style, "@import") {
		t.Error("the style takes something from elsewhere")
	}
}

func TestPageOfNginx(t *testing.T) {
	got := write(t, planOf(t, "../../../examples/nginx", simulated.Machine{
		Packages: map[string]simulated.Package{"nginx": {Installed: "1.22.1-9", Services: []string{"nginx"}, Files: map[string]string{"/etc/nginx/sites-enabled/default": "server {}\n"}}},
	}))
	begin, end := strings.Index(got, "<style>"), strings.Index(got, "</style>")
	got = got[:begin] + "<style>/* that of all pages */" + got[end:]
	const golden = "testdata/nginx.html"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || got != string(want) {
		t.Errorf("the page is another one than %s: %v", golden, err)
	}
}

// plan is that of one host.
type plan struct {
	Site, Host, Program string
	Run                 *states.StateRun
	Rows                []states.Event
}

func (p *plan) page() webpage.Page {
	out := pageOf(p.Run)
	out.Site, out.Program, out.Hosts[0].Name, out.Hosts[0].Rows = p.Site, p.Program, p.Host, p.Rows
	return out
}

// run makes a run of one invocation for each address, with a row for each.
func run(addresses []string, action states.Action) *plan {
	p := &plan{Run: &states.StateRun{}}
	for _, a := range addresses {
		p.Run.Invocations = append(p.Run.Invocations, states.Invocation{Address: a, Parts: []states.Part{{Address: a, Type: "file"}}})
		p.Rows = append(p.Rows, states.Event{Type: states.EventPart, Address: a, Invocation: a, Action: action, Certain: new(true)})
	}
	return p
}

// Whatever stands in addresses, diffs and outputs, it is text.
func TestHostileTextStaysText(t *testing.T) {
	for _, text := range []string{
		`</script><script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `javascript:alert(1)`,
		`</pre></details><h1>x`, `<!--`, `]]>`, `{{.}}`, "\x00\x1b[31m\x07", "\u202egpj.exe", "\xff\xfe", `&lt;b&gt;`, "</style>", "\ufffe", "a\r\nb",
	} {
		p := run([]string{text, "other " + text}, states.Update)
		p.Site, p.Host, p.Program = text, text, text
		p.Run.Invocations[1].Requires = []string{text}
		p.Run.Blocks = []states.Block{{Address: "block " + text, Members: []string{text}}}
		p.Rows[0].Changes = []states.Change{
			{Attribute: text, From: text, To: text + "!"}, {Attribute: "content", Diff: "@@ -1 +1 @@\n-" + text + "\n+" + text + "\n"}, {Attribute: "list", To: []any{text}},
		}
		p.Rows[0].Key, p.Rows[0].Reason, p.Rows[0].Certain = text, text, new(false)
		p.Rows[1].Outcome, p.Rows[1].Error = states.Failed, &states.Failure{Message: text, Hint: text}
		p.Rows = append(p.Rows,
			states.Event{Type: states.EventPart, Address: "print", Invocation: "print", Action: states.NoChange, Output: text, Reason: text},
			states.Event{Type: states.EventUnknown, Address: text, Reason: text}, states.Event{Type: states.EventDropped, Address: text, Reason: text},
			states.Event{Type: states.EventOrphan, Address: text, Part: text, Key: text, Reason: text},
			states.Event{Type: states.EventConfirm, Address: text, Reason: text}, states.Event{Type: states.EventConfirm, Address: text, Run: text, Reason: text})
		several := p.page()
		other := several.Hosts[0]
		other.Name, other.Status, other.Problem = "other "+text, text, &states.Failure{Message: text, Hint: text}
		other.Rows = slices.Clone(other.Rows)
		other.Rows[0].Reason += "!"
		several.Hosts = append(several.Hosts, other)
		for _, page := range []webpage.Page{p.page(), several} {
			got := write(t, page)
			if !strings.Contains(got, "<h2>To be confirmed</h2>") {
				t.Error("the page does not say what is to be confirmed")
			}
			for _, raw := range []string{"<script>alert", "<img", "\u202e", "\x1b", "\x00", "<h1>x", "<!--"} {
				if strings.Contains(got, raw) {
					t.Errorf("%q: there is %q in the page", text, raw)
				}
			}
		}
	}
}

// A graph that is too large for a drawing says what it leaves out.
func TestLargeGraphs(t *testing.T) {
	many := func(format string, n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf(format, i))
		}
		return list
	}
	began := time.Now()
	small := run(many("state.s%d", 200), states.Create)
	if got := write(t, small.page()); strings.Contains(got, "nodes.") || strings.Count(got, "<rect") != 200 {
		t.Errorf("200 nodes: %d boxes", strings.Count(got, "<rect"))
	}
	// Of 5,000 in a chain two act: a link between them stands for the way.
	chain := run(many("state.s%d", 5000), states.NoChange)
	for i := 1; i < 5000; i++ {
		chain.Run.Invocations[i].Requires = []string{fmt.Sprintf("state.s%d", i-1)}
	}
	chain.Rows[10].Action, chain.Rows[4990].Action = states.Update, states.Create
	got := write(t, chain.page())
	if !strings.Contains(got, "The graph has 5000 nodes. Only what would act is drawn.") || strings.Count(got, "<rect") != 2 ||
		!strings.Contains(got, "state.s10 → state.s4990 (comes before)") {
		t.Errorf("a chain: %d boxes", strings.Count(got, "<rect"))
	}
	// Instances of one declaration become one box.
	files := run(append(many(`file["/%d"]`, 600), many(`state.web["%d"]`, 600)...), states.Create)
	if got := write(t, files.page()); !strings.Contains(got, "in groups of the same kind") || !strings.Contains(got, "file ×600") || !strings.Contains(got, "state.web ×600") {
		t.Error("groups are not drawn")
	}
	if got := write(t, run(many("state.s%d", 1000), states.Create).page()); !strings.Contains(got, "too many for a drawing") || strings.Contains(got, "<rect") {
		t.Error("1000 kinds are drawn")
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it takes %s", took)
	}
}

// What is no row of a part stands where it belongs.
func TestSections(t *testing.T) {
	p := run([]string{"a", "b"}, states.NoChange)
	p.Rows[0].Action = states.Remove
	p.Rows = append(p.Rows,
		states.Event{Type: states.EventStart, Address: "state.h", Owed: []states.Debt{{Handler: "state.h", Notifier: "file.n", Run: "00000007-abcdef", Why: states.Changed}}},
		states.Event{Type: states.EventOrphan, Address: "file.old", Part: "file", Key: "/old", Reason: "no module"},
		states.Event{Type: states.EventConfirm, Address: "block.x", Reason: "if it answers"},
		states.Event{Type: states.EventInvocation, Address: "state.sum", Outcome: states.Changed})
	got := write(t, p.page())
	for _, in := range [][2]string{
		{"Left by earlier runs", "owed since run 00000007-abcdef: file.n changed"}, {"No longer declared", "/old"},
		{"What would be done", "<b>a</b>"}, {"To be confirmed", "if it answers"}, {"What stays as it is", ">b "},
	} {
		_, section, found := strings.Cut(got, "<h2>"+in[0]+"</h2>")
		section, _, _ = strings.Cut(section, "<h2>")
		if !found || !strings.Contains(section, in[1]) {
			t.Errorf("%q is not below %q", in[1], in[0])
		}
	}
	if strings.Contains(got, "state.sum") {
		t.Error("an invocation is a row")
	}
}
