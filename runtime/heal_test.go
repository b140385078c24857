package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// tank is a resource that may take several attempts to fill.
type tank struct {
	Name  string `state:"name,key" doc:"Name."`
	Level *int   `state:"level" doc:"How full it is to be."`
}

// attempt is what happens in one attempt at a tank. The zero value fails and changes nothing.
type attempt struct {
	pours      int  // how much is added
	succeeds   bool // as far as Write says
	panics     bool // Write does
	unreadable bool // before
	obscured   bool // it cannot be read after Write
}

// tankState is a tank as it is, with the attempts to come; those after the last one succeed.
type tankState struct {
	attempts []attempt
	level    int
	changed  bool // Write has added something
	written  bool // Write was called in this attempt, and nobody has looked since
}

func (s *tankState) current() attempt {
	if len(s.attempts) == 0 {
		return attempt{pours: tankSize, succeeds: true}
	}
	return s.attempts[0]
}

// end ends an attempt.
func (s *tankState) end() {
	s.written = false
	if len(s.attempts) > 0 {
		s.attempts = s.attempts[1:]
	}
}

func (s *tankState) read(name string) (*tank, error) {
	a := s.current()
	switch {
	case s.written:
		defer s.end()
		if a.obscured {
			return nil, errors.New("it is obscured")
		}
	case a.unreadable:
		s.end()
		return nil, errors.New("it is unreadable")
	}
	if s.level == 0 {
		return nil, nil
	}
	return &tank{Name: name, Level: new(s.level)}, nil
}

func (s *tankState) write(want int) error {
	a := s.current()
	s.written = true
	if level := min(s.level+a.pours, want); level != s.level {
		s.level, s.changed = level, true
	}
	if a.panics {
		panic("the tank")
	}
	if !a.succeeds {
		return errors.New("it fails")
	}
	return nil
}

const tankSize = 3

// tankModules are the module of tanks, which fills each by itself or all in one call, and
// that of files.
func tankModules(tanks map[string]*tankState, together bool) *states.Registry {
	typ := states.Type[tank]{
		Name: "tank", Doc: "A test.", NoAbsent: "It is a test.",
		Read: func(_ context.Context, _ host.Host, want tank) (*tank, error) {
			return tanks[want.Name].read(want.Name)
		},
		Write: func(_ context.Context, _ host.Host, _ *tank, want tank) error {
			return tanks[want.Name].write(*want.Level)
		},
	}
	if together {
		typ.Batch = func(_ context.Context, _ host.Host, items []states.ItemOf[tank]) (errs []error) {
			for _, item := range items {
				errs = append(errs, tanks[item.Want.Name].write(*item.Want.Level))
			}
			return errs
		}
	}
	return registryWith(states.Define(typ))
}

// fillTanks applies tanks each of which notifies a handler of its own. It gives how they
// ended, and those whose handler was not told what it has to be, or was told what did not happen.
func fillTanks(t interface {
	failer
	Context() context.Context
}, tanks map[string]*tankState, together bool, options string) (outcomes map[string]states.Outcome, wrong []string) {
	site := ""
	for name := range tanks {
		site += fmt.Sprintf("tank %q {\n level = %d\n notify = [state.%[1]s]\n %[3]s\n}\nstate %[1]q {\n lazy = true\n file \"/%[1]s\" {}\n}\n", name, tankSize, options)
	}
	m, registry, outcomes := host.NewMemory(), tankModules(tanks, together), map[string]states.Outcome{}
	events := func(ev states.Event) {
		if ev.Type == states.EventPart {
			outcomes[ev.Address] = ev.Outcome
		}
	}
	uncertain := map[string]bool{} // nobody can tell what came of one of its attempts
	for name, s := range tanks {
		uncertain[name] = slices.ContainsFunc(s.attempts, func(a attempt) bool { return a.obscured || a.panics })
	}
	o := runtime.Options{Host: m, Registry: registry, Events: events}
	if _, err := runtime.Apply(t.Context(), compile(t, registry, site).Run, o); err != nil {
		t.Fatal(err)
	}
	for name, s := range tanks {
		_, err := m.Lstat("/" + name)
		if notified := err == nil; notified != s.changed && (s.changed || !uncertain[name]) {
			wrong = append(wrong, fmt.Sprintf("%s: changed %v, notified %v", name, s.changed, notified))
		}
	}
	return outcomes, wrong
}

// What a part has changed its handler is told, whichever attempt it was, and however that one
// and those before and after it have ended.
func TestHealedPartNotifies(t *testing.T) {
	fails, changes, unreadable := attempt{}, attempt{pours: tankSize, succeeds: true}, attempt{unreadable: true}
	for name, c := range map[string]struct {
		outcome  states.Outcome
		attempts []attempt
	}{
		"fails, then changes":                 {states.Changed, []attempt{fails, changes}},
		"cannot be read, then changes":        {states.Changed, []attempt{unreadable, changes}},
		"is changed by what fails":            {states.Changed, []attempt{{pours: tankSize}}},
		"is changed in part, then wholly":     {states.Changed, []attempt{{pours: 1}, changes}},
		"is changed in part, and fails":       {states.Failed, []attempt{{pours: 1}, fails, fails}},
		"is not as wanted after all":          {states.Changed, []attempt{{pours: 1, succeeds: true}, changes}},
		"changes, and cannot be read":         {states.Changed, []attempt{{pours: tankSize, succeeds: true, obscured: true}}},
		"is changed, and unreadable then":     {states.Failed, []attempt{{pours: 1}, unreadable, unreadable}},
		"cannot be read after it has changed": {states.Failed, []attempt{{pours: 1, obscured: true}, fails, fails}},
		"fails in every attempt":              {states.Failed, []attempt{fails, fails, fails}},
	} {
		for _, together := range []bool{false, true} {
			tanks := map[string]*tankState{"a": {attempts: c.attempts}, "b": {}, "c": {level: tankSize}}
			outcomes, wrong := fillTanks(t, tanks, together, "retry = { attempts = 3 }")
			if got := outcomes["tank.a"]; got != c.outcome || outcomes["tank.b"] != states.Changed || outcomes["tank.c"] != states.Unchanged {
				t.Errorf("what %s (together: %v) ended %s, not %s; the others %v", name, together, got, c.outcome, outcomes)
			}
			for _, w := range wrong {
				t.Errorf("what %s (together: %v): %s", name, together, w)
			}
		}
	}
}

// The same, whatever happens.
func TestHealedPartNotifiesAlways(t *testing.T) {
	rapidtest.For(t, "200")
	chance := rapid.IntRange(0, 3)
	attempts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) attempt {
		return attempt{
			pours: rapid.IntRange(0, tankSize).Draw(t, "pours"), succeeds: rapid.Bool().Draw(t, "succeeds"),
			panics: chance.Draw(t, "panics") == 0, unreadable: chance.Draw(t, "unreadable") == 0, obscured: chance.Draw(t, "obscured") == 0,
		}
	}), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		tanks := map[string]*tankState{}
		for i := range rapid.IntRange(1, 3).Draw(t, "tanks") {
			tanks[fmt.Sprint("t", i)] = &tankState{level: rapid.IntRange(0, tankSize).Draw(t, "level"), attempts: attempts.Draw(t, "attempts")}
		}
		options := fmt.Sprintf("retry = { attempts = %d }\n ignore_failure = %t", rapid.IntRange(1, 4).Draw(t, "allowed"), rapid.Bool().Draw(t, "ignored"))
		if _, wrong := fillTanks(t, tanks, rapid.Bool().Draw(t, "together"), options); len(wrong) > 0 {
			t.Error(wrong)
		}
	})
}

// servedSite is a server whose one site goes live twice, like those of std/nginx: without its
// certificate, and with it once that is there. What nobody put into use is not served.
const servedSite = `
state "site" {
  param "tls" {
    type    = bool
    default = false
  }
  file "site" {
    path     = "/site"
    content  = param.tls ? "with tls" : "plain"
    validate = ["check"]
    retry    = { attempts = 2 }
    notify   = [state.reload]
  }
}
run "plain" {
  state = state.site
  unless { exists = "/certificate" }
}
run "current" {
  state  = state.site
  params = { tls = true }
  only_if { exists = "/certificate" }
}
state "running" {
  require = [run.plain, run.current]
  unless { exists = "/running" }
  command "start" { argv = ["start"] }
}
state "certificate" {
  require = [state.running]
  unless { exists = "/certificate" }
  command "issue" {
    argv    = ["issue"]
    creates = "/certificate"
  }
}
run "secure" {
  state   = state.site
  params  = { tls = true }
  require = [state.certificate, run.plain, run.current]
}
state "reload" {
  lazy = true
  command "reload" {
    argv  = ["reload"]
    retry = { attempts = 2 }
  }
}
`

// server carries out the programs of servedSite. Each call takes the next of the fates.
type server struct {
	*host.Memory
	fates  []int  // 0: it works; 1: it fails; 2: it works, and says that it failed
	served string // what it has in use
}

func newServer(t *testing.T) *server {
	s := &server{Memory: host.NewMemory()}
	use := func() {
		if _, err := s.Lstat("/running"); err == nil {
			s.served = simulated.Text(s, "/site")
		}
	}
	for name, work := range map[string]func(){
		"check": func() {}, "reload": use,
		"issue": func() { write(t, s, "/certificate", "") },
		"start": func() { write(t, s, "/running", ""); use() },
	} {
		s.Handle(name, func(context.Context, host.Command) (host.Result, error) {
			fate := 0
			if len(s.fates) > 0 {
				fate, s.fates = s.fates[0], s.fates[1:]
			}
			if fate != 1 {
				work()
			}
			return host.Result{ExitCode: min(fate, 1)}, nil
		})
	}
	return s
}

// Whatever somebody has broken, and whatever fails while it is put right, in the end the
// server has in use what is in its file.
func TestHealedServerIsReloaded(t *testing.T) {
	rapidtest.For(t, "100")
	run := compile(t, modules.Standard(), servedSite).Run
	rapid.Check(t, func(rt *rapid.T) {
		s := newServer(t)
		o := runtime.Options{Host: s, Registry: modules.Standard(), Past: &journal.Ledger{}, Origin: "/site"}
		apply := func() *runtime.Result {
			got, err := runtime.Apply(rt.Context(), run, o)
			if err != nil {
				rt.Fatal(err)
			}
			o.Past = got.Left
			return got
		}
		for range rapid.IntRange(1, 4).Draw(rt, "times") {
			for _, harm := range rapid.SliceOf(rapid.SampledFrom([]string{"/site", "/certificate", "/running", "broken"})).Draw(rt, "harm") {
				if harm == "broken" {
					write(t, s, "/site", harm)
				} else if err := s.Remove(harm); err == nil && harm == "/running" {
					s.served = ""
				}
			}
			s.fates = rapid.SliceOfN(rapid.IntRange(0, 2), 0, 8).Draw(rt, "fates")
			apply()
		}
		s.fates = nil
		if got := apply(); got.Failed {
			rt.Fatalf("it fails without a reason: %+v", got.Report)
		}
		if file := simulated.Text(s, "/site"); file != "with tls" || s.served != file {
			rt.Errorf("its file says %q, and it serves %q", file, s.served)
		}
	})
}
