// Package conformance is what a site may rely on, whatever the module, as a
// suite that every module passes. It does not need package testing: what
// reports is a T, so that "go test" (see statestest) and "tenet test" run the
// very same suite.
//
// Each case is carried out several times: on a Shadow, as a plan does, which
// must foretell the changes and leave the host alone; on the host, where the
// changes must be those; again, which must change nothing; and, where the type
// can be absent, as absent, and as absent again.
package conformance

import (
	"context"
	"io/fs"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// T takes what is wrong; a *testing.T is one, and so is what Collect gives.
type T interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any) // does not return
}

// Suite is a module, and the host on which its cases are carried out.
type Suite struct {
	Module *states.Module
	// Host makes a fresh host, the same each time.
	Host func(t T) host.Host
	// Site holds the files that attributes of kind source name.
	Site fs.FS
	// Intact looks at a host after a hostile value: what its files mean to others must
	// be as it was. Nil: only the files of accounts and the like are looked at.
	Intact func(t T, h host.Host)
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
	Prepare func(t T, h host.Host)

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
	// Any: something is done, whatever it is; Action, Changes, Acts and Repeats
	// do not count.
	Any bool
	// Changing is an attribute that must be among the changes.
	Changing string
	// Stays is the reason why absent is not tried.
	Stays string
	// Check looks at the host after the first time; out is what was observed.
	Check func(t T, h host.Host, out map[string]any)
}

// Run carries out one case of a suite.
func Run(t T, s Suite, c Case) {
	r := &runner{t: t, suite: s, c: c}
	switch {
	case c.Wrong != "":
		r.refuse()
	case c.Fails != "":
		r.fail()
	case s.Module.IsAct():
		r.act()
	default:
		r.converge()
	}
}

// CheckSchema holds the documentation of a module to what its pages need.
func CheckSchema(t T, m *states.Module) {
	t.Helper()
	summary, _, _ := strings.Cut(m.Doc, "\n")
	if !strings.HasSuffix(summary, ".") || len(summary) > 120 {
		t.Errorf("the documentation does not begin with one short sentence: %q", summary)
	}
	if (m.Remove == nil) != strings.HasSuffix(m.NoAbsent, ".") {
		t.Errorf("absence needs either Remove or a reason in a whole sentence, not %q", m.NoAbsent)
	}
	for _, a := range m.Attributes {
		if !strings.HasSuffix(a.Doc, ".") {
			t.Errorf("attribute %s is not documented in whole sentences: %q", a.Name, a.Doc)
		}
		if a.Sensitive && a.Key {
			t.Errorf("attribute %s names the resource, and cannot be hidden", a.Name)
		}
	}
}
