package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
)

type watchCmd struct {
	Site string `arg:"" optional:"" default:"." help:"Directory with state files, or one such file; git::https://HOST/REPOSITORY//DIR?ref=BRANCH; or margo+https://HOST, a fleet manager."`
	lockFlags
	pruneFlags
	Empty    bool        `help:"Let a rule that selects nothing any more delete all that it has made, in each round."`
	Yes      bool        `short:"y" help:"Apply in each round without asking."`
	PlanOnly bool        `help:"Change nothing; tell what is not as declared."`
	Interval *span       `help:"Time from the end of a round to the beginning of the next (default: what the site says, or 30m)." placeholder:"DURATION"`
	Jitter   *percentage `help:"By how much the interval may be shorter or longer, so that not all machines begin at once (default: what the site says, or 10%)." placeholder:"PERCENT"`
	Rounds   int         `help:"End after this many rounds." placeholder:"N"`
	followFlags
	margoFlags
}

// Run applies a site, or looks at what it would do, now and at intervals.
func (cmd *watchCmd) Run(ctx runContext, s *client) error {
	switch {
	case cmd.Yes && cmd.PlanOnly:
		return usage("leave one out", "--yes is to apply, and --plan-only is to change nothing")
	case !cmd.Yes && !cmd.PlanOnly:
		return usage("give --yes, or --plan-only to change nothing", "watch applies again and again, and cannot ask each time")
	case isPlanFile(cmd.Site):
		return usage("tenet apply FILE does what it says", "watch is for a site, and %s is a saved plan", cmd.Site)
	case cmd.Interval != nil && *cmd.Interval <= 0:
		return usage("", "--interval is a time above zero")
	case cmd.Rounds < 0:
		return usage("", "--rounds is a number of rounds, not %d", cmd.Rounds)
	}
	if err := errors.Join(cmd.margoFlags.check(cmd), cmd.followFlags.check(cmd)); err != nil {
		return err
	}
	now := make(chan struct{}, 1)
	defer onSignal(syscall.SIGUSR1, now)()
	switch {
	case cmd.isDevice():
		return cmd.device(ctx, s, now)
	case cmd.isFollowed():
		return cmd.follow(ctx, s, now)
	}
	return cmd.loop(ctx, s, now)
}

// loop does one round after the other; now begins the next.
func (cmd *watchCmd) loop(ctx context.Context, s *client, now <-chan struct{}) (err error) {
	w := &watcher{client: s, cmd: cmd}
	s.lockTimeout, s.prune, s.allowEmpty = time.Duration(cmd.LockTimeout), cmd.Prune, cmd.Empty
	s.shownDiagnostics, s.evaluation = &shownDiagnostics{}, &lastEvaluation{now: time.Now}
	if err := w.open(); err != nil {
		return failure(err)
	}
	defer func() { err = errors.Join(err, failure(w.loop.Close())) }()
	if err := w.begin(); err != nil {
		return failure(err)
	}
	for n := 1; ; n++ {
		if err := w.round(ctx, n); err != nil {
			if errors.Is(err, ctx.Err()) { // between two rounds: a clean end
				return nil
			}
			return err
		}
		if n == cmd.Rounds {
			break
		}
		if !w.awaitRound(ctx, now) {
			return nil
		}
	}
	if w.last != exitDone {
		return &status{code: w.last}
	}
	return nil
}

// onSignal passes a signal on, until the result is called.
func onSignal(sig os.Signal, to chan<- struct{}) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, sig)
	fault.Go(func() {
		for range signals {
			select {
			case to <- struct{}{}:
			default: // one is waiting already
			}
		}
	})
	return func() {
		signal.Stop(signals)
		close(signals)
	}
}

// watchSeed is what tells this machine and site from others: the machine-id, or the
// host name where there is none, and the path of the site.
func watchSeed(site string) string {
	id, err := os.ReadFile("/etc/machine-id")
	if err != nil || len(strings.TrimSpace(string(id))) == 0 {
		name, _ := os.Hostname() // without one, machines are alike
		id = []byte(name)
	}
	if path, err := filepath.Abs(site); err == nil {
		site = path
	}
	return strings.TrimSpace(string(id)) + "\x00" + site
}
