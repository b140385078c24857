package orchestrate

import (
	"context"
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
)

// Options say how. The zero value works.
type Options struct {
	fleet.Options
	// Execution is what the machines know the apply by; empty: a machine that is lost in it is
	// not asked by it again.
	Execution string
	// OnDiagnostics is told what the evaluation for a machine has found, also where that is no error;
	// nil: nobody is. It may be called for several machines at a time.
	OnDiagnostics func(host string, list diag.List)
	// Adapt changes the job of a machine before it is carried out; nil: nothing does. An error
	// is the machine's outcome.
	Adapt func(m *fleet.Member, c *Compilation, j *machine.Job) error
}

// Plan shows, by its events, what Apply would do on each machine. The error is for what
// cannot be begun at all.
func (s *Site) Plan(ctx context.Context, members []*fleet.Member, o Options) ([]fleet.Outcome, error) {
	return fleet.Run(ctx, members, fleet.Plan(s.FactNames(), s.Prepare(o)), o.Options)
}

// Apply brings each machine into its state. The error is for what cannot be begun at all.
func (s *Site) Apply(ctx context.Context, members []*fleet.Member, o Options) ([]fleet.Outcome, error) {
	return fleet.Run(ctx, members, fleet.Apply(s.FactNames(), s.Prepare(o)), o.Options)
}

// Prepare gives what makes the job of a machine from its facts.
func (s *Site) Prepare(o Options) fleet.Prepare {
	return func(ctx context.Context, m *fleet.Member, facts *machine.Facts) (*machine.Job, error) {
		c, list, err := s.Compile(ctx, m.Name, facts.Fact)
		if o.OnDiagnostics != nil {
			o.OnDiagnostics(m.Name, list)
		}
		switch {
		case list.HasErrors():
			return nil, slices.Clone(list)
		case err != nil:
			return nil, err
		}
		j := c.Job()
		j.Execution = o.Execution
		if o.Adapt != nil {
			err = o.Adapt(m, c, j)
		}
		return j, err
	}
}
