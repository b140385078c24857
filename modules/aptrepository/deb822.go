package aptrepository

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/runtime/host"
)

// render gives the file of a source, in the form of sources.list(5) that is called
// deb822.
func render(r Repository, signedBy string) string {
	var b strings.Builder
	field := func(name string, values ...string) {
		if len(values) > 0 && values[0] != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(values, " "))
		}
	}
	b.WriteString("# Written by tenet, which undoes changes made here.\n")
	field("Types", r.Types...)
	field("URIs", r.URIs...)
	field("Suites", r.Suites...)
	field("Components", r.Components...)
	field("Architectures", r.Architectures...)
	field("Signed-By", signedBy)
	if r.Enabled != nil && !*r.Enabled {
		field("Enabled", "no")
	}
	if check.True(r.Trusted) {
		field("Trusted", "yes")
	}
	return b.String()
}

// parse reads such a file. What a part cannot say makes it foreign.
func parse(text string) *Repository {
	r := &Repository{
		URIs: []string{}, Suites: []string{}, Components: []string{}, Types: []string{}, Architectures: []string{},
		SignedBy: new(host.Text("")), Enabled: new(true), Trusted: new(false),
	}
	fields, stanzas := fieldsOf(text)
	if stanzas != 1 {
		r.foreign = fmt.Sprintf("%d sources", stanzas)
	}
	for _, f := range fields {
		value := strings.Join(f.lines, "\n")
		words := strings.Fields(value)
		switch strings.ToLower(f.name) {
		case "types":
			r.Types = words
		case "uris":
			r.URIs = words
		case "suites":
			r.Suites = words
		case "components":
			r.Components = words
		case "architectures":
			r.Architectures = words
		case "signed-by":
			r.SignedBy = new(host.Text(signedBy(value)))
		case "enabled":
			r.Enabled = new(!slices.Contains([]string{"no", "false", "without", "off", "disable"}, strings.ToLower(value)))
		case "trusted":
			r.Trusted = new(slices.Contains([]string{"yes", "true", "with", "on", "enable"}, strings.ToLower(value)))
		case "x-repolib-name", "description":
		default:
			if r.foreign == "" {
				r.foreign = "the field " + f.name
			}
		}
	}
	return r
}

type field struct {
	name  string
	lines []string
}

// fieldsOf gives the fields of the first stanza, and counts all stanzas.
func fieldsOf(text string) (fields []field, stanzas int) {
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.TrimSpace(line) == "":
			inside = false
		case line[0] == ' ' || line[0] == '\t':
			if stanzas == 1 && len(fields) > 0 {
				last := &fields[len(fields)-1]
				last.lines = append(last.lines, strings.TrimSpace(line))
			}
		default:
			if !inside {
				inside = true
				stanzas++
			}
			if name, value, ok := strings.Cut(line, ":"); ok && stanzas == 1 {
				fields = append(fields, field{name, []string{strings.TrimSpace(value)}})
			} else if stanzas == 1 {
				fields = append(fields, field{name: line})
			}
		}
	}
	return fields, stanzas
}

// signedBy gives the path, or the key that stands in the file itself, where a dot
// stands for an empty line.
func signedBy(value string) string {
	if !strings.Contains(value, beginKey) {
		return value
	}
	lines := strings.Split(strings.TrimSpace(value), "\n")
	for i := range lines {
		if lines[i] == "." {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n") + "\n"
}
