package testcase

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/simulated"
)

// machine makes the description of a machine. Nil is a plain one.
func (d *decoder) machine(b *block, shared map[string]*machineBlock) *machineBlock {
	m := &machineBlock{places: map[string]diag.Range{}}
	if b == nil {
		return m
	}
	m.at = b.at
	if like, ok := get[string](b, "like"); ok {
		m.takeFrom(d.like(b, like, shared))
	}
	if apt, ok := get[bool](b, "apt"); ok {
		m.NoApt = !apt
	}
	if systemd, ok := get[bool](b, "systemd"); ok {
		m.NoSystemd = !systemd
	}
	here := map[string]diag.Range{}
	var commands []simulated.Command
	var answers []simulated.Answer
	for _, t := range b.blocks {
		name := t.word + " " + t.label
		switch t.word {
		case "command":
			m.places[name] = t.at
			commands = append(commands, command(t))
			continue
		case "answer":
			answers = append(answers, answer(t))
			continue
		case "port":
			m.Ports = append(m.Ports, simulated.Port{Address: t.label, Exists: the[string](t, "exists"), Missing: the[string](t, "missing")})
			continue
		}
		if first, twice := here[name]; twice {
			d.twice(t, "the "+t.word, first)
		}
		here[name], m.places[name] = t.at, t.at
		m.add(t)
	}
	m.Commands = append(commands, m.Commands...)
	m.Answers = append(answers, m.Answers...)
	return m
}

func (d *decoder) like(b *block, name string, shared map[string]*machineBlock) *machineBlock {
	if m := shared[name]; m != nil {
		return m
	}
	kinds := simulated.KindNames()
	if slices.Contains(kinds, name) {
		return &machineBlock{Machine: simulated.Machine{Like: name}}
	}
	hint := diag.DidYouMean(name, append(slices.Sorted(maps.Keys(shared)), kinds...))
	if hint == "" {
		hint = fmt.Sprintf("there are %s; or write machine %q { … } before it, outside of cases", strings.Join(kinds, ", "), name)
	}
	d.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("there is no machine %q to be like", name), Hint: hint, Range: b.fields["like"].at})
	return &machineBlock{}
}

// takeFrom begins with what another machine has.
func (m *machineBlock) takeFrom(o *machineBlock) {
	m.Machine = o.Machine
	m.places = map[string]diag.Range{}
	maps.Copy(m.places, o.places)
	m.Files, m.Directories, m.Links = maps.Clone(o.Files), maps.Clone(o.Directories), maps.Clone(o.Links)
	m.Packages, m.Services = maps.Clone(o.Packages), maps.Clone(o.Services)
	m.Users, m.Groups = maps.Clone(o.Users), maps.Clone(o.Groups)
	m.Ports = slices.Clone(o.Ports)
}

// add puts one described thing on the machine.
func (m *machineBlock) add(b *block) {
	switch b.word {
	case "file":
		put(&m.Files, b.label, simulated.File{Content: the[string](b, "content"), Meta: meta(b)})
	case "directory":
		put(&m.Directories, b.label, simulated.Directory{Meta: meta(b)})
	case "link":
		put(&m.Links, b.label, the[string](b, "target"))
	case "package":
		put(&m.Packages, b.label, simulated.Package{
			Installed: installedVersion(b), Held: the[bool](b, "held"), Available: the[[]string](b, "available"),
			Files: the[map[string]string](b, "files"), Links: the[map[string]string](b, "links"), Services: the[[]string](b, "services"),
		})
	case "service":
		put(&m.Services, b.label, simulated.Service{
			Running: the[bool](b, "running"), Enabled: the[bool](b, "enabled"), Masked: the[bool](b, "masked"),
			Unit: the[string](b, "unit"),
		})
	case "user":
		put(&m.Users, b.label, simulated.User{
			UID: optional(b, "uid"), Group: the[string](b, "group"), Groups: the[[]string](b, "groups"),
			Comment: the[string](b, "comment"), Home: the[string](b, "home"), Shell: the[string](b, "shell"),
			Password: the[string](b, "password"),
		})
	case "group":
		put(&m.Groups, b.label, simulated.Group{GID: optional(b, "gid"), Members: the[[]string](b, "members")})
	}
}

func put[T any](m *map[string]T, name string, v T) {
	if *m == nil {
		*m = map[string]T{}
	}
	(*m)[name] = v
}

func optional(b *block, name string) *int {
	if n, ok := get[int](b, name); ok {
		return &n
	}
	return nil
}

func meta(b *block) simulated.Meta {
	m := simulated.Meta{Owner: the[string](b, "owner"), Group: the[string](b, "group")}
	if mode, ok := get[fs.FileMode](b, "mode"); ok {
		m.Mode = &mode
	}
	return m
}

// installedVersion gives the version of a package before a case.
func installedVersion(b *block) string {
	v := the[string](b, "installed")
	if v != anyVersion {
		return v
	}
	if available := the[[]string](b, "available"); len(available) > 0 {
		return available[len(available)-1]
	}
	return "1.0"
}

// command makes a program's answer.
func command(b *block) simulated.Command {
	c := simulated.Command{
		Name: b.label, Argv: the[[]string](b, "argv"), ExitCode: the[int](b, "exit_code"),
		Stdout: the[string](b, "stdout"), Stderr: the[string](b, "stderr"),
		Creates: the[map[string]string](b, "creates"), Removes: the[[]string](b, "removes"),
		Exists: the[string](b, "exists"), Missing: the[string](b, "missing"), Package: the[string](b, "package"),
	}
	if shell, ok := get[string](b, "shell"); ok {
		c.Argv = []string{"/bin/sh", "-c", shell}
	}
	return c
}

// answer makes what somebody on the network answers.
func answer(b *block) simulated.Answer {
	return simulated.Answer{
		URL: b.label, Method: the[string](b, "method"), Status: the[int](b, "status"),
		Header: the[map[string]string](b, "headers"), Body: the[string](b, "body"),
		Exists: the[string](b, "exists"), Missing: the[string](b, "missing"),
	}
}

// diagnose gives the mistake in a description its place.
func (m *machineBlock) diagnose(err error, c *Case) diag.Diagnostic {
	at, hint := c.Range, "change the description of the machine"
	var wrong *simulated.DescriptionError
	if errors.As(err, &wrong) {
		if place, ok := m.places[wrong.Kind+" "+wrong.Name]; ok {
			at = place
		}
	}
	return diag.Diagnostic{Severity: diag.Error, Summary: err.Error(), Hint: hint, Range: at}
}
