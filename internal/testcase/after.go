package testcase

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// checkAfter compares the machine with what is expected of it after an apply.
func (r *caseRun) checkAfter(after *block) {
	for _, b := range after.blocks {
		got, there := r.look(b)
		name := b.word + " " + strconv.Quote(b.label)
		if the[bool](b, "absent") {
			if there {
				r.fail(Failure{Message: name + " is there", Expected: "absent", Got: "present", Range: b.at})
			}
			continue
		}
		if !there {
			r.fail(Failure{Message: name + " is not there", Expected: "present", Got: "absent", Range: b.at})
			continue
		}
		for _, field := range fieldsInOrder(b) {
			at := b.fields[field].at
			switch want := b.fields[field].value.(type) {
			case nil:
			case *regexp.Regexp:
				r.matches(name, want, got, at)
			case []string:
				r.lists(name, field, want, got, at)
			case fs.FileMode:
				r.compare(name+": "+field, states.FormatMode(want), got[field], at)
			case string:
				r.texts(name, field, want, got, at)
			default:
				if field != "absent" {
					r.compare(name+": "+field, want, got[field], at)
				}
			}
		}
	}
}

// texts compares a text; the version "true" is any.
func (r *caseRun) texts(name, field, want string, got map[string]any, at diag.Range) {
	if field == "installed" {
		have, _ := got[field].(string)
		if want == anyVersion && have != "" {
			return
		}
		if want == anyVersion || want == "" {
			r.compare(name+": "+field, want != "", have != "", at)
			return
		}
	}
	if field == "owner" || field == "group" {
		if id, ok := got[field+" number"].(string); ok && id == want {
			return // given as a number
		}
	}
	r.compare(name+": "+field, want, got[field], at)
}

// lists compares members and groups, whose order does not count, and looks for
// what a file is to contain.
func (r *caseRun) lists(name, field string, want []string, got map[string]any, at diag.Range) {
	if field == "contains" {
		content, _ := got["content"].(string)
		for _, text := range want {
			if !strings.Contains(content, text) {
				r.fail(Failure{Message: name + " does not contain the text", Expected: text, Got: content, Range: at})
			}
		}
		return
	}
	have, _ := got[field].([]string)
	r.compareLists(name+": "+field+" is another", slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(have)), at)
}

func (r *caseRun) matches(name string, want *regexp.Regexp, got map[string]any, at diag.Range) {
	content, _ := got["content"].(string)
	if !want.MatchString(content) {
		r.fail(Failure{Message: name + " does not match", Expected: want.String(), Got: content, Range: at})
	}
}

// look describes what is on the machine in the words of the block, as far as
// there is anything.
func (r *caseRun) look(b *block) (map[string]any, bool) {
	h := r.compilation.machine
	switch b.word {
	case "file", "directory", "link":
		return lookPath(h, b.word, b.label)
	case "package":
		version, held := simulated.InstalledVersion(h, b.label)
		if installed, given := get[string](b, "installed"); version == "" && given && installed == "" {
			return map[string]any{"installed": ""}, true
		}
		return map[string]any{"installed": version, "held": held}, version != ""
	case "service":
		s, there := simulated.ServiceOf(h, b.label)
		return map[string]any{"running": s.Running, "enabled": s.Enabled, "masked": s.Masked}, there
	case "user":
		u, err := h.User(b.label)
		if err != nil {
			return nil, false
		}
		primary := strconv.Itoa(u.GID)
		if g, err := h.GroupID(u.GID); err == nil {
			primary = g.Name
		}
		return map[string]any{
			"uid": u.UID, "comment": u.Comment, "home": u.Home, "shell": u.Shell,
			"group": primary, "group number": strconv.Itoa(u.GID), "groups": simulated.GroupsOf(h, b.label),
			"password": simulated.PasswordOf(h, b.label),
		}, true
	case "group":
		g, err := h.Group(b.label)
		return map[string]any{"gid": g.GID, "members": g.Members}, err == nil
	}
	return nil, false
}

func lookPath(h *host.Memory, word, name string) (map[string]any, bool) {
	if !path.IsAbs(name) {
		return nil, false
	}
	info, err := h.Lstat(name)
	kinds := map[string]host.Kind{"file": host.Regular, "directory": host.Directory, "link": host.Symlink}
	if err != nil || info.Kind != kinds[word] {
		return nil, false
	}
	out := map[string]any{
		"mode": states.FormatMode(info.Mode), "owner number": strconv.Itoa(info.UID), "group number": strconv.Itoa(info.GID),
	}
	out["owner"], out["group"] = out["owner number"], out["group number"]
	if u, err := h.UserID(info.UID); err == nil {
		out["owner"] = u.Name
	}
	if g, err := h.GroupID(info.GID); err == nil {
		out["group"] = g.Name
	}
	switch word {
	case "file":
		out["content"] = simulated.Text(h, name)
	case "link":
		if out["target"], err = h.ReadLink(name); err != nil {
			return nil, false
		}
	}
	return out, true
}

func fieldsInOrder(b *block) []string {
	var names []string
	for name := range b.fields {
		names = append(names, name)
	}
	slices.SortFunc(names, func(x, y string) int { return b.fields[x].at.Start.Byte - b.fields[y].at.Start.Byte })
	return names
}

// snapshot describes everything on a machine, times apart.
func snapshot(h host.Reader) (map[string]string, error) {
	tree := map[string]string{}
	var walk func(string) error
	walk = func(name string) error {
		info, err := h.Lstat(name)
		if err != nil {
			return err
		}
		said := fmt.Sprintf("%s %s %d:%d", info.Kind, states.FormatMode(info.Mode), info.UID, info.GID)
		switch info.Kind {
		case host.Regular:
			said += " " + simulated.Text(h, name)
		case host.Symlink:
			target, err := h.ReadLink(name)
			if err != nil {
				return err
			}
			said += " → " + target
		case host.Directory:
			entries, err := h.ReadDir(name)
			if err != nil {
				return err
			}
			for _, e := range entries {
				if err := walk(path.Join(name, e.Name)); err != nil {
					return err
				}
			}
		}
		tree[name] = said
		return nil
	}
	return tree, walk("/")
}

// changedPaths lists the paths at which two snapshots differ.
func changedPaths(a, b map[string]string) []string {
	var out []string
	for name, said := range a {
		if b[name] != said {
			out = append(out, name)
		}
	}
	for name := range b {
		if _, before := a[name]; !before {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
