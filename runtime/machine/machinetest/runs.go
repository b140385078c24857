package machinetest

import (
	"maps"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

func runTests() []test {
	return []test{
		{"a plan changes nothing", testPlan},
		{"an apply does what was planned", testApply},
		{"a second apply has nothing to do", testSecondApply},
		{"a part that fails is in the result", testFailure},
		{"rows that fit are applied", testRowsFit},
		{"rows that do not fit", testRowsStale},
		{"follow a run that has ended", testFollowEnded},
		{"follow a run that goes on", testFollowRunning},
		{"follow an unknown run", testFollowUnknown},
		{"an execution is carried out once", testExecutionOnce},
		{"secrets are in no answer", testSecrets},
	}
}

const execution = "20260101-000000-abcdef"

func testPlan(s *suite) {
	result, r := s.plan(s.job("", s.file("a", "one\n"), s.sourceFile("b")))
	if c := result.Counts; c.Create != 2 || result.Failed || result.Interrupted {
		s.Errorf("the result is %+v", result)
	}
	rows := map[string]states.Action{}
	for _, ev := range r.events {
		if ev.Type == states.EventPart {
			rows[ev.Address] = ev.Action
		}
	}
	if want := (map[string]states.Action{"file.a": states.Create, "file.b": states.Create}); !maps.Equal(rows, want) {
		s.Errorf("the rows are %v", rows)
	}
	if len(r.started) > 0 || r.sent != 1 {
		s.Errorf("it has begun %v, and was sent %d times", r.started, r.sent)
	}
	s.lacks("a", "b")
	if list := s.history(); len(list) > 0 {
		s.Errorf("a plan is recorded: %+v", list)
	}
}

func testApply(s *suite) {
	result, r := s.apply(s.job(execution, s.file("a", "one\n"), s.sourceFile("b")))
	if result.Counts.Changed != 2 || result.Failed || result.Interrupted || result.Rebooting || result.Report == nil {
		s.Errorf("the result is %+v", result)
	}
	if r.early || r.run(s) != result.Run || r.started[0].After != 0 || r.sent != 1 {
		s.Errorf("started %+v (an event before that: %v) as %q, sent %d times", r.started, r.early, result.Run, r.sent)
	}
	r.follows(s, 0)
	if first := r.events[0]; first.Type != states.EventRun || first.Run != result.Run || first.Host != "subject" {
		s.Errorf("the first event is %s", marshal(s, first))
	}
	if last := r.events[len(r.events)-1]; last.Type != states.EventSummary || last.Counts == nil || *last.Counts != result.Counts {
		s.Errorf("the last event is %s", marshal(s, last))
	}
	if want := (map[string]states.Outcome{"file.a": states.Changed, "file.b": states.Changed}); !maps.Equal(r.outcomes(), want) {
		s.Errorf("the outcomes are %v", r.outcomes())
	}
	s.holds("a", "one\n")
	s.holds("b", sourceText)
}

func testSecondApply(s *suite) {
	first, _ := s.apply(s.job(execution, s.file("a", "one\n"), s.sourceFile("b")))
	second, r := s.apply(s.job("20260101-000001-abcdef", s.file("a", "one\n"), s.sourceFile("b")))
	if second.Counts.Unchanged != 2 || second.Counts.Changed != 0 || second.Run == first.Run {
		s.Errorf("the result is %+v after run %s", second, first.Run)
	}
	r.follows(s, 0)
}

func testFailure(s *suite) {
	result, r := s.apply(s.job(execution, shell("wrong", "exit 3"), s.file("a", "one\n")))
	if !result.Failed || result.Interrupted || result.Counts.Failed != 1 || result.Counts.Changed != 1 {
		s.Errorf("the result is %+v", result)
	}
	if r.outcomes()["command.wrong"] != states.Failed {
		s.Errorf("the outcomes are %v", r.outcomes())
	}
	now := must[*machine.Status](s)(s.Status(s.ctx, ""))
	if now.Status == nil || now.State != journal.Failed || now.Failures["suite"] == nil {
		s.Errorf("the status is %s", marshal(s, now))
	}
}

// rows plans a job, and consents to it.
func (s *suite) rows(j *machine.Job) *machine.Job {
	s.Helper()
	planned := *j
	planned.Observe = true
	_, r := s.plan(&planned)
	j.Rows = r.events
	return j
}

func testRowsFit(s *suite) {
	result, r := s.apply(s.rows(s.job(execution, s.file("a", "one\n"), s.sourceFile("b"))))
	if result.Counts.Changed != 2 {
		s.Errorf("the result is %+v", result)
	}
	r.follows(s, 0)
	s.holds("a", "one\n")
}

func testRowsStale(s *suite) {
	s.write("b", "as it was\n")
	j := s.rows(s.job(execution, s.file("a", "one\n"), s.file("b", "two\n")))
	s.write("b", "by hand\n")
	r := newRecorder()
	result, err := s.Apply(s.ctx, j, r.observer())
	e := s.refused(err, machine.CodeStale)
	if result != nil || len(r.started) > 0 || len(r.events) > 0 {
		s.Errorf("it has begun: %+v, %+v, %s", result, r.started, marshal(s, r.events))
	}
	if e.Hint == "" || len(e.Differences) != 1 || e.Differences[0].Address() != "file.b" || e.Differences[0].Planned == nil || e.Differences[0].Now == nil {
		s.Errorf("the differences are %s, with the hint %q", marshal(s, e.Differences), e.Hint)
	}
	s.lacks("a")
	s.holds("b", "by hand\n")
	if list := s.history(); len(list) > 0 {
		s.Errorf("it is recorded: %+v", list)
	}
}

func testFollowEnded(s *suite) {
	result, first := s.apply(s.job(execution, s.file("a", "one\n"), s.file("b", "two\n")))
	for _, run := range []machine.RunRef{
		{}, {ID: result.Run}, {ID: execution, Host: "subject"}, {ID: execution[:15], After: 1}, {ID: result.Run, After: 3}, {ID: result.Run, After: 5},
	} {
		r := newRecorder()
		again, err := s.Another().Follow(s.ctx, run, r.observer())
		if err != nil || again == nil || again.Run != result.Run || again.Counts != result.Counts || again.Failed || again.Interrupted {
			s.Errorf("%+v: the result is %+v, %v", run, again, err)
		}
		if r.run(s) != result.Run || r.early || r.started[0].After != run.After || r.sent != 1 {
			s.Errorf("%+v: started %+v, sent %d times", run, r.started, r.sent)
		}
		if got, want := marshal(s, r.events), marshal(s, first.events[run.After:]); got != want {
			s.Errorf("%+v: the events are %s, not %s", run, got, want)
		}
	}
	r := newRecorder()
	if again, err := s.Follow(s.ctx, machine.RunRef{ID: result.Run, After: int64(len(first.events))}, r.observer()); err != nil || again.Run != result.Run || len(r.events) > 0 {
		s.Errorf("after the last one: %+v, %v, %s", again, err, marshal(s, r.events))
	}
}

func testFollowRunning(s *suite) {
	first := s.begin(s.ctx, s.Machine, s.job(execution, s.gate("gate"), s.file("a", "one\n")))
	first.begins(s, "wait_for.gate")
	beside := s.Another()
	second := start(func(o machine.Observer) (*machine.Result, error) {
		return beside.Follow(s.ctx, machine.RunRef{ID: execution, Host: "subject"}, o)
	})
	second.begins(s, "wait_for.gate")
	s.open("gate")
	for _, c := range []*call{first, second} {
		result, err := c.end(s)
		if err != nil || result.Counts.Changed != 1 || result.Run != first.run(s) {
			s.Errorf("the result is %+v, %v", result, err)
		}
		c.follows(s, 0)
	}
	if marshal(s, first.events) != marshal(s, second.events) {
		s.Errorf("who follows is told %s, not %s", marshal(s, second.events), marshal(s, first.events))
	}
}

func testFollowUnknown(s *suite) {
	follow := func(id, host string) {
		s.Helper()
		result, err := s.Follow(s.ctx, machine.RunRef{ID: id, Host: host}, machine.Observer{})
		if s.refused(err, machine.CodeNotFound); result != nil {
			s.Errorf("%s: there is a result: %+v", id, result)
		}
	}
	follow("", "")
	follow("20250101-000000-abcdef", "")
	follow("../../etc/passwd", "")
	s.apply(s.job(execution, s.file("a", "one\n")))
	follow("20250101-000000-abcdef", "")
	follow("20250101-000000-abcdef", "subject")
	follow(execution, "another")
	follow("../../etc/passwd", "")
}

func testExecutionOnce(s *suite) {
	first := s.begin(s.ctx, s.Machine, s.job(execution, s.gate("gate"), s.file("a", "one\n")))
	first.begins(s, "wait_for.gate")
	s.open("gate")
	if _, err := first.end(s); err != nil {
		s.Fatal(err)
	}
	s.write("a", "by hand\n")
	result, again := s.apply(s.job(execution, s.gate("gate"), s.file("a", "one\n")))
	if result.Run != first.run(s) || result.Counts.Changed != 1 || marshal(s, again.events) != marshal(s, first.events) {
		s.Errorf("the result is %+v, and the events are %s", result, marshal(s, again.events))
	}
	s.holds("a", "by hand\n")
	if list := s.history(); len(list) != 1 {
		s.Errorf("there are %d runs", len(list))
	}
}

func testSecrets(s *suite) {
	const secret = "hunter2-and-more"
	var told []any
	j := func(execution string) *machine.Job {
		hidden := s.file("hidden", secret+"\n")
		hidden.Sensitive = []string{"content"}
		j := s.job(execution, hidden, shell("print", "cat "+s.path("hidden")), shell("fail", "echo "+secret+" >&2; exit 1"))
		j.Run.Secrets = []string{secret}
		return j
	}
	record := func(r *recorder, result *machine.Result, err error) {
		s.Helper()
		told = append(told, r.events, r.notes, r.output, result)
		if err != nil {
			told = append(told, err.Error())
		}
	}
	planned := s.rows(j(execution))
	told = append(told, planned.Rows)
	s.write("hidden", secret+", changed\n")
	r := newRecorder()
	_, err := s.Apply(s.ctx, planned, r.observer())
	told = append(told, s.refused(err, machine.CodeStale).Differences, err.Error())
	result, r := s.apply(j(execution))
	record(r, result, nil)
	s.holds("hidden", secret+"\n")
	r = newRecorder()
	result, err = s.Follow(s.ctx, machine.RunRef{ID: result.Run}, r.observer())
	record(r, result, err)
	outputs := must[[]machine.Output](s)(s.Logs(s.ctx, machine.LogRequest{Run: machine.RunRef{ID: result.Run}}, r.observer()))
	if len(outputs) == 0 {
		s.Error("nothing is known of what was printed")
	}
	told = append(told, outputs, s.history(), s.managed(), must[*machine.Status](s)(s.Status(s.ctx, "")))
	for _, v := range told {
		if text := marshal(s, v); strings.Contains(text, secret) {
			s.Errorf("it is in %s", text)
		}
	}
	if !slices.ContainsFunc(r.events, func(ev states.Event) bool { return ev.Address == "command.fail" && ev.Error != nil }) {
		s.Error("what fails is not told of")
	}
}
