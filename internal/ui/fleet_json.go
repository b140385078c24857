package ui

import (
	"encoding/json"
	"time"

	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/states"
)

// fleetJSON writes lines of JSON: events as they come, each with its host, how it
// ended with each host, and at last with all of them.
type fleetJSON struct {
	encoder *json.Encoder
	options FleetOptions
	err     error
}

// hostEnd is how it ended with one host: a line, and an entry of the last one.
type hostEnd struct {
	Type        string          `json:"type,omitempty"` // "host"
	Host        string          `json:"host"`
	Status      fleet.Status    `json:"status"`
	Run         string          `json:"run,omitempty"`
	Interrupted bool            `json:"interrupted,omitempty"`
	Rebooting   bool            `json:"rebooting,omitempty"`
	Error       *states.Failure `json:"error,omitempty"`
	Duration    time.Duration   `json:"duration"` // nanoseconds
	*states.Counts
}

// fleetEnd is the last line.
type fleetEnd struct {
	Type      string               `json:"type"` // "fleet"
	Execution string               `json:"execution,omitempty"`
	Status    map[fleet.Status]int `json:"status"` // how many hosts ended how
	Hosts     []hostEnd            `json:"hosts"`
	states.Counts
}

// hostNote is a line for people about a host.
type hostNote struct {
	Type string `json:"type"`           // "note"
	Host string `json:"host,omitempty"` // empty: all
	Text string `json:"text"`
}

func newFleetJSON(o FleetOptions) *fleetJSON {
	return &fleetJSON{encoder: plainjson.NewEncoder(o.Out), options: o}
}

func (j *fleetJSON) line(v any) {
	if j.err == nil {
		j.err = j.encoder.Encode(v)
	}
}

func (j *fleetJSON) prepared(string, *states.StateRun)     {}
func (j *fleetJSON) note(machine, text string)             { j.line(hostNote{"note", machine, text}) }
func (j *fleetJSON) ended(machine string, o fleet.Outcome) { j.line(j.endOf("host", &o)) }

func (j *fleetJSON) event(_ string, ev states.Event) {
	if !j.options.Summary {
		j.line(ev)
	}
}

func (j *fleetJSON) differs(_, _ string, rows []any) {
	for _, row := range rows {
		j.line(row)
	}
}

func (j *fleetJSON) endOf(kind string, o *fleet.Outcome) hostEnd {
	e := hostEnd{Type: kind, Host: o.Machine, Status: o.Status, Run: o.Run, Error: j.options.Trouble(o), Duration: o.Duration}
	if r := o.Result; r != nil {
		e.Counts, e.Interrupted, e.Rebooting = &r.Counts, r.Interrupted, r.Rebooting
	}
	return e
}

func (j *fleetJSON) close(outcomes []fleet.Outcome) error {
	end := fleetEnd{Type: "fleet", Execution: j.options.Execution, Status: map[fleet.Status]int{}, Hosts: []hostEnd{}}
	for i := range outcomes {
		o := &outcomes[i]
		end.Status[o.Status]++
		end.Hosts = append(end.Hosts, j.endOf("", o))
		if r := o.Result; r != nil {
			addCounts(&end.Counts, &r.Counts)
		}
	}
	j.line(end)
	return j.err
}

// addCounts adds numbers to others.
func addCounts(to, c *states.Counts) {
	for _, pair := range [][2]*int{
		{&to.Changed, &c.Changed}, {&to.Unchanged, &c.Unchanged}, {&to.Failed, &c.Failed}, {&to.Blocked, &c.Blocked},
		{&to.Skipped, &c.Skipped}, {&to.Idle, &c.Idle}, {&to.Unknown, &c.Unknown}, {&to.Retried, &c.Retried},
		{&to.Create, &c.Create}, {&to.Update, &c.Update}, {&to.Remove, &c.Remove}, {&to.Execute, &c.Execute}, {&to.Maybe, &c.Maybe},
		{&to.AsThingsAre, &c.AsThingsAre},
	} {
		*pair[0] += *pair[1]
	}
}
