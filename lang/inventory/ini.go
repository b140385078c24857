package inventory

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/lang/diag"
)

var (
	section = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\[([^:\]\s]+)(?::(\w+))?\]\s*(?:#.*)?$`)
	})
	groupName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([^:\]\s]+)\s*(?:#.*)?$`)
	})
)

// ini reads an inventory of Ansible in the form of an INI file.
type ini struct {
	*tree
	*diag.Text
	kind           string // of the section: "hosts", "children" or "vars"
	current        *group // nil: its name was none
	declaredGroups map[string]bool
	mentions       map[string]mention // that must be declared
}

// mention is where a group is named first that is not declared by that.
type mention struct {
	src  diag.Range
	text string
}

func (t *tree) ini(s *diag.Text) {
	p := &ini{tree: t, Text: s, kind: "hosts", current: t.groups[Ungrouped],
		declaredGroups: map[string]bool{All: true, Ungrouped: true}, mentions: map[string]mention{}}
	for number := range s.Lines() {
		from, to := s.Bounds(number + 1)
		text := strings.TrimSpace(string(s.Data[from:to]))
		if text != "" && text[0] != '#' && text[0] != ';' {
			p.entry(text, s.Line(number+1))
		}
	}
	var missing []mention
	for name, m := range p.mentions {
		if !p.declaredGroups[name] {
			missing = append(missing, m)
		}
	}
	slices.SortFunc(missing, func(a, b mention) int { return a.src.Start.Byte - b.src.Start.Byte })
	for _, m := range missing {
		t.errorAt(m.src, "declare it: a line [NAME], with its hosts below", "%s", m.text)
	}
}

// entry reads one line that is not empty.
func (p *ini) entry(text string, src diag.Range) {
	if m := section().FindStringSubmatch(text); m != nil {
		p.section(m[1], m[2], src)
		return
	}
	if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") && !isRange(text) {
		p.errorAt(src, "write [NAME], [NAME:children] or [NAME:vars]", "%s is no section", text)
		p.current = nil
		return
	}
	if p.current == nil || p.full {
		return
	}
	switch p.kind {
	case "hosts":
		p.hostLine(text, src)
	case "children":
		m := groupName().FindStringSubmatch(text)
		if m == nil {
			p.errorAt(src, "a section :children holds one name of a group in each line", "%q is no name for a group", text)
			return
		}
		if g := p.group(m[1], src); g != nil {
			p.current.addChild(m[1])
			p.mention(m[1], src, "the group "+m[1]+" is not declared")
		}
	case "vars":
		name, text, ok := strings.Cut(text, "=")
		if !ok {
			p.errorAt(src, "write NAME=VALUE", "a variable is missing its value")
			return
		}
		p.setGroup(p.current, strings.TrimSpace(name), value{literal(strings.TrimSpace(text)), src})
	}
}

func (p *ini) mention(name string, src diag.Range, text string) {
	if _, known := p.mentions[name]; !known {
		p.mentions[name] = mention{src, text}
	}
}

func (p *ini) section(name, kind string, src diag.Range) {
	p.kind, p.current = kind, nil
	switch kind {
	case "":
		p.kind = "hosts"
		p.declaredGroups[name] = true
	case "children":
		p.declaredGroups[name] = true
	case "vars":
		p.mention(name, src, "the group "+name+" is not declared, and has variables")
	default:
		p.errorAt(src, "write [NAME], [NAME:children] or [NAME:vars]", "%q is no kind of section", kind)
		return
	}
	p.current = p.group(name, src)
}

// hostLine reads a host, or several by a range, with its variables.
func (p *ini) hostLine(text string, src diag.Range) {
	tokens, err := words(text)
	if err != nil {
		p.errorAt(src, "put a backslash before a quote that is meant as it stands", "the line cannot be read: %v", err)
		return
	}
	if len(tokens) == 0 { // the line is not empty, and no comment
		tokens = []string{""}
	}
	if tokens[0] == "---" {
		p.errorAt(src, "name the file *.yml", "this is YAML, and no INI file")
		return
	}
	names, port, err := expand(tokens[0])
	if err != nil {
		p.errorAt(src, "write web[01:20] or db-[a:f]", "%s names no hosts: %v", tokens[0], err)
		return
	}
	vars := map[string]value{}
	for _, token := range tokens[1:] {
		name, text, ok := strings.Cut(token, "=")
		if !ok {
			p.errorAt(src, "write NAME=VALUE, with quotes around a value that holds spaces", "%q is no variable of a host", token)
			return
		}
		vars[name] = value{literal(text), src}
	}
	p.setHosts(names, port, p.current, vars, src)
}
