// Package sudoers is the module "sudoers": a file of rules that say who may do
// what through sudo.
package sudoers

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/owner"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Sudoers is one file of rules, wanted or observed.
type Sudoers struct {
	Name     string        `state:"name,key" doc:"Name of the file in /etc/sudoers.d: letters, digits, - and _. Sudo passes over others."`
	Content  *host.Content `state:"content" doc:"The whole file, as sudoers(5) has it. It follows from the attributes below where it is not given."`
	Users    []string      `state:"users,in" doc:"Names of users that the rule is for, or ALL."`
	Groups   []string      `state:"groups,in" doc:"Names of groups that the rule is for."`
	Hosts    []string      `state:"hosts,in" doc:"Names of the machines on which it counts; all of them by default."`
	RunAs    []string      `state:"run_as,in" doc:"Whom they may be: names of users, or ALL. It is root by default."`
	Commands []string      `state:"commands,in" doc:"What they may run: absolute paths of programs, with arguments (without any, all arguments are allowed, and with \"\" none), or ALL."`
	NoPasswd *bool         `state:"nopasswd,in" doc:"Whether they may do it without a password."`
	SetEnv   *bool         `state:"setenv,in" doc:"Whether they may choose the program's environment."`

	// What Read found of the file itself, where it is not as sudo wants it.
	mode, owner string
}

const doc = `A file in /etc/sudoers.d, checked before it is put in place.

Either content is the whole file, or users, groups and commands make one rule of it. The file belongs to root and has mode 0440.

Before anything is changed, visudo reads all that sudo will read then: /etc/sudoers and the files beside it, with the new content in its place, or without it where it is absent. So a mistake in a rule, a name that is defined twice, and a mistake that was there before are errors, with the lines that they are in, and nobody is locked out. A plan does this, too, where no earlier part changes these files.

Whether a user or program is there is not checked: sudo does not either. Of arguments, * ? [ and ] stand for others; what such a pattern may match is easily underestimated.`

const example = `sudoers "deploy" {
  users    = ["deploy"]
  commands = ["/usr/bin/systemctl reload nginx", "/usr/bin/journalctl"]
  nopasswd = true
}

sudoers "defaults" {
  content = "Defaults timestamp_timeout=5\n"
}`

// Module is the module "sudoers".
var Module = states.Define(states.Type[Sudoers]{
	Name: "sudoers", Doc: doc, Example: example, Locks: []string{"sudoers"}, Root: true,
	Validate: validate, Complete: complete, Extra: attributes,
	Read: read, Write: write, Remove: remove, Foresee: foresee, List: list,
})

func (s Sudoers) path() string { return dir + "/" + s.Name }

func validate(want Sudoers) error {
	if err := check.Name("name", want.Name, "_-"); err != nil {
		return err
	}
	if len(want.Name) > 200 {
		return states.InvalidAttribute("name", "it is longer than a name of a file can be", "")
	}
	if want.Content != nil {
		return checkContent(want)
	}
	return checkRule(want)
}

func checkContent(want Sudoers) error {
	for _, a := range []struct {
		name  string
		given bool
	}{
		{"users", want.Users != nil}, {"groups", want.Groups != nil}, {"hosts", want.Hosts != nil}, {"run_as", want.RunAs != nil},
		{"commands", want.Commands != nil}, {"nopasswd", want.NoPasswd != nil}, {"setenv", want.SetEnv != nil},
	} {
		if a.given {
			return states.InvalidAttribute(a.name, "it cannot be given beside content", "write either the whole file, or the parts of a rule")
		}
	}
	if text, inline := want.Content.Inline(); !inline || strings.Contains(text, "\x00") || strings.ContainsRune(text, '\r') {
		return states.InvalidAttribute("content", "it has more than 1 MiB, a NUL byte or a carriage return", "")
	}
	return nil
}

// complete makes the content of a rule's parts.
func complete(_ context.Context, _ host.Host, want *Sudoers) error {
	if want.Content != nil {
		return nil
	}
	if len(want.Users)+len(want.Groups) == 0 {
		return states.InvalidAttribute("content", "it is required, or users or groups with commands", `write users = ["NAME"] and commands = ["/usr/bin/PROGRAM"]`)
	}
	if len(want.Commands) == 0 {
		return states.InvalidAttribute("commands", "a rule needs the commands that it allows", `write commands = ["/usr/bin/PROGRAM"], or ["ALL"] for all of them`)
	}
	want.Content = new(host.Text(rule(*want)))
	return nil
}

// attributes shows what is wrong with the file but for its content.
func attributes(have, _ Sudoers) []states.Change {
	var changes []states.Change
	if have.owner != "" {
		changes = append(changes, states.Change{Attribute: "owner", From: have.owner, To: "root:root"})
	}
	if have.mode != "" {
		changes = append(changes, states.Change{Attribute: "mode", From: have.mode, To: "0440"})
	}
	return changes
}

const (
	dir  = "/etc/sudoers.d"
	main = "/etc/sudoers"
	mode = fs.FileMode(0o440)
)

func read(ctx context.Context, h host.Host, want Sudoers) (*Sudoers, error) {
	info, err := h.Lstat(want.path())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.Kind != host.Regular:
		return nil, states.WrongKindError(want.path(), info.Kind, "file")
	}
	wanted := host.Content{}
	if want.Content != nil {
		wanted = *want.Content
	}
	content, err := host.CompareContent(ctx, h, want.path(), info, wanted)
	have := &Sudoers{Name: want.Name, Content: &content}
	if info.Mode != mode {
		have.mode = states.FormatMode(info.Mode)
	}
	if info.UID != 0 || info.GID != 0 {
		have.owner = *owner.User(h, info.UID, new("root")) + ":" + *owner.Group(h, info.GID, new("root"))
	}
	return have, err
}

func write(ctx context.Context, h host.Host, have *Sudoers, want Sudoers) error {
	text, _ := want.Content.Inline()
	if err := valid(ctx, h, want.Name, &text); err != nil {
		return err
	}
	return put(ctx, h, want)
}

func put(ctx context.Context, h host.Host, want Sudoers) error {
	err := h.WriteFile(ctx, want.path(), *want.Content, host.Meta{Mode: new(mode), UID: new(0), GID: new(0)})
	return states.DirectoryError(h, dir, err)
}

func remove(ctx context.Context, h host.Host, have Sudoers) error {
	if err := valid(ctx, h, have.Name, nil); err != nil {
		return err
	}
	return h.Remove(have.path())
}

// foresee checks what can be checked without an earlier part's files.
func foresee(ctx context.Context, h host.Host, have, want *Sudoers) error {
	name, text := "", (*string)(nil)
	if want != nil {
		inline, _ := want.Content.Inline()
		name, text = want.Name, &inline
	} else {
		name = have.Name
	}
	if err := valid(ctx, h, name, text); err != nil && !errors.Is(err, host.ErrUnforeseeable) {
		return err
	}
	if want == nil {
		return h.Remove(have.path())
	}
	return put(ctx, h, *want)
}

func list(_ context.Context, h host.Host, _ []string) ([]Sudoers, error) {
	names, err := includedFiles(h)
	var found []Sudoers
	for _, name := range names {
		if name != "README" && check.Name("name", name, "_-") == nil {
			found = append(found, Sudoers{Name: name})
		}
	}
	return found, err
}

// includedFiles lists the files that sudo reads, in its order: none whose name has a dot
// or ends in ~.
func includedFiles(h host.Reader) ([]string, error) {
	entries, err := h.ReadDir(dir)
	var names []string
	for _, e := range entries {
		if !strings.Contains(e.Name, ".") && !strings.HasSuffix(e.Name, "~") && e.Kind != host.Directory {
			names = append(names, e.Name)
		}
	}
	slices.Sort(names)
	return names, err
}
