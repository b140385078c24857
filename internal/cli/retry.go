package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/reconcile"
)

type retryCmd struct {
	Site string `arg:"" optional:"" help:"What is kept, as tenet status names it (default: all that has come to nothing)."`
}

// hostRetry is what is tried again on a host, as JSON.
type hostRetry struct {
	Host  string            `json:"host"`
	Loops []reconcile.State `json:"loops"`
}

// Run has loops try again.
func (cmd *retryCmd) Run(ctx runContext, s *client) error {
	t, err := s.targets(ctx)
	if err != nil {
		return err
	}
	site := cmd.Site
	if _, err := os.Stat(site); err == nil && !t.hasNames { // as the watch of that path names it
		if site, err = filepath.Abs(site); err != nil {
			return failure(err)
		}
	}
	list, err := ask(ctx, s, t, askOne("retry", false, func(ctx context.Context, m *fleet.Member) ([]reconcile.State, error) {
		retrier, ok := m.Machine.(machine.Retrier)
		if !ok {
			return nil, &diag.HintError{Code: machine.CodeUnsupported, Message: "it cannot be told to try again"}
		}
		return retrier.Retry(ctx, site)
	}))
	if err != nil {
		return err
	}
	if s.globals.JSON {
		return s.printAnswers(t, common(list), func(i int) (any, any) {
			return hostRetry{Loops: list[i].value}.Loops, hostRetry{list[i].host.Name, list[i].value}
		})
	}
	for _, a := range list {
		if !a.replied() {
			continue
		}
		before := ""
		if t.hasNames {
			before = a.host.Name + ": "
		}
		if len(a.value) == 0 {
			err = errors.Join(err, s.tell("%snothing has come to nothing", before))
		}
		for i := range a.value {
			err = errors.Join(err, s.tell("%s%s is tried again: it was %s", before, ui.Line(a.value[i].Site), ui.Line(loopText(&a.value[i]))))
		}
	}
	return errors.Join(err, s.showFailures(t, common(list)))
}

// loopText tells where a loop stands, in one line.
func loopText(l *reconcile.State) string {
	text := string(l.Phase)
	if l.Condition != reconcile.Unknown && string(l.Condition) != text {
		text += ", " + string(l.Condition)
	}
	text += " since " + when(l.Since)
	if n := l.Attempt(); n > 0 {
		text += fmt.Sprintf(", attempt %d of %d", n, l.Limit)
	}
	if !l.Next.IsZero() && l.Phase.IsRest() {
		text += ", next " + when(l.Next)
	}
	switch {
	case l.Reason != "" && l.Cause != reconcile.None:
		text += fmt.Sprintf(" (%s: %s)", l.Cause, l.Reason)
	case l.Reason != "":
		text += " (" + l.Reason + ")"
	}
	return text
}

// late tells whether nobody seems to run a loop.
func late(l *reconcile.State, now time.Time) bool {
	return l.Phase.IsRest() && !l.Next.IsZero() && now.Sub(l.Next) > 10*time.Minute
}
