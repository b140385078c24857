// Package statestest is the suite that every module passes: what a site may
// rely on, whatever the module. A module's test gives a host and cases:
//
//	statestest.Run(t, statestest.Suite{
//		Module: file.Module,
//		Host:   func(t *testing.T) host.Host { return newHost(t) },
//		Cases: []statestest.Case{{
//			Name:    "create",
//			Values:  map[string]any{"path": "/etc/motd", "content": "hello\n"},
//			Action:  states.Create,
//			Changes: []string{"content", "mode"},
//		}},
//	})
//
// What each case is carried out for, and how, package conformance says.
package statestest

import (
	"io/fs"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/conformance"
)

// Suite is a module with the cases that show what it does.
type Suite struct {
	Module *states.Module
	// Host makes a fresh host, the same each time.
	Host func(t *testing.T) host.Host
	// Site holds the files that attributes of kind source name.
	Site  fs.FS
	Cases []Case
	// Hostile are the values of a part that can be carried out: each text that the
	// module takes is tried with values that are meant to break out; see
	// conformance.Hostile. Trusted are the attributes that may: those that are code, or
	// that name a program to run. Lines may be several lines of a file.
	Hostile        map[string]any
	Trusted, Lines []string
	// Intact looks at the host after each of these: what its files mean to others must
	// be as it was.
	Intact func(t conformance.T, h host.Host)
}

// Case is one part, carried out on a fresh host.
type Case struct {
	Name string
	// Values are the attributes. Beside canonical values, int, []string and
	// map[string]string are allowed, and the path of a file in the site for a
	// source.
	Values map[string]any
	Ensure states.Ensure // empty: Present
	// Prepare changes the fresh host.
	Prepare func(t *testing.T, h host.Host)

	// Wrong is a text in the error with which the values are refused, whatever
	// the host.
	Wrong string
	// Fails is a text in the error with which the part fails on the host.
	Fails string
	// Hint is a text in the advice that this error has.
	Hint string
	// Unknown is the name in Values that is no attribute, which Wrong is about.
	Unknown string
	// Partial: a failure may leave changes on the host.
	Partial bool
	// OnlyOnHost: a plan does not foretell the failure.
	OnlyOnHost bool

	// Action is what is done with a resource; empty: there is nothing to do.
	Action states.Action
	// Changes are the attributes of the first difference, in order. The key is
	// not among them.
	Changes []string
	// Acts: an act changes the host.
	Acts bool
	// Repeats: an act changes it when carried out again, too.
	Repeats bool
	// Stays is the reason why absent is not tried.
	Stays string
	// Check looks at the host after the first time; out is what was observed.
	Check func(t *testing.T, h host.Host, out map[string]any)
}

// Run carries out the suite.
func Run(t *testing.T, s Suite) {
	t.Run("schema", func(t *testing.T) {
		conformance.CheckSchema(t, s.Module)
		if s.Module.Example == "" {
			t.Error("there is no example")
		}
	})
	if s.Hostile != nil {
		t.Run("hostile", func(t *testing.T) {
			conformance.Hostile(t, s.plain(t), conformance.Example{Values: s.Hostile, Trusted: s.Trusted, Lines: s.Lines})
		})
	}
	for _, c := range s.Cases {
		t.Run(c.Name, func(t *testing.T) {
			conformance.Run(t, s.plain(t), c.plain(t))
		})
	}
}

// plain is the suite as conformance takes it.
func (s Suite) plain(t *testing.T) conformance.Suite {
	return conformance.Suite{
		Module: s.Module, Site: s.Site, Intact: s.Intact,
		Host: func(conformance.T) host.Host { return s.Host(t) },
	}
}

// plain is the case as conformance takes it.
func (c Case) plain(t *testing.T) conformance.Case {
	out := conformance.Case{
		Name: c.Name, Values: c.Values, Ensure: c.Ensure,
		Wrong: c.Wrong, Fails: c.Fails, Hint: c.Hint, Unknown: c.Unknown, Partial: c.Partial, OnlyOnHost: c.OnlyOnHost,
		Action: c.Action, Changes: c.Changes, Acts: c.Acts, Repeats: c.Repeats, Stays: c.Stays,
	}
	if c.Prepare != nil {
		out.Prepare = func(_ conformance.T, h host.Host) { c.Prepare(t, h) }
	}
	if c.Check != nil {
		out.Check = func(_ conformance.T, h host.Host, observed map[string]any) { c.Check(t, h, observed) }
	}
	return out
}
