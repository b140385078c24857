package machinetest

import (
	"encoding/json"
	"slices"

	"github.com/tenetcm/tenet/runtime/machine"
)

func controlTests() []test {
	return []test{
		{"ping", testPing},
		{"facts", testFacts},
		{"run a program", testExec},
		{"cancel a program", testExecCancel},
	}
}

func testPing(s *suite) {
	id := must[*machine.Identity](s)(s.Ping(s.ctx))
	if id.OS == "" || id.Arch == "" || id.User == "" || id.UID < 0 || id.Program == "" || id.Now.IsZero() {
		s.Errorf("it is %+v", id)
	}
	facts := must[*machine.Facts](s)(s.Facts(s.ctx, []string{"uid"}))
	if uid, ok := facts.Values["uid"].(json.Number); !ok || uid.String() != marshal(s, id.UID) {
		s.Errorf("the user is %+v, and the fact %#v", id, facts.Values["uid"])
	}
}

func testFacts(s *suite) {
	facts := must[*machine.Facts](s)(s.Facts(s.ctx, []string{"hostname", "no_such_fact"}))
	if name, err := facts.Fact("hostname"); err != nil || name == "" || name == nil {
		s.Errorf("the name is %#v, %v", name, err)
	}
	if _, err := facts.Fact("no_such_fact"); err == nil || facts.Errors["no_such_fact"] == "" || len(facts.Values) != 1 || len(facts.Errors) != 1 {
		s.Errorf("the facts are %+v", facts)
	}
	all := must[*machine.Facts](s)(s.Facts(s.ctx, []string{machine.AllFacts}))
	for _, name := range []string{"hostname", "uid", "memory", "kernel"} {
		if value, ok := all.Values[name]; !ok || !plain(value) {
			s.Errorf("the fact %s is %#v: %s", name, value, all.Errors[name])
		}
	}
	for name, value := range all.Values {
		if !plain(value) {
			s.Errorf("the fact %s is no value of JSON: %#v", name, value)
		}
	}
	if none := must[*machine.Facts](s)(s.Facts(s.ctx, nil)); len(none.Values)+len(none.Errors) > 0 {
		s.Errorf("nothing was asked for: %+v", none)
	}
}

// plain tells whether a value is one of JSON.
func plain(value any) bool {
	switch value := value.(type) {
	case nil, string, bool, json.Number:
		return true
	case []any:
		return !slices.ContainsFunc(value, func(v any) bool { return !plain(v) })
	case map[string]any:
		for _, v := range value {
			if !plain(v) {
				return false
			}
		}
		return true
	}
	return false
}

func testExec(s *suite) {
	r := newRecorder()
	status, err := s.Exec(s.ctx, machine.Exec{
		Argv: []string{"/bin/sh", "-c", `pwd; cat; echo wrong >&2; exit 3`}, Dir: s.Dir, Stdin: []byte("what it reads\n"),
	}, r.observer())
	if err != nil || status != 3 {
		s.Errorf("the exit status is %d, %v", status, err)
	}
	if r.output["stdout"] != s.Dir+"\nwhat it reads\n" || r.output["stderr"] != "wrong\n" || len(r.output) != 2 {
		s.Errorf("it prints %q", r.output)
	}
	if status, err := s.Exec(s.ctx, machine.Exec{Argv: []string{"/bin/sh", "-c", "true"}}, machine.Observer{}); err != nil || status != 0 {
		s.Errorf("the exit status is %d, %v", status, err)
	}
	_, err = s.Exec(s.ctx, machine.Exec{}, machine.Observer{})
	s.refused(err, "")
	_, err = s.Exec(s.ctx, machine.Exec{Argv: []string{s.path("no-such-program")}}, machine.Observer{})
	s.refused(err, "")
}

func testExecCancel(s *suite) {
	c := start(func(o machine.Observer) (*machine.Result, error) {
		_, err := s.Exec(s.ctx, machine.Exec{Argv: []string{"/bin/sh", "-c", "echo begun; sleep 1000"}}, o)
		return nil, err
	})
	c.await(s, "what it prints", func() bool { return c.output["stdout"] != "" })
	if err := s.Cancel(s.ctx, machine.RunRef{}); err != nil {
		s.Fatal(err)
	}
	_, err := c.end(s)
	s.refused(err, machine.CodeInterrupted)
}
