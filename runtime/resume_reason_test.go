package runtime_test

import (
	"fmt"
	"testing"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/journal"
)

// A handler that its own run calls gives no reason for that, wherever the run was cut short
// and how often it went on: what the run owes it by itself it would do undisturbed, too.
func TestResumedHandlerGivesNoReasonOfItsOwnRun(t *testing.T) {
	run := compile(t, modules.Standard(), `
	state "s" {
	  notify = [state.h]
	  unless {
	    exists = "/b"
	  }
	  file "/a" {}
	  line "one" {
	    path   = "/b"
	    line   = "one"
	    create = true
	  }
	}
	file "/c" {
	  notify = [state.h]
	}
	state "h" {
	  lazy = true
	  file "/handled" {}
	}
	`).Run
	for stops := range 8 * 8 {
		t.Run(fmt.Sprint(stops), func(t *testing.T) {
			folder, err := journal.Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			h := machine()
			got := interrupted(t, h, run, folder, nil, 1+stops%8, false)
			for again := 1 + stops/8; got.Interrupted; again = 0 {
				record, err := folder.Resume(t.Context(), "", journal.Meta{})
				if err != nil {
					t.Fatal(err)
				}
				got = interrupted(t, h, record.Resumed().Run, folder, record, again, false)
			}
			for _, p := range got.Report.Parts {
				if p.Reason != "" {
					t.Errorf("%s says %q", p.Address, p.Reason)
				}
			}
		})
	}
}
