package runner

import (
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/source"
)

// What was to be installed by an apply that has died is told as interrupted; not while a machine starts anew, nor while a watch is about to tell what became of it.
func TestInterruptedFollowed(t *testing.T) {
	at := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name  string
		run   *journal.Status
		phase source.Phase
	}{
		{"interrupted", &journal.Status{State: journal.Interrupted}, source.Failed},
		{"another one has ended since", &journal.Status{State: journal.Done, Ended: at.Add(-time.Minute)}, source.Failed},
		{"no run", nil, source.Failed},
		{"it has just ended", &journal.Status{State: journal.Done, Ended: at.Add(-time.Second)}, source.Installing},
		{"it starts anew", &journal.Status{State: journal.Rebooting}, source.Installing},
	} {
		report := source.Report{Phase: source.Installing, Since: at.Add(-time.Hour), Components: []source.Component{{Name: "db", Phase: source.Installing}, {Name: "web", Phase: source.Installed}}}
		now := &machine.Status{Status: c.run, Followed: []source.Followed{{Report: report}}}
		interruptFollowed(now, at)
		got := now.Followed[0].Report
		if got.Phase != c.phase || got.Components[0].Phase != c.phase || got.Components[1].Phase != source.Installed || !got.Since.Equal(report.Since) || (got.Code == "interrupted") != (c.phase == source.Failed) {
			t.Errorf("%s: it stands as %+v", c.name, got)
		}
	}
}
