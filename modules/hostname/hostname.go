// Package hostname is the module "hostname": the name of the machine.
package hostname

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/claim"
	"github.com/tenetcm/tenet/modules/internal/lines"
	"github.com/tenetcm/tenet/modules/internal/process"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Hostname is the name of the machine, wanted or observed. A nil attribute is not
// managed.
type Hostname struct {
	Name   string  `state:"name,key" doc:"The machine's name, with or without its domain: at most 64 letters, digits, hyphens and dots."`
	Pretty *string `state:"pretty" doc:"The name for people, in any script, in /etc/machine-info; empty for none."`

	// What Read found, where it is another name.
	former string
}

const doc = `The name of the machine: of the running kernel, and in /etc/hostname for the next boot.

Below a root, where no kernel is to be seen, only the file is written. What the name stands for in /etc/hosts is not its business: use hosts_entry.`

const example = `hostname "web1" {
  pretty = "Web server in Lübeck"
}`

// Module is the module "hostname".
var Module = states.Define(states.Type[Hostname]{
	Name: "hostname", Doc: doc, Example: example, Locks: []string{"hostname"}, Root: true,
	Validate: validate, Claims: claims, Extra: nameChanges, Read: read, Write: write, Foresee: foresee, Import: importHostname, List: list,
	NoAbsent: "A machine always has a name.", Effects: effects,
})

// effects are those of the program hostname, where the kernel's file cannot be written.
func effects(_ Hostname, _ bool) states.Effects {
	return states.Effects{Paths: []string{static}, Settings: []string{"kernel.hostname"}}
}

const (
	static      = "/etc/hostname"
	runningPath = "/proc/sys/kernel/hostname"
	info        = "/etc/machine-info"
	// maxName is what the kernel takes, in bytes.
	maxName = 64
)

func validate(want Hostname) error {
	if err := check.HostName("name", want.Name); err != nil {
		return err
	}
	if len(want.Name) > maxName || strings.Contains(want.Name, "_") {
		return states.InvalidAttribute("name", fmt.Sprintf("%q is no name of a machine", want.Name), "write at most 64 letters, digits, hyphens and dots")
	}
	if want.Pretty != nil && (len(*want.Pretty) > 1000 || strings.TrimSpace(*want.Pretty) != *want.Pretty) {
		return states.InvalidAttribute("pretty", "it is too long, or has space around it", "")
	}
	return check.Text("pretty", want.Pretty)
}

// nameChanges shows the name that the machine has.
func nameChanges(have, want Hostname) []states.Change {
	if have.former == "" {
		return nil
	}
	return []states.Change{{Attribute: "name", From: have.former, To: want.Name}}
}

func read(_ context.Context, h host.Host, want Hostname) (*Hostname, error) {
	names, err := names(h)
	if err != nil {
		return nil, err
	}
	have := &Hostname{Name: want.Name}
	for _, name := range names {
		if name != want.Name && have.former == "" {
			have.former = name
			if name == "" {
				have.former = "(none)"
			}
		}
	}
	if want.Pretty == nil {
		return have, nil
	}
	t, err := lines.LoadIfThere(h, info)
	pretty := ""
	for _, i := range t.Find(isPretty) {
		pretty = unquote(strings.TrimPrefix(t[i].Line, prettyKey))
	}
	have.Pretty = &pretty
	return have, err
}

// names are the one for the next boot and, where it is to be seen, the kernel's.
func names(h host.Reader) ([]string, error) {
	var found []string
	for _, file := range []string{static, runningPath} {
		t, err := lines.LoadIfThere(h, file)
		if err != nil {
			return nil, err
		}
		if _, err := h.Lstat(file); errors.Is(err, fs.ErrNotExist) && file == runningPath {
			continue
		}
		name := ""
		for _, r := range t {
			if text := strings.TrimSpace(r.Line); name == "" && !strings.HasPrefix(text, "#") {
				name = text
			}
		}
		found = append(found, name)
	}
	return found, nil
}

func write(ctx context.Context, h host.Host, have *Hostname, want Hostname) error {
	if have.former == "" {
		return writePretty(ctx, h, want)
	}
	now, err := names(h)
	if err != nil {
		return err
	}
	if len(now) > 1 && now[1] != want.Name {
		if err := rename(ctx, h, want.Name); err != nil {
			return err
		}
	}
	return writeFiles(ctx, h, want)
}

// rename tells the kernel. In many containers its file cannot be written, and
// only the call that the program hostname makes does it.
func rename(ctx context.Context, h host.Host, name string) error {
	err := host.Tune(h, runningPath, name)
	if err == nil {
		return nil
	}
	_, failed := process.Run(ctx, h, host.Command{Argv: []string{"hostname", "--", name}})
	if failed != nil {
		return fmt.Errorf("the kernel does not take the name: %w; %w", err, failed)
	}
	return nil
}

func foresee(ctx context.Context, h host.Host, _, want *Hostname) error {
	now, err := names(h)
	if err != nil {
		return err
	}
	if err := writeFiles(ctx, h, *want); err != nil || len(now) < 2 || now[1] == want.Name {
		return err
	}
	if h.Access(runningPath).ReadOnly { // as in many containers; see rename
		return &states.UncertainError{Reason: runningPath + " is read-only, and the program hostname may or may not be allowed to change the name"}
	}
	return host.Tune(h, runningPath, want.Name)
}

func writeFiles(ctx context.Context, h host.Host, want Hostname) error {
	if err := h.WriteFile(ctx, static, host.Text(want.Name+"\n"), host.Meta{}); err != nil {
		return err
	}
	return writePretty(ctx, h, want)
}

const prettyKey = "PRETTY_HOSTNAME="

func isPretty(line string) bool { return strings.HasPrefix(line, prettyKey) }

func writePretty(ctx context.Context, h host.Host, want Hostname) error {
	if want.Pretty == nil {
		return nil
	}
	t, err := lines.LoadIfThere(h, info)
	if err != nil {
		return err
	}
	rows := t.Find(isPretty)
	switch {
	case *want.Pretty != "":
		return t.Set(rows, prettyKey+quote(*want.Pretty)).Save(ctx, h, info, host.Meta{})
	case len(rows) > 0:
		return t.Without(rows, -1).SaveOrRemove(ctx, h, info)
	}
	return nil
}

// quote writes a value as machine-info(5) has it, which is the shell's way.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`").Replace(s) + `"`
}

func unquote(s string) string {
	s = strings.TrimSpace(s)
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		if s[0] == '\'' {
			return s[1 : len(s)-1]
		}
		s = s[1 : len(s)-1]
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// importHostname finds the machine under its own name only.
func importHostname(ctx context.Context, h host.Host, key Hostname) (*Hostname, error) {
	have, err := read(ctx, h, Hostname{Name: key.Name, Pretty: new("")})
	if err != nil || have.former != "" {
		return nil, err
	}
	return have, nil
}

func list(_ context.Context, h host.Host, _ []string) ([]Hostname, error) {
	found, err := names(h)
	if err != nil || found[0] == "" {
		return nil, err
	}
	return []Hostname{{Name: found[0]}}, nil
}

// claims says what other parts cannot say as well: a machine has one name.
func claims(values map[string]any, _ bool) []states.Claim {
	name, ok := values["name"].(string)
	if !ok {
		return nil
	}
	return append(claim.Piece("/etc/hostname", name, "that "+name),
		states.Claim{Relation: "name of the machine", Is: name, OnlyOf: true, Says: "that the machine is called " + name})
}
