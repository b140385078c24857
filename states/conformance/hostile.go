package conformance

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Hostile tries each text of a module, on top of the values of an example, with
// values that are meant to break out. The module refuses them or fails, or it takes
// them for what they are. In every case:
//
//   - no program is started that is not started for ordinary values, no text stands
//     where a program looks for options, none reaches a shell, and no secret stands in
//     a command line, which all users of a host can read;
//   - nothing is changed but what ordinary values change, and what the text names
//     as it is written;
//   - files below /etc keep the lines of others, and no text makes further lines;
//   - the values converge, and can be made absent.
//
// The example itself must be possible.
func Hostile(t T, s Suite, e Example) {
	before := snapshot(t, s.Host(t))
	for _, a := range s.Module.Attributes {
		if a.Out || slices.Contains(e.Trusted, a.Name) || len(a.Enum) > 0 || len(hostileValues(a, "x", nil)) == 0 {
			continue
		}
		x := &experiment{suite: s, example: e, attribute: a, before: before, usual: newOrdinary()}
		x.ordinary(t)
		for _, text := range hostileTexts() {
			if x.try(t, text) {
				break // others would say the same again
			}
		}
	}
}

// The line that hostile texts try to bring into files, and the file that they try
// to make.
const (
	foreignLine = "tenet-hostile::0:0::/:/bin/sh"
	foreignFile = "/tenet-hostile"
)

func hostileTexts() []string {
	return []string{
		"", " ", "-x", "..", "../../etc/passwd", "/..", "/tmp/../etc/tenet-hostile", "a/../../etc/x", "//etc//x",
		".", "--tenet-hostile", "-oProxyCommand=touch " + foreignFile, "-",
		"a\n" + foreignLine, "a\r\n" + foreignLine, "a\r" + foreignLine, foreignLine + "\n", "a\n\n[hostile]\nx=y",
		"a\x00b", "\x00", "\xff\xfea", "a\u0301", "\u202eabc", "\u2028a", "ü",
		"a:b", "a,b", "a=b", "#a", "a b", "a\tb", "*", "a'b", `a"b`, "a\\", "!a", "%s%n%d", "%i%h", "${HOME}", "~root", "@a",
		"$(touch " + foreignFile + ")", "`touch " + foreignFile + "`", "'; touch " + foreignFile + "; '", `"; touch ` + foreignFile + `; "`,
		"|touch " + foreignFile, "a;touch " + foreignFile, "a&touch " + foreignFile, "/srv/$(id);'\" x",
		strings.Repeat("a", 300), "/srv/" + strings.Repeat("a/", 300) + "a", strings.Repeat("a", 1<<20),
	}
}

// hostileValues puts the text into values of the attribute's kind: alone, and, where
// there can be several, beside the usual ones and as a name.
func hostileValues(a states.Attribute, text string, usual any) []any {
	switch a.Kind {
	case states.KindString, states.KindContent, states.KindAny:
		return []any{text}
	case states.KindList, states.KindSet:
		values := []any{[]any{text}}
		if list, ok := plain(usual).([]any); ok && len(list) > 0 {
			values = append(values, append(slices.Clone(list), text))
		}
		return values
	case states.KindMap:
		values := []any{map[string]any{"key": text}, map[string]any{text: "x"}}
		if m, ok := plain(usual).(map[string]any); ok && len(m) > 0 {
			more := maps.Clone(m)
			for name := range more {
				more[name] = text
			}
			values = append(values, more)
		}
		return values
	}
	return nil
}

// ordinary is what a part does whose values mean no harm.
type ordinary struct {
	programs map[string]bool
	paths    map[string]bool
	lost     map[string]map[string]int // path → lines of others that are gone
}

func newOrdinary() *ordinary {
	return &ordinary{programs: map[string]bool{}, paths: map[string]bool{}, lost: map[string]map[string]int{}}
}

// experiment tries one attribute.
type experiment struct {
	suite     Suite
	example   Example
	attribute states.Attribute
	before    map[string]string // the fresh host
	usual     *ordinary
}

// with gives the example's values with another one for the attribute.
func (x *experiment) with(value any) Case {
	values := maps.Clone(x.example.Values)
	values[x.attribute.Name] = value
	return Case{Values: values}
}

// ordinary carries out what means no harm, and learns from it.
func (x *experiment) ordinary(t T) {
	cases := []Case{{Values: x.example.Values}}
	for _, text := range []string{"tenet", "/srv/tenet", "1"} {
		for _, value := range hostileValues(x.attribute, text, x.example.Values[x.attribute.Name]) {
			cases = append(cases, x.with(value))
		}
	}
	for i, c := range cases {
		r := &runner{t: t, suite: x.suite, c: c}
		if _, err := r.decode(); err != nil && i > 0 {
			continue
		}
		h := &watched{Host: x.suite.Host(t), t: t}
		d := r.carryOut(h, states.Present)
		if i == 0 && d.err != nil {
			t.Fatalf("the values that are to be hostile are not possible as they are: %v", d.err)
		}
		x.usual.learn(x.before, snapshot(t, h), h)
		if x.suite.Module.Remove != nil && d.err == nil {
			r.carryOut(h, states.Absent)
			x.usual.learn(x.before, snapshot(t, h), h)
		}
	}
}

// learn takes over what has been done.
func (o *ordinary) learn(before, after map[string]string, h *watched) {
	for _, argv := range h.started {
		o.programs[argv[0]] = true
	}
	for _, p := range changedPaths(before, after) {
		o.paths[p] = true
		lost := map[string]int{}
		for line, n := range linesOf(before[p]) {
			if gone := n - linesOf(after[p])[line]; gone > 0 {
				lost[line] = gone
			}
		}
		for line, n := range lost {
			if o.lost[p] == nil {
				o.lost[p] = map[string]int{}
			}
			o.lost[p][line] = max(o.lost[p][line], n)
		}
	}
}

// try carries out one text in every form, and reports whether something is wrong.
func (x *experiment) try(t T, text string) bool {
	bad := false
	for _, value := range hostileValues(x.attribute, text, x.example.Values[x.attribute.Name]) {
		wrong := Collect(t.Context(), func(t T) { x.carryOut(t, x.with(value), text) })
		for _, message := range wrong {
			t.Errorf("attribute %s = %.60q: %.600s", x.attribute.Name, text, message)
		}
		bad = bad || len(wrong) > 0
	}
	return bad
}

func (x *experiment) carryOut(t T, c Case, text string) {
	m := x.suite.Module
	r := &runner{t: t, suite: x.suite, c: c}
	if _, err := r.decode(); err != nil {
		readableError(t, err)
		return
	}
	h := &watched{Host: x.suite.Host(t), t: t, text: text, secret: x.attribute.Sensitive}
	first := r.carryOut(h, states.Present)
	after := snapshot(t, h)
	x.judge(t, text, h, after)
	if first.err != nil || m.IsAct() {
		return
	}
	again := r.carryOut(h, states.Present)
	if again.err != nil || again.action != "" {
		t.Errorf("carried out again: changes %v, error %v", again.changes, again.err)
	}
	if m.Remove == nil {
		return
	}
	if gone := r.carryOut(h, states.Absent); gone.err != nil {
		t.Errorf("absent: %v", gone.err)
	} else if again := r.carryOut(h, states.Absent); again.err != nil || again.action != "" {
		t.Errorf("absent again: changes %v, error %v", again.changes, again.err)
	}
	x.judge(t, text, h, snapshot(t, h))
}

// readableError wants an error that somebody can read, however large the text is.
func readableError(t T, err error) {
	const most = 16 << 10
	if err != nil && len(err.Error()) > most {
		t.Errorf("the error has %d bytes: it repeats the text: %.300s", len(err.Error()), err.Error())
	}
}

// judge looks at what a hostile text has done.
func (x *experiment) judge(t T, text string, h *watched, after map[string]string) {
	for _, argv := range h.started {
		if !x.usual.programs[argv[0]] {
			t.Errorf("it starts the program %.80q, which ordinary values do not", argv[0])
		}
	}
	for _, p := range changedPaths(x.before, after) {
		if p == foreignFile || !x.usual.paths[p] && !names(text, p) {
			t.Errorf("it changes %.200q, which ordinary values do not", p)
		}
		if strings.HasPrefix(p, "/etc/") {
			x.judgeLines(t, p, after[p])
		}
	}
	judgeAccounts(t, x.before, after)
	if x.suite.Intact != nil {
		x.suite.Intact(t, h)
	}
}

// names reports whether the text names the path, or something below or above it, as
// it is written.
func names(text, p string) bool {
	switch {
	case text == "", text == ".", text == "..":
		return false
	case strings.HasPrefix(text, "/"):
		text = path.Clean(text)
		return p == text || strings.HasPrefix(p, text+"/") || strings.HasPrefix(text, p+"/")
	}
	return strings.Contains(p, text)
}

// judgeLines wants the lines of others in a file, and no lines made by a text.
func (x *experiment) judgeLines(t T, p, after string) {
	have := linesOf(after)
	for line, n := range linesOf(x.before[p]) {
		if have[line] < n-x.usual.lost[p][line] {
			t.Errorf("%s has lost the line %.200q", p, line)
		}
	}
	if x.attribute.Kind == states.KindContent || slices.Contains(x.example.Lines, x.attribute.Name) {
		return
	}
	for line := range have {
		if strings.HasPrefix(line, foreignLine) || line == "[hostile]" {
			t.Errorf("%s has got a line of its own: %q", p, line)
		}
	}
}

// linesOf counts the lines of a file, as a snapshot describes it.
func linesOf(described string) map[string]int {
	lines := map[string]int{}
	if parts := strings.SplitN(described, " ", 4); len(parts) == 4 && parts[0] == string(host.Regular) {
		for _, line := range strings.FieldsFunc(parts[3], func(r rune) bool { return r == '\n' || r == '\r' }) {
			lines[line]++
		}
	}
	return lines
}

func changedPaths(before, after map[string]string) []string {
	var out []string
	for p, text := range after {
		if before[p] != text {
			out = append(out, p)
		}
	}
	for p := range before {
		if _, there := after[p]; !there {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

// judgeAccounts holds the files that decide who may log in, and what is mounted, to
// their form.
func judgeAccounts(t T, before, after map[string]string) {
	for _, f := range []struct {
		path     string
		min, max int
		by       func(rune) bool
	}{
		{"/etc/passwd", 7, 7, isColon}, {"/etc/group", 4, 4, isColon},
		{"/etc/shadow", 9, 9, isColon}, {"/etc/gshadow", 4, 4, isColon},
		{"/etc/fstab", 4, 6, nil}, {"/etc/hosts", 2, 1 << 10, nil},
	} {
		if before[f.path] == after[f.path] {
			continue
		}
		for line := range linesOf(after[f.path]) {
			fields := strings.Count(line, ":") + 1
			if f.by == nil {
				line, _, _ := strings.Cut(line, "#")
				fields = len(strings.Fields(line))
			}
			if fields > 0 && (fields < f.min || fields > f.max) {
				t.Errorf("%s has a line of %d fields: %.200q", f.path, fields, line)
			}
		}
	}
}

func isColon(r rune) bool { return r == ':' }
