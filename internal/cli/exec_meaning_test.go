package cli

import (
	"context"
	"errors"
	"testing"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
)

// What became of a program tells who has ended it, and what did not end it stays as it is.
func TestExecMeaning(t *testing.T) {
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	cut := errors.New("the connection broke")
	said := &machine.Error{HintError: diag.HintError{Code: machine.CodeInterrupted, Message: "ended"}}
	for name, c := range map[string]struct {
		ctx  context.Context
		is   fleet.Outcome
		want fleet.Status
		text string // "": as it was
	}{
		"done":              {t.Context(), fleet.Outcome{Status: fleet.Done}, fleet.Done, ""},
		"detached":          {interrupted, fleet.Outcome{Status: fleet.Detached, Err: cut}, fleet.Detached, ""},
		"skipped":           {t.Context(), fleet.Outcome{Status: fleet.Skipped, Err: cut}, fleet.Skipped, ""},
		"ended by Ctrl-C":   {interrupted, fleet.Outcome{Status: fleet.Interrupted, Err: said}, fleet.Interrupted, "uptime was interrupted, and has ended"},
		"ended by somebody": {t.Context(), fleet.Outcome{Status: fleet.Interrupted, Err: said}, fleet.Failed, "uptime was ended by somebody there, or since the host goes down"},
		"not begun":         {interrupted, fleet.Outcome{Status: fleet.Interrupted, Err: cut}, fleet.Interrupted, "uptime was not started: interrupted before that"},
		"its turn not come": {interrupted, fleet.Outcome{Status: fleet.Skipped, Err: cut}, fleet.Skipped, "uptime was not started: interrupted before that"},
	} {
		got := execOutcome(c.ctx, "uptime", c.is)
		switch {
		case got.Status != c.want:
			t.Errorf("%s: %s", name, got.Status)
		case c.text == "" && got.Err != c.is.Err:
			t.Errorf("%s: %+v", name, got)
		case c.text != "" && (got.Err == nil || got.Err.Error() != c.text):
			t.Errorf("%s: %+v", name, got)
		}
	}
}
