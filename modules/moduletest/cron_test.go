package moduletest_test

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/cron"
	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
	"pgregory.net/rapid"
)

const (
	cronFile = "/etc/cron.d/job"
	header   = "# Written by tenet: what is changed here is put back.\n"
)

func cronThere(text string) func(*testing.T, host.Host) {
	return func(t *testing.T, h host.Host) { fake.Put(t, h, cronFile, text, 0o644) }
}

func cronHolds(want string) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, _ map[string]any) {
		if is := fake.Text(h, cronFile); is != want {
			t.Errorf("it holds %q, want %q", is, want)
		}
	}
}

func isRoots(t *testing.T, h host.Host, _ map[string]any) {
	if info, err := h.Lstat(cronFile); err != nil || info.UID != 0 || info.Mode != 0o644 {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestCron(t *testing.T) {
	t.Parallel()
	with := func(more map[string]any) map[string]any {
		values := map[string]any{"name": "job", "schedule": "30 4 * * *", "command": "run"}
		for name, v := range more {
			values[name] = v
		}
		return values
	}
	const old = header + "30 4 * * * root run\n"
	full := map[string]any{"schedule": "*/5 0-6,12 1 jan-mar Mon", "command": `echo 50% \%x "$HOME"`, "user": "alice", "env": map[string]any{"MAILTO": "", "A": `say "x"`}}
	fullText := header + "A='say \"x\"'\nMAILTO=\"\"\n" + `*/5 0-6,12 1 jan-mar Mon alice echo 50\% \\%x "$HOME"` + "\n"
	statestest.Run(t, statestest.Suite{Module: cron.Module, Host: plainHost, Hostile: with(full), Trusted: []string{"command"}, Cases: []statestest.Case{
		{Name: "create", Values: with(nil), Action: states.Create, Changes: []string{"schedule", "command", "user"}, Check: cronHolds(old)},
		{Name: "all of it", Values: with(full), Action: states.Create, Changes: []string{"schedule", "command", "user", "env"}, Check: cronHolds(fullText)},
		{Name: "nothing to do", Prepare: cronThere(fullText), Values: with(full)},
		{Name: "what is not given stays", Prepare: cronThere(fullText), Values: with(map[string]any{"schedule": "@daily"}), Action: states.Update, Changes: []string{"schedule", "command"},
			Check: cronHolds(header + "A='say \"x\"'\nMAILTO=\"\"\n@daily alice run\n")},
		{Name: "no variables", Prepare: cronThere(fullText), Values: with(map[string]any{"schedule": full["schedule"], "command": full["command"], "env": map[string]any{}}),
			Action: states.Update, Changes: []string{"env"}},
		{Name: "edited by hand", Prepare: cronThere(old + "* * * * * root evil\n"), Values: with(nil), Action: states.Update, Changes: []string{"schedule", "command", "name"}, Check: cronHolds(old)},
		{Name: "a comment", Prepare: cronThere(old + "# why\n"), Values: with(nil), Action: states.Update, Changes: []string{"name"}, Check: cronHolds(old)},
		{Name: "others may write", Prepare: func(t *testing.T, h host.Host) { fake.Put(t, h, cronFile, old, 0o666) }, Values: with(nil),
			Action: states.Update, Changes: []string{"file"}, Check: isRoots},
		{Name: "somebody else's", Prepare: func(t *testing.T, h host.Host) {
			fake.Put(t, h, cronFile, old, 0o644)
			if err := h.SetMeta(cronFile, host.Meta{UID: new(1000)}); err != nil {
				t.Fatal(err)
			}
		}, Values: with(nil), Action: states.Update, Changes: []string{"file"}, Check: isRoots},
		{Name: "nobody", Values: with(map[string]any{"user": "bob"}), Fails: `user: there is no user "bob"`},
		{Name: "no cron", Prepare: func(t *testing.T, h host.Host) {
			if err := h.Remove("/etc/cron.d"); err != nil {
				t.Fatal(err)
			}
		}, Values: with(nil), Fails: "this host has no cron", Hint: `package "cron" {}`},
		{Name: "a link", Prepare: func(t *testing.T, h host.Host) { fake.Link(t, h, "/etc/passwd", cronFile) }, Values: with(nil), Fails: "is a symlink, not a file"},
		{Name: "a name with a dot", Values: with(map[string]any{"name": "a.b"}), Wrong: "cron passes over a file named"},
		{Name: "a second line", Values: with(map[string]any{"command": "a\n* * * * * root b"}), Wrong: "one line of text"},
		{Name: "too long", Values: with(map[string]any{"command": strings.Repeat("%", 500)}), Wrong: "at most 998"},
		{Name: "four fields", Values: with(map[string]any{"schedule": "* * * *"}), Wrong: "five fields"},
		{Name: "a second line of a schedule", Values: with(map[string]any{"schedule": "* * * * *\n"}), Wrong: "the day of the week"},
		{Name: "out of range", Values: with(map[string]any{"schedule": "60 * * * *"}), Wrong: `the minute cannot be "60"`},
		{Name: "backwards", Values: with(map[string]any{"schedule": "* * * * fri-mon"}), Wrong: "the day of the week"},
		{Name: "a step of one", Values: with(map[string]any{"schedule": "5/2 * * * *"}), Wrong: "the minute"},
		{Name: "no such word", Values: with(map[string]any{"schedule": "@often"}), Wrong: "none of @reboot"},
		{Name: "both quotes", Values: with(map[string]any{"env": map[string]any{"A": `"'`}}), Wrong: "no variable that can stand"},
	}})
}

// What cron makes of the line is the command: see load_entry in its source.
func TestCommandAsCronReadsIt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		command := rapid.StringMatching(`[a%\\"' $]{0,8}[a%]`).Filter(func(s string) bool { return strings.TrimSpace(s) == s }).Draw(rt, "command")
		h := fake.Host(t)
		want, err := cron.Module.Decode(map[string]any{"name": "job", "schedule": "@daily", "command": command, "user": "root"}, nil)
		if err == nil {
			err = cron.Module.Write(t.Context(), h, nil, want)
		}
		if err != nil {
			rt.Fatal(err)
		}
		line, _ := strings.CutPrefix(fake.Text(h, cronFile), header+"@daily root ")
		if is := readAsCron(strings.TrimSuffix(line, "\n")); is != command {
			rt.Errorf("cron reads %q", is)
		}
		have, err := cron.Module.Read(t.Context(), h, want)
		if err != nil || len(cron.Module.Diff(have, want)) > 0 {
			rt.Errorf("it is read back as %+v, %v", have, err)
		}
	})
}

// readAsCron is the loop of do_command.c that takes a command apart.
func readAsCron(line string) string {
	var out strings.Builder
	escaped := false
	for _, c := range []byte(line) {
		if escaped {
			if c != '%' {
				out.WriteByte('\\')
			}
		} else if c == '%' {
			return out.String()
		}
		if escaped = c == '\\'; !escaped {
			out.WriteByte(c)
		}
	}
	if escaped {
		out.WriteByte('\\')
	}
	return out.String()
}
