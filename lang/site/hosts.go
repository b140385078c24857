package site

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
)

// Host is a machine that a site declares, with what its groups add.
type Host struct {
	Name     string `json:"name"`
	Address  string `json:"address"` // the name where none is given
	Port     int    `json:"port,omitempty"`
	User     string `json:"user,omitempty"`
	Executor string `json:"executor"` // "local", "ssh" or "agent"
	Become   string `json:"become,omitempty"`
	// BecomeMethod is the program through which it becomes another account: "sudo",
	// "doas" or, where the site does not say, "".
	BecomeMethod string `json:"become_method,omitempty"`
	// SSHOptions are for the OpenSSH client, each NAME=VALUE. Of several for one
	// name the first counts there: the host's own come before those of groups.
	SSHOptions []string `json:"ssh_options,omitempty"`
	// RunnerCache is the folder that keeps the runner there; empty: the acting
	// account's own cache.
	RunnerCache string            `json:"runner_cache,omitempty"`
	Roles       []string          `json:"roles,omitempty"`  // lowest precedence first
	Groups      []string          `json:"groups,omitempty"` // lowest precedence first
	Labels      map[string]string `json:"labels,omitempty"`
	Range       diag.Range        `json:"range,omitzero"`
}

// Role is what a host gets by name.
type Role struct {
	Name     string     `json:"name"`
	Hosts    []string   `json:"hosts,omitempty"`    // that have it
	Declares []string   `json:"declares,omitempty"` // addresses, without instance keys
	Range    diag.Range `json:"range,omitzero"`
}

// IsRemote reports whether a host is reached over a connection, rather than being the
// machine itself.
func (h *Host) IsRemote() bool { return h.Executor != "local" }

// Executors lists the ways to reach a host.
func Executors() []string { return []string{"local", "ssh", "agent"} }

// BecomeMethods lists the programs through which a host becomes another account.
func BecomeMethods() []string { return []string{"sudo", "doas"} }

// IsHostName reports whether a host may have that name: letters, digits, "-", "_" and
// ".", the first of them a letter or digit.
func IsHostName(name string) bool {
	for i, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && (i == 0 || r != '-' && r != '_' && r != '.') {
			return false
		}
	}
	return name != ""
}

// SelectHosts gives the hosts that a pattern names, in their order: terms with
// commas between them, each a name, a glob (see path.Match) or @GROUP; "!"
// before a term takes its hosts away, whatever the order. Without other terms
// it takes them away from all. The error, a *diag.HintError, names a term that fits
// no host or no group.
func SelectHosts(hosts []Host, groups []string, pattern string) ([]Host, error) {
	found, err := SelectIndexes(hosts, groups, pattern)
	if err != nil {
		return nil, err
	}
	var out []Host
	for _, i := range found {
		out = append(out, hosts[i])
	}
	return out, nil
}

// SelectIndexes gives the indexes of the hosts that SelectHosts gives.
func SelectIndexes(hosts []Host, groups []string, pattern string) ([]int, error) {
	var with, without []string
	for term := range strings.SplitSeq(pattern, ",") {
		term = strings.TrimSpace(term)
		name, negative := strings.CutPrefix(term, "!")
		if err := checkTerm(hosts, groups, name); err != nil {
			return nil, err
		}
		if negative {
			without = append(without, name)
		} else {
			with = append(with, name)
		}
	}
	var out []int
	for i := range hosts {
		h := &hosts[i]
		fits := func(term string) bool { return h.matches(term) }
		if (len(with) == 0 || slices.ContainsFunc(with, fits)) && !slices.ContainsFunc(without, fits) {
			out = append(out, i)
		}
	}
	return out, nil
}

func (h *Host) matches(term string) bool {
	if group, ok := strings.CutPrefix(term, "@"); ok {
		return slices.Contains(h.Groups, group)
	}
	return MatchHost(term, h.Name)
}

// MatchHost reports whether a glob fits a host's name.
func MatchHost(glob, name string) bool {
	ok, err := path.Match(glob, name)
	return err == nil && ok
}

// checkTerm says what is wrong with a term.
func checkTerm(hosts []Host, groups []string, term string) error {
	var names []string
	for _, h := range hosts {
		names = append(names, h.Name)
	}
	if group, ok := strings.CutPrefix(term, "@"); ok {
		if slices.Contains(groups, group) {
			return nil
		}
		return &diag.HintError{Message: fmt.Sprintf("there is no host group %q", group), Hint: suggestion(group, groups, "tenet inspect hosts lists the groups")}
	}
	if _, err := path.Match(term, ""); err != nil || term == "" {
		return &diag.HintError{Message: fmt.Sprintf("%q is no pattern for hosts", term),
			Hint: `write names, globs and @GROUP with commas between them: web*,!web3,@db`}
	}
	if !strings.ContainsAny(term, `*?[\`) && !slices.Contains(names, term) {
		return &diag.HintError{Message: fmt.Sprintf("there is no host %q", term), Hint: suggestion(term, names, "tenet inspect hosts lists them")}
	}
	return nil
}

func suggestion(name string, names []string, otherwise string) string {
	if hint := diag.DidYouMean(name, names); hint != "" {
		return hint
	}
	if hint := diag.Choices(names); hint != "" {
		return hint
	}
	return otherwise
}
