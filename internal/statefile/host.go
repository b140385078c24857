package statefile

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/lang/site"
)

// Host gives the text that declares a host and how it is reached, not yet in the canonical layout.
func (l Language) Host(h *site.Host) string {
	var names, values []string
	add := func(name string, value any) {
		names = append(names, name)
		if l == Starlark {
			values = append(values, starlarkValue(value))
		} else {
			values = append(values, hclValue(value))
		}
	}
	if h.Address != "" && h.Address != h.Name {
		add("address", h.Address)
	}
	if h.Port != 0 {
		add("port", json.Number(fmt.Sprint(h.Port)))
	}
	if h.User != "" {
		add("user", h.User)
	}
	if h.Executor != "" && h.Executor != "ssh" {
		add("executor", h.Executor)
	}
	switch h.Become {
	case "":
	case "root":
		add("become", true)
	default:
		add("become", h.Become)
	}
	if h.BecomeMethod != "" {
		add("become_method", h.BecomeMethod)
	}
	if len(h.SSHOptions) > 0 {
		var list []any
		for _, o := range h.SSHOptions {
			list = append(list, o)
		}
		add("ssh_options", list)
	}
	if h.RunnerCache != "" {
		add("runner_cache", h.RunnerCache)
	}
	return l.block("host", h.Name, names, values)
}

// block gives the text of a block with a label and attributes.
func (l Language) block(kind, label string, names, values []string) string {
	var b strings.Builder
	if l == Starlark {
		fmt.Fprintf(&b, "%s(%s", kind, starlarkText(label))
		for i, name := range names {
			fmt.Fprintf(&b, ", %s = %s", name, values[i])
		}
		return b.String() + ")\n"
	}
	fmt.Fprintf(&b, "%s %s {", kind, hclText(label))
	for i, name := range names {
		fmt.Fprintf(&b, "\n%s = %s", name, values[i])
	}
	if len(names) > 0 {
		b.WriteString("\n")
	}
	return b.String() + "}\n"
}
