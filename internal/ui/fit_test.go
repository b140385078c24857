package ui_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

const hostile = "x\x1b[31m\x07\u202e"

// poison puts the text into all texts that there are in a value.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(hostile)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			poison(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		poison(v.Elem())
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() { // which was read as JSON
			text, _ := json.Marshal(hostile)
			v.SetBytes(text)
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		poison(v.Index(0))
	case reflect.Interface:
		v.Set(reflect.ValueOf(hostile))
	}
}

// Whatever a machine says, and leaves out, nothing of it commands a terminal, and nothing
// breaks down.
func TestHostileEvents(t *testing.T) {
	types := []string{
		states.EventRun, states.EventResume, states.EventStart, states.EventInvocation, states.EventBegin, states.EventPart, states.EventRetry,
		states.EventSaid, states.EventOwed, states.EventDropped, states.EventUnknown, states.EventOrphan, states.EventForgotten, states.EventCleaned,
		states.EventConfirm, states.EventRestored, states.EventSummary, "nonsense",
	}
	outcomes := []states.Outcome{"", states.Changed, states.Failed, states.Unknown, states.Skipped, states.Blocked, states.Idle, states.Rescued, hostile}
	actions := []states.Action{"", states.Create, states.Remove, states.Execute, hostile}
	var all, plain []states.Event
	for _, kind := range types {
		for _, outcome := range outcomes {
			for _, action := range actions {
				var ev states.Event
				poison(reflect.ValueOf(&ev).Elem())
				ev.Type, ev.Outcome, ev.Action = kind, outcome, action
				all = append(all, ev)
				plain = append(plain, states.Event{Type: kind, Outcome: outcome, Action: action})
			}
		}
	}
	failure := &states.Failure{Code: hostile, Message: hostile, Hint: hostile, Source: hostile}
	look := func(name, text string) {
		t.Helper()
		if strings.ContainsAny(text, "\x07\u202e") || strings.Contains(text, "\x1b[31m") {
			at := strings.IndexAny(text, "\x07\u202e\x1b")
			t.Errorf("%s: %q", name, text[max(0, at-60):min(len(text), at+60)])
		}
	}
	for _, events := range [][]states.Event{all, plain} {
		for _, plan := range []bool{false, true} {
			for _, screen := range []func() (int, int){nil, func() (int, int) { return 80, 24 }} {
				var out, err bytes.Buffer
				f := ui.NewFleet(ui.FleetOptions{Out: &out, Err: &err, Hosts: []string{"m"}, Plan: plan, Verbose: true, Screen: screen,
					Trouble: func(*fleet.Outcome) *states.Failure { return failure }, Line: func(string) string { return hostile }})
				f.State("m", fleet.Running)
				for _, ev := range events {
					f.Event("m", ev)
				}
				f.Note("m", machine.Note{Text: hostile})
				o := fleet.Outcome{Machine: "m", Status: fleet.Failed, Err: &machine.Error{HintError: *failure.Err()}, Result: &machine.Result{Run: hostile}}
				f.Ended("m", o)
				if err := f.Close([]fleet.Outcome{o}); err != nil {
					t.Error(err)
				}
				look("hosts", out.String())
				look("notes", err.String())
			}
			for i := range events {
				look("row", ui.Row(&events[i]))
				look("difference", ui.Stale(hostile, &events[i], &events[len(events)-1-i], hostile, false))
			}
			var out bytes.Buffer
			r := ui.Text(&out, ui.TextOptions{Verbose: true})
			for _, ev := range events {
				r.Event(ev)
			}
			r.Close()
			look("log", out.String())
		}
	}
}
