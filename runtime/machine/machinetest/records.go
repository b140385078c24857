package machinetest

import (
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

func recordTests() []test {
	return []test{
		{"records before the first run", testNoRecords},
		{"status and history", testStatus},
		{"status of a run that goes on", testProgress},
		{"logs", testLogs},
		{"what sites have created, and forget", testForget},
		{"forget what a handler is owed", testForgetOwed},
		{"clean", testClean},
		{"clean what is needed", testCleanNeeded},
	}
}

// managed lists what sites have created.
func (s *suite) managed() []machine.ManagedSite {
	s.Helper()
	inventory, ok := s.Machine.(machine.Inventory)
	if !ok {
		s.Fatalf("%T cannot list what sites have created", s.Machine)
	}
	return must[[]machine.ManagedSite](s)(inventory.Managed(s.ctx))
}

// status tells how a run stands, or the machine.
func (s *suite) status(id string) *machine.Status {
	s.Helper()
	return must[*machine.Status](s)(s.Status(s.ctx, id))
}

func testNoRecords(s *suite) {
	if now := s.status(""); marshal(s, now) != marshal(s, machine.NewStatus()) {
		s.Errorf("the status is %s", marshal(s, now))
	}
	_, err := s.Status(s.ctx, "20250101-000000-abcdef")
	s.refused(err, machine.CodeNotFound)
	if list := s.history(); list == nil || len(list) > 0 {
		s.Errorf("the history is %+v", list)
	}
	if list := s.managed(); list != nil {
		s.Errorf("sites have created %+v", list)
	}
	_, err = s.Logs(s.ctx, machine.LogRequest{}, machine.Observer{})
	s.refused(err, machine.CodeNotFound)
	_, err = s.Forget(s.ctx, machine.ForgetRequest{Addresses: []string{"file.a"}}, machine.Observer{})
	s.refused(err, machine.CodeNotFound)
	cleaned := must[*machine.CleanResult](s)(s.Clean(s.ctx, machine.CleanRequest{}))
	if len(cleaned.Removed) > 0 || len(cleaned.Kept) > 0 {
		s.Errorf("removed was %s", marshal(s, cleaned))
	}
	_, err = s.Clean(s.ctx, machine.CleanRequest{ID: "20250101-000000-abcdef"})
	s.refused(err, machine.CodeNotFound)
}

func testStatus(s *suite) {
	first, _ := s.apply(s.job(execution, s.file("a", "one\n")))
	second, _ := s.apply(s.job("20260101-000001-abcdef", s.file("a", "one\n")))
	for id, want := range map[string]string{"": second.Run, first.Run: first.Run, execution: first.Run, "20260101-000001": second.Run} {
		now := s.status(id)
		if now.Status == nil || now.Run != want || now.State != journal.Done || now.Site != "suite" || now.Host != "subject" || now.Counts == nil {
			s.Errorf("%q: the status is %s", id, marshal(s, now))
		}
		if now.Applying != nil || now.Hold != nil || now.Progress != nil || len(now.Owed)+len(now.Unknown)+len(now.Unconfirmed)+len(now.Failures) > 0 {
			s.Errorf("%q: something is left: %s", id, marshal(s, now))
		}
	}
	if now := s.status(first.Run); *now.Counts != first.Counts || now.Execution != execution || now.Origin != "here:/site" {
		s.Errorf("the status is %s", marshal(s, now))
	}
	var runs []string
	for _, run := range s.history() {
		runs = append(runs, run.Run)
		if len(run.Undone) > 0 {
			s.Errorf("run %s has left %q", run.Run, run.Undone)
		}
	}
	if !slices.Equal(runs, []string{first.Run, second.Run}) {
		s.Errorf("the history is %q", runs)
	}
	for _, id := range []string{"20250101-000000-abcdef", "../../etc/passwd"} {
		_, err := s.Status(s.ctx, id)
		if e := s.refused(err, machine.CodeNotFound); e.Hint == "" {
			s.Errorf("there is no hint: %v", e)
		}
	}
}

func testProgress(s *suite) {
	c := s.begin(s.ctx, s.Machine, s.job(execution, s.file("a", "one\n"), s.gate("gate")))
	c.begins(s, "wait_for.gate")
	beside := s.Another()
	// What a run has done is on the disk a moment after it is told.
	r := newRecorder()
	logs := start(func(machine.Observer) (*machine.Result, error) {
		_, err := beside.Logs(s.ctx, machine.LogRequest{Run: machine.RunRef{ID: execution}, Follow: true}, r.observer())
		return nil, err
	})
	r.begins(s, "wait_for.gate")
	third := s.Another()
	now := must[*machine.Status](s)(third.Status(s.ctx, ""))
	if now.Status == nil || now.State != journal.Running || now.Applying == nil || now.Applying.Run != c.run(s) {
		s.Errorf("the status is %s", marshal(s, now))
	}
	if p := now.Progress; p == nil || p.Parts != 2 || p.Ended != 1 || len(p.Now) != 1 || p.Now[0].Address != "wait_for.gate" {
		s.Errorf("the progress is %s", marshal(s, now))
	}
	_, err := third.Clean(s.ctx, machine.CleanRequest{ID: execution})
	if e := s.refused(err, machine.CodeLocked); e.Hint == "" {
		s.Errorf("there is no hint: %v", e)
	}
	s.open("gate")
	if _, err := c.end(s); err != nil {
		s.Error(err)
	}
	if _, err := logs.end(s); err != nil {
		s.Error(err)
	}
	if marshal(s, r.events) != marshal(s, c.events) {
		s.Errorf("the log tells %s, not %s", marshal(s, r.events), marshal(s, c.events))
	}
}

func testLogs(s *suite) {
	result, first := s.apply(s.job(execution, shell("print", "echo printed; echo wrong >&2")))
	for after := range int64(3) {
		r := newRecorder()
		outputs, err := s.Logs(s.ctx, machine.LogRequest{Run: machine.RunRef{ID: result.Run, After: after}, Follow: after == 2}, r.observer())
		if err != nil || marshal(s, r.events) != marshal(s, first.events[after:]) {
			s.Errorf("after %d: %s, %v", after, marshal(s, r.events), err)
		}
		text := map[string]string{}
		for _, o := range outputs {
			text[o.Name] = o.Text
		}
		if len(outputs) != 2 || text["command.print.stdout"] != "printed\n" || text["command.print.stderr"] != "wrong\n" {
			s.Errorf("it has printed %q", text)
		}
	}
	_, err := s.Logs(s.ctx, machine.LogRequest{Run: machine.RunRef{ID: "20250101-000000-abcdef"}}, machine.Observer{})
	s.refused(err, machine.CodeNotFound)
}

func testForget(s *suite) {
	s.apply(s.job(execution, s.file("a", "one\n"), s.file("b", "two\n")))
	keys := func() (list []string) {
		for _, site := range s.managed() {
			for _, r := range site.Resources {
				list = append(list, site.Site+" "+r.Address+" "+r.Key)
			}
		}
		return list
	}
	a, b := "suite file.a "+s.path("a"), "suite file.b "+s.path("b")
	if list := keys(); !slices.Equal(list, []string{a, b}) {
		s.Errorf("sites have created %q", list)
	}
	events := must[[]states.Event](s)(s.Forget(s.ctx, machine.ForgetRequest{Addresses: []string{"file.a"}}, machine.Observer{}))
	if len(events) != 1 || events[0].Type != states.EventForgotten || events[0].Address != "file.a" || events[0].Key != s.path("a") {
		s.Errorf("it forgets %s", marshal(s, events))
	}
	if list := keys(); !slices.Equal(list, []string{b}) {
		s.Errorf("what is left is %q", list)
	}
	s.holds("a", "one\n")
	for _, f := range []machine.ForgetRequest{{Addresses: []string{"file.a"}}, {Addresses: []string{"file.b"}, Site: "another"}} {
		_, err := s.Forget(s.ctx, f, machine.Observer{})
		if e := s.refused(err, machine.CodeNotFound); e.Hint == "" {
			s.Errorf("there is no hint: %v", e)
		}
	}
	_, err := s.Forget(s.ctx, machine.ForgetRequest{}, machine.Observer{})
	s.refused(err, "")
}

// owing leaves a run that is cancelled after it has changed what a handler is owed.
func (s *suite) owing() (run string) {
	s.Helper()
	j := s.job(execution, s.file("a", "one\n"), s.gate("gate"), shell("reload", "true"))
	handler := &j.Run.Invocations[2]
	handler.Handler, handler.Requires = true, []string{"wait_for.gate"}
	handler.NotifiedBy = []states.Notification{{Address: "file.a", On: states.OnChange}}
	c := s.begin(s.ctx, s.Machine, j)
	c.begins(s, "wait_for.gate")
	if err := s.Cancel(s.ctx, machine.RunRef{}); err != nil {
		s.Fatal(err)
	}
	s.interrupted(c)
	now := s.status("")
	if len(now.Owed) != 1 || now.Owed[0].Handler != "command.reload" || now.Owed[0].Run != c.run(s) || now.Failures["suite"] == nil || !now.Failures["suite"].GoesOn {
		s.Fatalf("the status is %s", marshal(s, now))
	}
	if list := s.history(); len(list) != 1 || !slices.Contains(list[0].Undone, "1 owed") {
		s.Errorf("the history is %+v", list)
	}
	return c.run(s)
}

func testForgetOwed(s *suite) {
	s.owing()
	events := must[[]states.Event](s)(s.Forget(s.ctx, machine.ForgetRequest{Addresses: []string{"command.reload"}, Site: "suite"}, machine.Observer{}))
	if len(events) != 1 || events[0].Type != states.EventDropped || events[0].Address != "command.reload" {
		s.Errorf("it forgets %s", marshal(s, events))
	}
	if now := s.status(""); len(now.Owed) > 0 {
		s.Errorf("the status is %s", marshal(s, now))
	}
}

func testClean(s *suite) {
	first, _ := s.apply(s.job(execution, s.file("a", "one\n")))
	second, _ := s.apply(s.job("20260101-000001-abcdef", s.file("a", "one\n")))
	third, _ := s.apply(s.job("20260101-000002-abcdef", s.file("a", "one\n")))
	for _, c := range []struct {
		which   machine.CleanRequest
		removed []string
	}{
		{machine.CleanRequest{ID: execution}, []string{first.Run}},
		{machine.CleanRequest{Keep: 2}, []string{}},
		{machine.CleanRequest{Keep: 1}, []string{second.Run}},
	} {
		done := must[*machine.CleanResult](s)(s.Clean(s.ctx, c.which))
		if !slices.Equal(done.Removed, c.removed) || len(done.Kept) > 0 {
			s.Errorf("%+v: removed was %s", c.which, marshal(s, done))
		}
	}
	if list := s.history(); len(list) != 1 || list[0].Run != third.Run {
		s.Errorf("the history is %+v", list)
	}
	for _, id := range []string{first.Run, "../../etc"} {
		_, err := s.Clean(s.ctx, machine.CleanRequest{ID: id})
		if e := s.refused(err, machine.CodeNotFound); e.Hint == "" {
			s.Errorf("%s: there is no hint: %v", id, e)
		}
	}
}

func testCleanNeeded(s *suite) {
	run := s.owing()
	_, err := s.Clean(s.ctx, machine.CleanRequest{ID: run})
	if e := s.refused(err, machine.CodeNeeded); e.Hint == "" || !strings.Contains(e.Error(), "command.reload") {
		s.Errorf("it is needed: %v (%s)", e, e.Hint)
	}
	done := must[*machine.CleanResult](s)(s.Clean(s.ctx, machine.CleanRequest{}))
	if len(done.Removed) > 0 || len(done.Kept) != 1 || done.Kept[0].Run != run || len(done.Kept[0].What) == 0 {
		s.Errorf("removed was %s", marshal(s, done))
	}
	if list := s.history(); len(list) != 1 {
		s.Errorf("the history is %+v", list)
	}
}
