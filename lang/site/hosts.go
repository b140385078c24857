package site

import (
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
	Roles       []string          `json:"roles,omitempty"`   // lowest precedence first
	Groups      []string          `json:"groups,omitempty"`  // lowest precedence first
	Cluster     string            `json:"cluster,omitempty"` // that is to be present and has it as a member
	Labels      map[string]string `json:"labels,omitempty"`
	// Windows are when a server may change it.
	Windows Schedule `json:"windows,omitempty"`
	// Reconcile says how it is kept as it is wanted, but for Windows.
	Reconcile Reconcile  `json:"reconcile,omitzero"`
	Range     diag.Range `json:"range,omitzero"`
}

// Role is what a host gets by name.
type Role struct {
	Name     string     `json:"name"`
	Roles    []string   `json:"roles,omitempty"`    // that it takes in, directly or not
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
