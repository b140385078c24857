package testcase

import (
	"maps"
	"slices"
)

// kind is what an attribute of a case holds.
type kind int

const (
	text          kind = iota // string
	flag                      // bool
	number                    // int
	textList                  // []string
	textMap                   // map[string]string
	fileMode                  // fs.FileMode
	pattern                   // *regexp.Regexp
	patterns                  // []*regexp.Regexp
	version                   // string; true is some version, false none
	plain                     // map[string]any of plain values
	hostKnowledge             // map[string]any, by host: map[string]any with the keys facts and outputs
	addresses                 // []item without values
	rows                      // []item with a string each
	reasons                   // []item with a *regexp.Regexp each
	partList                  // []item with items, the attributes of a part, of plain values
	untilWord                 // until
	anyValue                  // a plain value
	valueList                 // []item with a plain value each
)

// shape is what a kind of block may hold.
type shape struct {
	what      string // for messages
	labels    int
	bare      bool // may stand without its label
	mayRepeat bool // may stand several times
	open      bool // takes attributes of any name, each anyValue
	fields    map[string]kind
	blocks    map[string]*shape
	elsewhere map[string]string // hints for what stands in other blocks, by name
}

func (s *shape) names() []string {
	return slices.Sorted(maps.Keys(s.fields))
}

func (s *shape) words() []string {
	return slices.Sorted(maps.Keys(s.blocks))
}

// shapeOfFile is what a file of cases holds.
func shapeOfFile() *shape {
	machine := shapeOfMachine()
	shared := *machine
	shared.what, shared.labels, shared.mayRepeat = "a shared machine", 1, true
	needs := *machine
	needs.what, needs.fields = "needs", nil
	return &shape{what: "a file of cases", blocks: map[string]*shape{
		"needs":   &needs,
		"case":    shapeOfCase(machine),
		"machine": &shared,
		"locals":  {what: "locals", mayRepeat: true},
		"module": {
			what: "the test of a module", labels: 1, mayRepeat: true,
			fields: map[string]kind{"description": text, "trusted": textList},
			blocks: map[string]*shape{
				"machine": machine,
				"example": {
					what: "an example", labels: 1, bare: true, mayRepeat: true, open: true,
					blocks: map[string]*shape{"changes": {what: "changes", open: true}},
				},
			},
		},
	}}
}

// shapeOfCase is a case, with steps that say again what differs in them.
func shapeOfCase(machine *shape) *shape {
	c := shapeOfStep()
	step := *c
	step.what = "a step"
	step.fields, step.blocks = maps.Clone(c.fields), maps.Clone(c.blocks)
	const ofCase = "write it into the case: it is the same in all steps"
	step.elsewhere = map[string]string{"host": ofCase, "machine": ofCase}
	c.fields["host"] = text
	ofHost := *machine
	ofHost.labels, ofHost.bare, ofHost.mayRepeat = 1, true, true
	c.blocks["machine"], c.blocks["step"] = &ofHost, &step
	return c
}

func shapeOfStep() *shape {
	return &shape{
		what: "a case", labels: 1, mayRepeat: true,
		fields: map[string]kind{
			"description": text, "facts": plain, "hosts": hostKnowledge, "vars": plain, "secrets": textMap, "until": untilWord,
			"target": addresses, "tags": textList, "exclude": addresses,
			"expect_error": patterns, "expect_warning": patterns,
		},
		blocks: map[string]*shape{
			"expect_run": {what: "expect_run", mayRepeat: true, fields: map[string]kind{
				"host": text, "invocations": addresses, "without": addresses, "parts": partList, "outputs": valueList, "golden": text,
			}},
			"expect_plan": {what: "expect_plan", mayRepeat: true, fields: map[string]kind{
				"host": text, "rows": rows, "changes": rows, "golden": text,
			}},
			"expect_apply": {
				what: "expect_apply", mayRepeat: true,
				fields: map[string]kind{
					"host": text, "outcomes": rows, "changed": addresses, "failures": reasons,
					"converges": flag, "repeats": addresses,
				},
				blocks: map[string]*shape{"after": shapeOfAfter()},
			},
			"expect_rollout": {what: "expect_rollout", fields: map[string]kind{"turns": textList}},
		},
	}
}

// shapeOfMachine is what describes a machine before a case.
func shapeOfMachine() *shape {
	meta := map[string]kind{"mode": fileMode, "owner": text, "group": text}
	return &shape{
		what:   "a machine",
		fields: map[string]kind{"like": text, "apt": flag, "systemd": flag},
		blocks: map[string]*shape{
			"file":      objectShape("a file", meta, map[string]kind{"content": text}),
			"directory": objectShape("a directory", meta),
			"link":      objectShape("a link", map[string]kind{"target": text}),
			"package": objectShape("a package", map[string]kind{
				"installed": version, "held": flag, "available": textList,
				"files": textMap, "links": textMap, "services": textList}),
			"service": objectShape("a service", map[string]kind{"running": flag, "enabled": flag, "masked": flag, "unit": text}),
			"user": objectShape("a user", map[string]kind{"uid": number, "group": text, "groups": textList,
				"comment": text, "home": text, "shell": text, "password": text}),
			"group": objectShape("a group", map[string]kind{"gid": number, "members": textList}),
			"command": objectShape("a command", map[string]kind{"argv": textList, "shell": text, "exit_code": number,
				"stdout": text, "stderr": text, "creates": textMap, "removes": textList,
				"exists": text, "missing": text, "package": text}),
			"answer": objectShape("an answer", map[string]kind{"method": text, "status": number, "headers": textMap,
				"body": text, "exists": text, "missing": text}),
			"port": objectShape("a port", map[string]kind{"exists": text, "missing": text}),
		},
	}
}

// shapeOfAfter is what is expected of the machine after an apply: the words that
// describe it, absence, and parts of contents.
func shapeOfAfter() *shape {
	after := &shape{what: "after", blocks: map[string]*shape{}}
	for word, s := range shapeOfMachine().blocks {
		if word == "command" || word == "answer" || word == "port" {
			continue
		}
		fields := maps.Clone(s.fields)
		fields["absent"] = flag
		switch word {
		case "file":
			fields["contains"], fields["matches"] = textList, pattern
		case "package":
			delete(fields, "available")
			delete(fields, "files")
			delete(fields, "links")
			delete(fields, "services")
		case "service":
			delete(fields, "unit")
		}
		after.blocks[word] = &shape{what: s.what, labels: 1, mayRepeat: true, fields: fields}
	}
	return after
}

func objectShape(what string, fields ...map[string]kind) *shape {
	s := &shape{what: what, labels: 1, mayRepeat: true, fields: map[string]kind{}}
	for _, f := range fields {
		maps.Copy(s.fields, f)
	}
	return s
}
