package systemd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
)

// setting is one line KEY=VALUE of a unit's file.
type setting struct {
	line                int
	section, key, value string
}

// settingsOf takes the text of a unit's file apart, which CheckText has accepted.
func settingsOf(text string) []setting {
	var out []setting
	var section string
	number, continued := 0, false
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		comment := strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";")
		if comment {
			continue
		}
		if !continued && strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[]")
		} else if key, value, ok := strings.Cut(line, "="); ok && !continued {
			out = append(out, setting{number, section, strings.TrimSpace(key), strings.TrimSpace(value)})
		}
		continued = strings.HasSuffix(line, `\`)
	}
	return out
}

// Unknown tells which lines of a unit's file a host's systemd would pass over, since it
// does not know the setting, or since a switch is neither on nor off: by what systemd
// says of itself, without the file. Where systemd is not there, nothing is said.
func Unknown(ctx context.Context, h host.Host, name, text string) ([]string, error) {
	items, err := itemsOf(ctx, h)
	if err != nil || items["Unit"] == nil {
		return nil, err
	}
	var wrong []string
	for _, s := range settingsOf(text) {
		known := items[s.section]
		kind, ok := known[s.key]
		switch {
		case known == nil || strings.HasPrefix(s.key, "X-"):
		case !ok:
			wrong = append(wrong, fmt.Sprintf("%s:%d: unknown setting %q in section [%s]%s", name, s.line, s.key, s.section, placeOf(items, s)))
		case kind == "BOOLEAN" && s.value != "" && !isSwitch(s.value):
			wrong = append(wrong, fmt.Sprintf("%s:%d: %s is neither on nor off: %.100q", name, s.line, s.key, s.value))
		}
	}
	return wrong, nil
}

// placeOf says where a setting belongs, or how it is written.
func placeOf(items map[string]map[string]string, s setting) string {
	for key := range items[s.section] {
		if strings.EqualFold(key, s.key) {
			return ": it is written " + key
		}
	}
	for _, section := range []string{"Unit", "Install"} {
		if _, ok := items[section][s.key]; ok {
			return ": it belongs in [" + section + "]"
		}
	}
	for _, section := range slices.Sorted(maps.Keys(items)) {
		if _, ok := items[section][s.key]; ok && (s.section == "Unit" || s.section == "Install") {
			return ": it belongs in a section such as [" + section + "]"
		}
	}
	return ""
}

// isSwitch reports whether systemd takes a value for yes or no.
func isSwitch(value string) bool {
	return slices.Contains([]string{"1", "yes", "y", "true", "t", "on", "0", "no", "n", "false", "f", "off"}, strings.ToLower(value))
}

// itemsOf asks the host's systemd which settings it knows, by section, with their kinds;
// nil: there is no systemd to ask.
func itemsOf(ctx context.Context, h host.Host) (map[string]map[string]string, error) {
	for _, program := range []string{"/lib/systemd/systemd", "/usr/lib/systemd/systemd"} {
		r, err := h.Query(ctx, host.Query{
			Command: host.Command{Argv: []string{program, "--dump-configuration-items"}, Env: []string{"LC_ALL=C.UTF-8"}},
			Reads:   []string{program}, Keep: true,
		})
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case errors.Is(err, fs.ErrPermission), errors.Is(err, host.ErrUnanswerable):
			return nil, nil
		case err != nil || r.ExitCode != 0 || r.Truncated:
			return nil, err
		default:
			return parseItems(string(r.Stdout)), nil
		}
	}
	return nil, nil
}

// parseItems reads lines KEY=KIND below lines [SECTION].
func parseItems(text string) map[string]map[string]string {
	items := map[string]map[string]string{}
	var section map[string]string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "["); ok {
			section = map[string]string{}
			items[strings.TrimSuffix(name, "]")] = section
		} else if key, kind, ok := strings.Cut(line, "="); ok && section != nil {
			section[key] = kind
		}
	}
	return items
}
