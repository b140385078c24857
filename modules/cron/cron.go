// Package cron is the module "cron": a command that cron runs at given times.
package cron

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/lines"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Cron is one job, wanted or observed.
type Cron struct {
	Name     string            `state:"name,key" doc:"Name of the job's file in /etc/cron.d: letters, digits, - and _. cron passes over others."`
	Schedule *string           `state:"schedule,present" doc:"When: minute, hour, day of month, month, day of week, such as \"30 4 * * mon-fri\", or one of @reboot, @hourly, @daily, @weekly, @monthly, @yearly."`
	Command  *string           `state:"command,present,public" doc:"One line for the shell, at most 998 characters. A percent sign is one."`
	User     *string           `state:"user,of_user" doc:"The account that it runs as."`
	Env      map[string]string `state:"env,public" doc:"Variables, such as MAILTO, PATH or SHELL. All users of the host can read them in the file."`

	text   string // of the file that is there
	unsafe string // why cron passes over that file; empty: it does not
}

const doc = `A command that cron runs at given times.

Each job is a file of its own in /etc/cron.d, of mode 0644, which cron notices by itself. The schedule is checked before anything is changed, since cron passes over a whole file with a mistake, and says so only in its log. The command is for the shell (SHELL in env, otherwise /bin/sh): it is one line, and a percent sign, which cron takes for the end of a line, is written so that it is one.

The file is this part's as a whole: what others add is shown and removed, and so is another owner than root and a mode with which others may write to it, since cron passes over such a file. Absent removes the file. Where systemd runs, systemd_timer does the same without a shell.`

const example = `cron "backup" {
  schedule = "30 4 * * mon-fri"
  command  = "rsync -a /srv/ /var/backups/srv-$(date +%F)/"
  env      = { MAILTO = "admin@example.test" }
}`

const (
	dir = "/etc/cron.d"
	// maxLine is what Debian's cron takes of a command and of a variable.
	maxLine = 998
	header  = "# Written by tenet: what is changed here is put back.\n"
)

// Module is the module "cron".
var Module = states.Define(states.Type[Cron]{
	Name: "cron", Doc: doc, Example: example, Root: true,
	New:      Cron{User: new("root")},
	Validate: validate, Extra: foreignChanges, Read: read, Write: write, Remove: remove, List: list,
})

var (
	fileName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]*$`) })
	variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })
)

func validate(want Cron) error {
	if !fileName().MatchString(want.Name) || len(want.Name) > 200 {
		return states.InvalidAttribute("name", fmt.Sprintf("cron passes over a file named %.60q", want.Name),
			"use letters, digits, - and _")
	}
	if want.Schedule != nil {
		if err := checkSchedule(*want.Schedule); err != nil {
			return states.InvalidAttribute("schedule", err.Error(),
				`write five fields, such as "30 4 * * mon-fri", or @daily; see crontab(5)`)
		}
	}
	if c := want.Command; c != nil {
		if !isLine(*c) || strings.TrimSpace(*c) != *c || *c == "" || len(escape(*c)) > maxLine {
			return states.InvalidAttribute("command", fmt.Sprintf("it is one line of text of at most %d characters, without space around it", maxLine), "")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want.Env)) {
		value := want.Env[name]
		both := strings.Contains(value, `"`) && strings.Contains(value, "'")
		if !variable().MatchString(name) || !isLine(value) || both || len(name)+len(value) > maxLine-3 {
			return states.InvalidAttribute("env", fmt.Sprintf("%.60q is no variable that can stand in a line of cron's", name),
				"a value is one line, and cannot hold both kinds of quotes")
		}
	}
	return check.Account("user", want.User)
}

func isLine(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return r != '\t' && unicode.IsControl(r) })
}

// escape is a command as it stands in the file: cron ends it at a percent sign that
// has no backslash before it.
func escape(command string) string { return strings.ReplaceAll(command, "%", `\%`) }

// render is the text of the file.
func (c *Cron) render() string {
	var b strings.Builder
	b.WriteString(header)
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		quote := `"`
		if strings.Contains(c.Env[name], quote) {
			quote = "'"
		}
		fmt.Fprintf(&b, "%s=%s%s%s\n", name, quote, c.Env[name], quote)
	}
	if c.Schedule != nil && c.User != nil && c.Command != nil {
		fmt.Fprintf(&b, "%s %s %s\n", *c.Schedule, *c.User, escape(*c.Command))
	}
	return b.String()
}

// parse takes the values from a text that render has written.
func (c *Cron) parse() {
	for line := range strings.Lines(strings.TrimPrefix(c.text, header)) {
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, "=")
		if variable().MatchString(name) && len(value) > 1 {
			if c.Env == nil {
				c.Env = map[string]string{}
			}
			c.Env[name] = value[1 : len(value)-1]
			continue
		}
		fields := 5
		if strings.HasPrefix(line, "@") {
			fields = 1
		}
		words := strings.SplitN(line, " ", fields+2)
		if len(words) == fields+2 {
			c.Schedule = new(strings.Join(words[:fields], " "))
			c.User, c.Command = &words[fields], new(strings.ReplaceAll(words[fields+1], `\%`, "%"))
		}
	}
}

func read(_ context.Context, h host.Host, want Cron) (*Cron, error) {
	file := dir + "/" + want.Name
	text, info, err := lines.Whole(h, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	have := &Cron{Name: want.Name, text: text}
	switch {
	case info.Mode&0o022 != 0:
		have.unsafe = "others may write to it: its mode is " + states.FormatMode(info.Mode)
	case info.UID != 0 && ownedByRoot(h):
		have.unsafe = fmt.Sprintf("it belongs to the user %d", info.UID)
	}
	have.parse()
	if want.Env != nil && have.Env == nil {
		have.Env = map[string]string{}
	}
	return have, nil
}

// foreignChanges shows what somebody else has written into the file.
func foreignChanges(have, want Cron) []states.Change {
	var out []states.Change
	if have.unsafe != "" {
		out = append(out, states.Change{Attribute: "file", From: have.unsafe, To: "root's, 0644"})
	}
	if have.render() != have.text {
		out = append(out, states.Change{Attribute: "name", From: have.text, To: want.render()})
	}
	return out
}

// ownedByRoot reports whether files of this host can belong to root: they cannot in a
// tree that somebody else works on.
func ownedByRoot(h host.Reader) bool {
	info, err := h.Lstat(dir)
	return err == nil && info.UID == 0
}

func write(ctx context.Context, h host.Host, _ *Cron, want Cron) error {
	if want.Schedule == nil || want.Command == nil {
		return errors.New("schedule and command are required for a job that is to be there")
	}
	if want.User == nil {
		want.User = new("root") // the file had no job
	}
	if _, err := h.User(*want.User); err != nil {
		return fmt.Errorf("user: %w", err)
	}
	meta := host.Meta{Mode: new(fs.FileMode(0o644))}
	if ownedByRoot(h) {
		meta.UID, meta.GID = new(0), new(0)
	}
	err := h.WriteFile(ctx, dir+"/"+want.Name, host.Text(want.render()), meta)
	if errors.Is(err, fs.ErrNotExist) {
		return &diag.HintError{Code: "not_found", Message: "this host has no cron: the directory " + dir + " is not there", Err: err,
			Hint: `declare before it: package "cron" {}`}
	}
	return err
}

func remove(_ context.Context, h host.Host, have Cron) error { return h.Remove(dir + "/" + have.Name) }

// list names the jobs that this module has written.
func list(ctx context.Context, h host.Host, _ []string) ([]Cron, error) {
	entries, err := h.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var keys []Cron
	for _, e := range entries {
		if e.Kind != host.Regular || !fileName().MatchString(e.Name) {
			continue
		}
		have, err := read(ctx, h, Cron{Name: e.Name})
		if err != nil {
			return nil, err
		}
		if have != nil && strings.HasPrefix(have.text, header) {
			keys = append(keys, Cron{Name: e.Name})
		}
	}
	return keys, err
}
