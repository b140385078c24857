package cli

import (
	"fmt"
	"time"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/states"
)

type showCmd struct {
	File string `arg:"" help:"A plan that tenet plan -o FILE has saved."`
	summaryFlags
	HTML bool `name:"html" help:"Print a page of HTML."`
}

// shownPlan is a saved plan, for programs.
type shownPlan struct {
	Format    string           `json:"format"`
	Program   string           `json:"program"` // the version that made it
	Created   time.Time        `json:"created"`
	Encrypted bool             `json:"encrypted"`
	Failed    bool             `json:"failed,omitempty"`
	Host      planfile.Host    `json:"host"`
	Site      string           `json:"site,omitempty"`
	Origin    string           `json:"origin"`
	Revision  string           `json:"revision"`
	Counts    states.Counts    `json:"counts"`
	Rows      []shownRow       `json:"rows"`
	Run       *states.StateRun `json:"run"` // secrets masked
}

// shownRow is a row without its number and time, which a saved one has not: the
// outer fields hide those of the event.
type shownRow struct {
	states.Event
	Seq  *int `json:"seq,omitempty"`
	Time *int `json:"time,omitempty"`
}

func rowOf(ev *states.Event) *shownRow {
	if ev == nil {
		return nil
	}
	return &shownRow{Event: *ev}
}

// Run shows a saved plan, for which neither the host nor the site is needed.
func (cmd *showCmd) Run(ctx runContext, s *client) error {
	if err := s.onlySaved(false); err != nil {
		return err
	}
	if cmd.HTML && s.globals.JSON {
		return usage("", "--html and --json contradict each other")
	}
	if cmd.Summary && (cmd.HTML || s.globals.JSON) {
		return usage("leave it out", "--summary is for people, and --html and --json show all")
	}
	s.summary = cmd.Summary
	plan, several, err := s.openPlan(ctx, cmd.File)
	if err != nil {
		return err
	}
	switch {
	case several != nil && s.globals.JSON:
		return s.printFleetPlan(several)
	case s.globals.JSON:
		return s.printJSON(shownPlan{
			Format: planfile.Format, Program: plan.Program, Created: plan.Created, Encrypted: plan.Encrypted, Failed: plan.Failed,
			Host: plan.Host, Site: plan.Run.Site, Origin: plan.Origin, Revision: plan.Run.Revision,
			Counts: plan.Counts, Rows: shownRows(plan.Rows), Run: graph.Mask(plan.Run),
		})
	case cmd.HTML:
		return s.writePage(plan, several)
	}
	if !s.globals.Quiet {
		fmt.Fprintln(s.Err, ui.Clean(headline(plan, several)))
	}
	if several != nil {
		return s.showFleetPlan(several)
	}
	s.globals.Quiet = s.globals.Quiet || cmd.Summary
	return s.showRows(plan)
}

func shownRows(rows []states.Event) []shownRow {
	out := make([]shownRow, len(rows))
	for i, ev := range rows {
		out[i].Event = ev
	}
	return out
}

// showRows shows a saved plan as tenet plan did.
func (c *console) showRows(plan *planfile.Plan) error {
	_, line := machine.PlacesOf(plan.Places)
	r := ui.Text(c.Out, ui.TextOptions{
		Color: c.color(c.Out), Verbose: c.globals.Verbose, Quiet: c.globals.Quiet, Run: plan.Run, Line: placeLine(line),
	})
	r.Event(states.Event{Type: states.EventRun, Mode: "plan", Host: plan.Run.Host, Site: plan.Run.Site})
	for _, ev := range plan.Rows {
		r.Event(ev)
	}
	r.Event(states.Event{Type: states.EventSummary, Counts: &plan.Counts})
	return failure(unread(r.Close()))
}

// headline says which plan it is.
func headline(plan *planfile.Plan, several *planfile.Fleet) string {
	if several != nil {
		return "Plans of " + several.Identity() + " for " + people(len(several.Hosts), "host", "hosts") + ", made " + when(several.Created) + " by tenet " + several.Program
	}
	return "Plan of " + plan.Site() + " for " + hostOf(plan) + ", made " + when(plan.Created) + " by tenet " + plan.Program
}

// hostOf names the host of a plan, and the machine where that has another name.
func hostOf(plan *planfile.Plan) string {
	text := plan.Host.Name
	if name := plan.Host.Hostname; name != "" && name != text {
		text += " (" + name + ")"
	}
	if plan.Host.Root != "" {
		text += " below " + plan.Host.Root
	}
	return text
}
