package ui_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// told is a line of what is told about hosts: one of its fields but Host is set.
type told struct {
	Host     string
	Prepared []string // addresses of handlers, of a run with so many parts
	State    fleet.State
	Event    *states.Event
	Note     string
	Ended    *fleet.Outcome
	Trouble  *states.Failure // why it ended so
}

var took = regexp.MustCompile(` in [0-9.]+(µs|ms|s|m)+\b`)

// TestFleet shows what is told about hosts in each form, each a file of an archive.
// stderr of a form is what comes there.
func TestFleet(t *testing.T) {
	shows(t, "testdata/fleet/*.txtar", []string{"kept", "stream", "quiet", "verbose", "color", "json", "summary"}, archive.fleet)
}

// fleet gives what one form shows.
func (a archive) fleet(form string) string {
	var lines []told
	var hosts []string
	for line := range strings.Lines(a.file("told")) {
		var one told
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		d.DisallowUnknownFields()
		if err := d.Decode(&one); err != nil {
			a.t.Fatalf("%s: %v", line, err)
		}
		lines = append(lines, one)
		if one.Host != "" && !slices.Contains(hosts, one.Host) {
			hosts = append(hosts, one.Host)
		}
	}
	var out, errs bytes.Buffer
	troubles := map[string]*states.Failure{}
	o := ui.FleetOptions{
		Out: &out, Err: &errs, Hosts: hosts, Plan: a.file("plan") != "", Execution: "20261121-220045-3fa9c1",
		JSON: form == "json", Quiet: form == "quiet", Summary: form == "summary", Verbose: form == "verbose", Color: form == "color",
		Trouble: func(o *fleet.Outcome) *states.Failure { return troubles[o.Machine] },
		Line:    a.options(form).Line,
	}
	if form == "kept" || form == "color" {
		o.Screen = func() (int, int) { return 80, 24 }
	}
	f := ui.NewFleet(o)
	var outcomes []fleet.Outcome
	for _, l := range lines {
		switch {
		case l.Prepared != nil:
			run := &states.StateRun{}
			for _, address := range l.Prepared {
				run.Invocations = append(run.Invocations, states.Invocation{Address: address, Handler: true})
			}
			f.Prepared(l.Host, &machine.Job{Run: run})
		case l.State != "":
			f.State(l.Host, l.State)
		case l.Event != nil:
			f.Event(l.Host, *l.Event)
		case l.Ended != nil:
			troubles[l.Host] = l.Trouble
			l.Ended.Machine = l.Host
			f.Ended(l.Host, *l.Ended)
			outcomes = append(outcomes, *l.Ended)
		default:
			f.Note(l.Host, machine.Note{Text: l.Note})
		}
	}
	slices.SortStableFunc(outcomes, func(a, b fleet.Outcome) int { return slices.Index(hosts, a.Machine) - slices.Index(hosts, b.Machine) })
	if err := f.Close(outcomes); err != nil {
		a.t.Error(err)
	}
	text := out.String()
	if errs.Len() > 0 {
		text += "stderr:\n" + errs.String()
	}
	return took.ReplaceAllString(strings.ReplaceAll(text, "\x1b", "␛"), " in TIME")
}

// What a host says that talks nonsense does not bury what the others say.
func TestFleetDropsNonsense(t *testing.T) {
	var out, errs bytes.Buffer
	f := ui.NewFleet(ui.FleetOptions{Out: &out, Err: &errs, Hosts: []string{"bad", "good"}, Plan: true,
		Trouble: func(o *fleet.Outcome) *states.Failure {
			if o.Err == nil {
				return nil
			}
			return &states.Failure{Message: o.Err.Error()}
		}})
	row := states.Event{Type: states.EventPart, Action: states.Create, Part: "file", Outcome: states.Changed, Address: "file.flood"}
	for range 100 {
		f.Event("bad", row)
	}
	failed := row
	failed.Outcome, failed.Address, failed.Error = states.Failed, "file.broken", &states.Failure{Message: "flood"}
	f.Event("bad", failed)
	row.Address = "file.mine"
	f.Event("good", row)
	failed.Address, failed.Error = "file.other", &states.Failure{Message: "a true one"}
	f.Event("good", failed)
	outcomes := []fleet.Outcome{{Machine: "bad", Status: fleet.Failed, Err: &wire.ProtocolError{Message: "it has said too much"}}, {Machine: "good", Status: fleet.Done}}
	for _, o := range outcomes {
		f.Ended(o.Machine, o)
	}
	if err := f.Close(outcomes); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if strings.Contains(text, "flood") || strings.Contains(text, "broken") {
		t.Errorf("%s", text)
	}
	for _, want := range []string{"file.mine", "a true one", "it has said too much"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}
