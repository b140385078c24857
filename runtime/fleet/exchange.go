package fleet

import (
	"slices"
	"sync"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// Exchange is what the machines of a plan or an apply give one another: outputs, as plans foretell and as applies
// make them. Several goroutines may use it.
type Exchange struct {
	mu             sync.Mutex
	gives          map[string]map[string]bool // the outputs of each; true: null, which is known before any run
	reads          map[string][]*states.Expr
	planned, given map[string]map[string]states.Output // by machine and name
}

// Survey notes what the run of a machine gives, and which outputs of others it reads.
func (x *Exchange) Survey(machine string, run *states.StateRun) {
	names := map[string]bool{}
	for _, p := range run.Outputs() {
		names[p.Key] = p.Values[states.OutputValue] == nil && p.Results[states.OutputValue] == nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	put(&x.gives, machine, names)
	put(&x.reads, machine, run.HostOutputs())
}

func put[T any](list *map[string]T, machine string, v T) {
	if *list == nil {
		*list = map[string]T{}
	}
	(*list)[machine] = v
}

// Needs gives, of each machine, those whose outputs it reads and has to await: of what isMember knows. Nobody
// awaits an output that is null already. It tells, too, whether any output is read at all.
func (x *Exchange) Needs(isMember func(machine string) bool) (needs map[string][]string, isRead bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	needs = map[string][]string{}
	for machine, list := range x.reads {
		isRead = isRead || len(list) > 0
		for _, n := range list {
			names, known := x.gives[n.Host]
			isNull, gives := names[n.Name]
			if (gives && !isNull || !known && isMember(n.Host)) && !slices.Contains(needs[machine], n.Host) {
				needs[machine] = append(needs[machine], n.Host)
			}
		}
	}
	return needs, isRead
}

// Diagnostic tells, at the places in the sources where outputs are read, that machines have no order.
func (x *Exchange) Diagnostic(e *OrderError) diag.Diagnostic {
	x.mu.Lock()
	defer x.mu.Unlock()
	d := diag.Diagnostic{Severity: diag.Error, Summary: e.Error(), Hint: diag.HintOf(e)}
	for i, r := range e.Reads {
		k := slices.IndexFunc(x.reads[r[0]], func(n *states.Expr) bool { return n.Host == r[1] && !x.gives[n.Host][n.Name] })
		if k < 0 {
			continue
		}
		if at := x.reads[r[0]][k].Range; i == 0 {
			d.Range = at
		} else if at != d.Range {
			d.Related = append(d.Related, diag.Related{Message: r[0] + " reads an output of " + r[1] + " here", Range: at})
		}
	}
	return d
}

// TakePlanned takes what a machine will give, as its plan says.
func (x *Exchange) TakePlanned(machine string, outputs map[string]states.Output) {
	x.mu.Lock()
	defer x.mu.Unlock()
	put(&x.planned, machine, outputs)
}

// TakeGiven takes what a machine has given in its turn. It returns what of it counts: what is known and
// declared.
func (x *Exchange) TakeGiven(machine string, outputs map[string]states.Output) map[string]states.Output {
	x.mu.Lock()
	defer x.mu.Unlock()
	known := map[string]states.Output{}
	for name, out := range outputs {
		if _, declared := x.gives[machine][name]; out.IsKnown && (declared || x.gives[machine] == nil) {
			known[name] = out
		}
	}
	put(&x.given, machine, known)
	return known
}

// Reading is the moment at which an output is read.
type Reading int

// The moments.
const (
	ForPlan    Reading = iota // a plan is made
	BeforeTurn                // a plan is made of a batch whose turn has not come
	ForTurn                   // the machine has its turn
)

// Output gives an output that a run reads, as far as it is known at this moment; nil: nobody gives it here.
func (x *Exchange) Output(n *states.Expr, now Reading) *states.HostOutput {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := &states.HostOutput{Host: n.Host, Name: n.Name}
	isNull, gives := x.gives[n.Host][n.Name]
	planned, wasPlanned := x.planned[n.Host][n.Name]
	given, isGiven := x.given[n.Host][n.Name]
	switch {
	case isNull:
		out.Output.IsKnown = true
	case isGiven && now != ForPlan:
		out.Output, out.IsLate = given, wasPlanned && !planned.IsKnown
	case wasPlanned && (planned.IsKnown || now != ForTurn):
		out.Output = planned
	case gives && now == BeforeTurn:
	default:
		return nil
	}
	return out
}
