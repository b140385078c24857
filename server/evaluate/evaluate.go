// Package evaluate makes of a site what each of its hosts is to be, in a process of its own: within limits of time and memory, without
// the environment of its caller, and with the keys that open the site's secrets. What comes out is sealed to the hosts already: a
// secret in the clear is in that process and nowhere else.
//
// The process is the same program, started with an argument that makes it call Serve. A Question goes in, an Answer
// comes out, both as JSON.
package evaluate

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/trust"
)

// Argument is what tenet is started with, and nothing else, to call Serve.
const Argument = "evaluate-for-server"

// Question is what is asked of a site.
type Question struct {
	Dir    string `json:"dir"`           // its files
	Out    string `json:"out,omitempty"` // a folder that takes contents which hosts need; empty: none are wanted
	Origin string `json:"origin"`        // where it lies, for the records of hosts
	// Keys are the texts of private keys that open its secrets.
	Keys []string `json:"keys,omitempty"`
	// Vars are values of variables, by name.
	Vars map[string]string `json:"vars,omitempty"`
	// Facts are those that hosts have told, by the host's name and the fact's.
	Facts map[string]map[string]json.RawMessage `json:"facts,omitempty"`
	// Outputs are what hosts have given to others last, likewise.
	Outputs map[string]map[string]json.RawMessage `json:"outputs,omitempty"`
	// Joined are the hosts that have joined each cluster, by its name: others get nothing of it. Nil: all have.
	Joined map[string][]string `json:"joined"`
	// Hosts are those that it is evaluated for; none: only what it declares is wanted.
	Hosts []Recipient `json:"hosts,omitempty"`
	// AllowEmpty: rules that select nothing any more delete all that they have made.
	AllowEmpty bool `json:"allow_empty,omitempty"`
	// Program is the version of the program that evaluates.
	Program string        `json:"program"`
	Time    time.Duration `json:"time"`   // for all of it
	Memory  uint64        `json:"memory"` // in bytes
}

// Recipient is a host that something is made for.
type Recipient struct {
	Name    string `json:"name"`
	Sealing string `json:"sealing"` // the public key that it is encrypted to
}

// Answer is what a site says.
type Answer struct {
	Name     string         `json:"name"`
	Hosts    []site.Host    `json:"hosts"` // all that it declares; of a process those of Question.Hosts, where there are some
	Groups   []string       `json:"groups,omitempty"`
	Rollout  *site.Rollout  `json:"rollout,omitempty"`
	Clusters []site.Cluster `json:"clusters,omitempty"`
	Warnings []string       `json:"warnings,omitempty"`
	Results  []Result       `json:"results,omitempty"` // of Question.Hosts, in their order
	// Error is why there is none of this.
	Error string `json:"error,omitempty"`
	// IsLimit: a limit was reached.
	IsLimit bool `json:"is_limit,omitempty"`
}

// Result is what a site makes of a host.
type Result struct {
	Host     string `json:"host"`
	Error    string `json:"error,omitempty"`    // the site is wrong for it: then there is nothing else but Read
	Absent   bool   `json:"absent,omitempty"`   // the site does not declare it
	Empty    bool   `json:"empty,omitempty"`    // it wants nothing of it
	Revision string `json:"revision,omitempty"` // of the StateRun
	// Components are those of the host at top level, and Prunes tells whether what it does not have is removed.
	Components []string     `json:"components,omitzero"`
	Prunes     bool         `json:"prunes,omitempty"`
	Identity   trust.Digest `json:"identity,omitzero"`
	Sealed     []byte       `json:"sealed,omitempty"` // the bundle
	// Outline is the StateRun without its values, as compressed JSON: see ReadOutline. Of one that is too large there is none.
	Outline []byte          `json:"outline,omitempty"`
	Files   []trust.Content `json:"files,omitempty"` // that it needs: they are in Question.Out
	// Read are the facts that the evaluation has read: as long as they are what they were, another one gives the same.
	Read []Value `json:"read,omitempty"`
	// Waits are outputs of other hosts that it reads and that these have not given, for people: then there is nothing else but Read.
	Waits []string `json:"waits,omitempty"`
}

// Value is a fact or an output by the digest of its JSON. One that was not there has a zero digest.
type Value struct {
	Host     string `json:"host"`
	Name     string `json:"name"`
	IsOutput bool   `json:"output,omitempty"`
	// IsLast says that it is an output as it was given last, for which nobody waits.
	IsLast bool         `json:"last,omitempty"`
	Digest trust.Digest `json:"digest,omitzero"`
}

// ValueOf names a fact as it is now.
func ValueOf(facts map[string]map[string]json.RawMessage, host, name string) Value {
	return Value{Host: host, Name: name}.In(facts, nil)
}

// In gives a value as it is now, among the facts and outputs of all hosts.
func (v Value) In(facts, outputs map[string]map[string]json.RawMessage) Value {
	if v.IsOutput {
		facts = outputs
	}
	v.Digest = trust.Digest{}
	if v.Name == "" && len(facts[v.Host]) > 0 { // which there are
		v.Digest = trust.DigestOf([]byte(strings.Join(slices.Sorted(maps.Keys(facts[v.Host])), "\x00")))
		return v
	}
	if data, ok := facts[v.Host][v.Name]; ok {
		v.Digest = trust.DigestOf(data)
	}
	return v
}
