package source

import (
	"slices"
	"strings"
	"time"
)

// Phase is what became of a revision, or of a component of it.
type Phase string

// The phases.
const (
	Pending    Phase = "pending" // its turn has not come: see the reason
	Installing Phase = "installing"
	Installed  Phase = "installed"
	Failed     Phase = "failed"
	Removing   Phase = "removing"
	Removed    Phase = "removed"
)

// Component is what became of one component of a site. The name of all that is in none is empty.
type Component struct {
	Name    string `json:"name"`
	Phase   Phase  `json:"phase"`
	Reason  string `json:"reason,omitempty"` // of pending
	Code    string `json:"code,omitempty"`   // of failed
	Source  string `json:"source,omitempty"` // of failed: the address of what has failed
	Message string `json:"message,omitempty"`
}

// Report is what became of a revision.
type Report struct {
	Revision Revision  `json:"revision"`
	Phase    Phase     `json:"phase"` // the gravest of the components'
	Reason   string    `json:"reason,omitempty"`
	Code     string    `json:"code,omitempty"`
	Source   string    `json:"source,omitempty"`
	Message  string    `json:"message,omitempty"`
	Since    time.Time `json:"since"` // when it came to be so
	// Components are those of the site, by name.
	Components []Component `json:"components"`
}

// Gravity are the phases, the gravest first.
func Gravity() []Phase { return []Phase{Failed, Removing, Installing, Pending, Installed, Removed} }

// Tracker notes what becomes of revisions, and tells of each transition.
type Tracker struct {
	Tell func(Report) // nil: nobody is told
	Now  func() time.Time

	report Report
}

// Report gives what is known; a zero Revision: nothing yet.
func (t *Tracker) Report() Report {
	out := t.report
	out.Components = slices.Clone(out.Components)
	return out
}

// Resume takes up what a process before has noted.
func (t *Tracker) Resume(r Report) { t.report = r }

// Begin notes that a revision waits for its turn, with these components. Those of the former one that it does not have are removed with it, if anything removes
// them; else nothing more is told of them.
func (t *Tracker) Begin(r Revision, reason string, components []string, removes bool) {
	var list []Component
	for _, name := range components {
		list = append(list, Component{Name: name, Phase: Pending, Reason: reason})
	}
	for _, c := range t.report.Components {
		if removes && c.Phase != Removed && !slices.Contains(components, c.Name) {
			list = append(list, Component{Name: c.Name, Phase: Removing})
		}
	}
	t.report.Revision = r
	t.set(list)
}

// Advance notes that a revision has the files of the one before it, and stands as that did.
func (t *Tracker) Advance(r Revision) {
	t.report.Revision = r
	if t.report.Since = t.Now(); t.Tell != nil {
		t.Tell(t.Report())
	}
}

// Set notes how a component stands.
func (t *Tracker) Set(c Component) {
	list := slices.Clone(t.report.Components)
	if i := slices.IndexFunc(list, func(o Component) bool { return o.Name == c.Name }); i >= 0 {
		list[i] = c
	} else {
		list = append(list, c)
	}
	t.set(list)
}

// Each notes how all components stand from now on.
func (t *Tracker) Each(now func(Component) Component) {
	list := slices.Clone(t.report.Components)
	for i := range list {
		list[i] = now(list[i])
	}
	t.set(list)
}

// Replace notes how all components stand from now on, and that there are no others.
func (t *Tracker) Replace(list []Component) { t.set(slices.Clone(list)) }

// set notes how the components stand, and tells if that is another way than before.
func (t *Tracker) set(list []Component) {
	slices.SortFunc(list, func(a, b Component) int { return strings.Compare(a.Name, b.Name) })
	before := t.report
	t.report.Components = list
	t.report.Phase, t.report.Reason, t.report.Code, t.report.Source, t.report.Message = Installed, "", "", "", ""
	for _, phase := range Gravity() {
		if i := slices.IndexFunc(list, func(c Component) bool { return c.Phase == phase }); i >= 0 {
			c := list[i]
			t.report.Phase, t.report.Reason, t.report.Code, t.report.Source, t.report.Message = c.Phase, c.Reason, c.Code, c.Source, c.Message
			break
		}
	}
	if before.Revision.Is(t.report.Revision) && before.Phase == t.report.Phase && before.Message == t.report.Message && before.Reason == t.report.Reason && slices.Equal(before.Components, list) {
		return
	}
	t.report.Since = t.Now()
	if t.Tell != nil {
		t.Tell(t.Report())
	}
}
