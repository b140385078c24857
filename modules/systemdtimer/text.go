package systemdtimer

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/systemd"
	"github.com/tenetcm/tenet/states"
)

// maxCommand keeps the lines of the files below systemd's limit of 1 MiB.
const maxCommand = 200_000

var (
	calendar = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z0-9*,./:~ +_-]+$`)
	})
	variable = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	})
	program = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^/[^$%"'\\\x00-\x20\x7f]+$`)
	})
)

func validate(want Timer) error {
	if err := errors.Join(systemd.CheckUnit("name", want.Name), check.Account("user", want.User), check.Account("run_as", want.RunAs)); err != nil {
		return err
	}
	if systemd.IsUnit(want.Name) || strings.HasSuffix(want.Name, "@") || len(want.Name) > 200 {
		return states.InvalidAttribute("name", fmt.Sprintf("%.60q is not the plain name of a timer", want.Name), "write it without .timer")
	}
	for _, when := range want.OnCalendar {
		if !calendar().MatchString(when) || strings.TrimSpace(when) != when || len(when) > 1000 {
			return states.InvalidAttribute("on_calendar", fmt.Sprintf("%.60q is no calendar expression", when), `write "daily", "Mon..Fri 04:30" or "*-*-01 00:00:00"; see systemd.time(7)`)
		}
	}
	for _, x := range []struct {
		name string
		d    *time.Duration
	}{{"on_boot", want.OnBoot}, {"every", want.Every}, {"randomized_delay", want.Delay}} {
		if x.d != nil && *x.d%time.Millisecond != 0 {
			return states.InvalidAttribute(x.name, "it is counted in milliseconds", "")
		}
	}
	switch {
	case want.Every != nil && *want.Every == 0:
		return states.InvalidAttribute("every", "it would never end", "")
	case want.Command != nil && want.Unit != nil:
		return states.InvalidAttribute("unit", "it cannot be given beside command", "")
	case want.Command == nil && want.Unit != nil && (want.RunAs != nil || want.Dir != nil || len(want.Env) > 0):
		return states.InvalidAttribute("unit", "run_as, dir and env are for a command: the unit has its own", "")
	case want.User != nil && want.RunAs != nil:
		return states.InvalidAttribute("run_as", "a timer of an account's own runs as that account", "")
	case want.Unit != nil:
		if err := systemd.CheckUnit("unit", *want.Unit); err != nil || systemd.IsUnit(*want.Unit) {
			return err
		}
		return states.InvalidAttribute("unit", fmt.Sprintf("%q does not say what kind of unit it is", *want.Unit), fmt.Sprintf("write %q", *want.Unit+".service"))
	}
	return errors.Join(checkCommand(want), checkLine("about", want.Description))
}

func checkCommand(want Timer) error {
	if want.Command != nil {
		if len(want.Command) == 0 || !program().MatchString(want.Command[0]) || path.Clean(want.Command[0]) != want.Command[0] {
			return states.InvalidAttribute("command", "it does not begin with the absolute path of a program",
				`write command = ["/usr/bin/true"]; a script of the shell is ["/bin/sh", "-c", "…"]`)
		}
		size := 0
		for _, word := range want.Command {
			if size += len(word); !utf8.ValidString(word) || strings.Contains(word, "\x00") || size > maxCommand {
				return states.InvalidAttribute("command", fmt.Sprintf("%.40q… is no text, or too long for a unit's file", word), "")
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want.Env)) {
		value := want.Env[name]
		if !variable().MatchString(name) || !utf8.ValidString(value) || strings.Contains(value, "\x00") || len(name)+len(value) > maxCommand {
			return states.InvalidAttribute("env", fmt.Sprintf("%.60q is no variable that systemd could set", name), "")
		}
	}
	if want.Dir == nil {
		return nil
	}
	if err := check.Path("dir", *want.Dir); err != nil {
		return err
	}
	return checkLine("dir", want.Dir)
}

// checkLine checks a text that stands in a line of its own.
func checkLine(attribute string, text *string) error {
	if text == nil {
		return nil
	}
	control := strings.ContainsFunc(*text, unicode.IsControl)
	if control || !utf8.ValidString(*text) || strings.TrimSpace(*text) != *text || *text == "" || strings.HasSuffix(*text, `\`) || len(*text) > 4096 {
		return states.InvalidAttribute(attribute, fmt.Sprintf("%.60q is not one line of text, without space around it or a backslash at its end", *text), "")
	}
	return nil
}

const header = systemd.Written

// timer is the text of the timer's file.
func (t *Timer) timer() string {
	var b strings.Builder
	b.WriteString(header + t.unitDescription() + "\n[Timer]\n")
	for _, when := range t.OnCalendar {
		fmt.Fprintf(&b, "OnCalendar=%s\n", when)
	}
	for _, s := range t.spans() {
		if *s.value != nil {
			fmt.Fprintf(&b, "%s=%dms\n", s.key, (*s.value).Milliseconds())
		}
	}
	if t.Persistent != nil && *t.Persistent {
		b.WriteString("Persistent=true\n")
	}
	if t.Command == nil && t.Unit != nil {
		fmt.Fprintf(&b, "Unit=%s\n", *t.Unit)
	}
	b.WriteString("\n[Install]\nWantedBy=timers.target\n")
	return b.String()
}

// spans are the settings that are a time.
func (t *Timer) spans() []struct {
	key   string
	value **time.Duration
} {
	return []struct {
		key   string
		value **time.Duration
	}{{"OnBootSec", &t.OnBoot}, {"OnUnitActiveSec", &t.Every}, {"RandomizedDelaySec", &t.Delay}}
}

// service is the text of the service's file.
func (t *Timer) service() string {
	var b strings.Builder
	b.WriteString(header + t.unitDescription() + "\n[Service]\nType=oneshot\n")
	fmt.Fprintf(&b, "ExecStart=%s\n", strings.TrimSpace(t.Command[0]+" "+systemd.Quote(t.Command[1:])))
	if t.RunAs != nil {
		fmt.Fprintf(&b, "User=%s\n", *t.RunAs)
	}
	if t.Dir != nil {
		fmt.Fprintf(&b, "WorkingDirectory=%s\n", escape(*t.Dir))
	}
	for _, name := range slices.Sorted(maps.Keys(t.Env)) {
		fmt.Fprintf(&b, "Environment=%s\n", systemd.QuoteWord(name+"="+t.Env[name]))
	}
	return b.String()
}

func (t *Timer) unitDescription() string {
	if t.Description == nil {
		return "[Unit]\n"
	}
	return "[Unit]\nDescription=" + escape(*t.Description) + "\n"
}

// escape keeps systemd from putting something in the place of a percent sign.
func escape(text string) string { return strings.ReplaceAll(text, "%", "%%") }

func unescape(text string) string { return strings.ReplaceAll(text, "%%", "%") }

// parse takes the values from the texts of the files. What does not stand there as
// timer and service write it is left out, and shows as a difference.
func (t *Timer) parse() {
	for line := range strings.Lines(t.former.timer) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		switch key {
		case "Description":
			t.Description = new(unescape(value))
		case "OnCalendar":
			t.OnCalendar = append(t.OnCalendar, value)
		case "Persistent":
			t.Persistent = new(value == "true")
		case "Unit":
			t.Unit = &value
		}
		for _, s := range t.spans() {
			if number, ok := strings.CutSuffix(value, "ms"); ok && key == s.key {
				if n, err := strconv.ParseInt(number, 10, 40); err == nil && n >= 0 {
					*s.value = new(time.Duration(n) * time.Millisecond)
				}
			}
		}
	}
	if t.Unit != nil {
		return
	}
	for line := range strings.Lines(t.former.service) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		switch key {
		case "ExecStart":
			program, rest, _ := strings.Cut(value, " ")
			if words, ok := systemd.Unquote(rest); ok {
				t.Command = append([]string{program}, words...)
			}
		case "User":
			t.RunAs = &value
		case "WorkingDirectory":
			t.Dir = new(unescape(value))
		case "Environment":
			words, ok := systemd.UnquoteWords(value)
			if !ok || len(words) != 1 {
				continue
			}
			if t.Env == nil {
				t.Env = map[string]string{}
			}
			name, text, _ := strings.Cut(words[0], "=")
			t.Env[name] = text
		}
	}
}
