package cli

import (
	"context"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/runtime/machine"
)

// lastEvaluation is what a site gave when it was evaluated last, for rounds in which nothing
// that it was made of has changed.
type lastEvaluation struct {
	inputs *inputs
	site   *site
	job    *machine.Job // nil: there is none that may serve again
	count  int          // evaluations
	now    func() time.Time
}

// choose gives the site for a round: the one of the round before, or it is loaded.
func (w *watcher) choose(ctx context.Context) (*site, []lang.Host, error) {
	last := w.evaluation
	if last.job != nil && w.isUnchanged(last) {
		w.shownDiagnostics.sameEvaluation()
		return last.site, nil, nil
	}
	if last.count > 0 {
		w.shownDiagnostics.nextEvaluation()
	}
	*last = lastEvaluation{inputs: newInputs(last.now), count: last.count + 1, now: last.now}
	if strings.Contains(w.globals.Limit, "@") { // what is on record says who that is
		last.inputs.refuse()
	}
	c, hosts, err := w.chooseHosts(ctx, w.cmd.Site)
	last.site = c
	if err == nil && len(hosts) == 1 && hosts[0].Executor == "local" && hosts[0].Cluster != "" {
		last.inputs.refuse() // others make this machine a member, or not
		c.declared, c.Target.Host = &hosts[0], hosts[0].Name
		c.Target.Clusters, err = w.joinedHere(ctx, c.Name(), hosts[0].Cluster)
		return c, nil, err
	}
	return c, hosts, err
}

// isUnchanged reports whether all that the evaluation has read is as it was.
func (w *watcher) isUnchanged(last *lastEvaluation) bool {
	origin, err := originOf(w.cmd.Site)
	if err != nil {
		return false
	}
	h, err := w.newHost()
	if err != nil {
		return false
	}
	now, err := w.target(h)
	return err == nil && last.inputs.same(now, origin)
}

// recording is what the evaluation that goes on records its inputs in; nil: nobody asks.
func (s *client) recording() *inputs {
	if s.evaluation == nil {
		return nil
	}
	return s.evaluation.inputs
}

// keep holds the job for later rounds, if all that it was made of can be compared.
func (l *lastEvaluation) keep(j *machine.Job) {
	if l != nil && l.inputs.seal() {
		made := *j
		l.job = &made
	}
}

// again gives the job of a former round; nil: there is none.
func (l *lastEvaluation) again() *machine.Job {
	if l == nil || l.job == nil {
		return nil
	}
	j := *l.job
	return &j
}
