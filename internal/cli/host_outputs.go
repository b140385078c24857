package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/secrets"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/states"
)

// exchange is what the hosts of a plan or an apply give one another, with what they gave before.
type exchange struct {
	fleet.Exchange
	needs    map[string][]string // of each host, those whose outputs it reads, and awaits
	isRead   bool                // at least one host reads an output
	recorded map[string]map[string]fleet.RecordedOutput

	mu    sync.Mutex
	given map[string][]states.HostOutput // what the plan of each host took of others: of this one, or one that was saved
}

// survey finds out, before anything is planned or applied, whether anything is selected, and which hosts read
// outputs of which: where one of these is in question, the site is evaluated for all of them.
func (v *fleetRun) survey(ctx context.Context) error {
	g := v.globals
	if v.exchange != nil || !v.hasNames || v.site == nil || !v.site.HasOutputs() && len(g.Target)+len(g.Tags)+len(g.Exclude) == 0 {
		return nil
	}
	x := &exchange{}
	ask := func(ctx context.Context, c *fleet.Call) (*machine.Result, error) {
		known, err := c.Facts(ctx, v.facts)
		if err != nil {
			return nil, err
		}
		return nil, c.Evaluate(ctx, func() error {
			j, err := v.jobOf(ctx, c.Member, known)
			if err == nil && j != nil {
				x.Survey(c.Name, j.Run)
			}
			return err
		})
	}
	v.unknown, v.view = unknownSelection{}, hiddenDisplay{}
	v.showNote = func(text string) {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.earlierNotes = append(v.earlierNotes, text)
	}
	defer func() { v.showNote = nil }()
	ctx, cancelled, done := v.interruptible(ctx)
	defer done()
	o := fleet.Options{Forks: g.Forks, Patience: v.globals.patience(), Cancelled: cancelled}
	// What is wrong with a host is found once more, and told, when its turn comes.
	if _, err := fleet.Run(ctx, v.members, fleet.Task{Name: "evaluate", Ask: ask, Repeatable: true}, o); err != nil {
		return failure(err)
	}
	if err := v.nowhere(); err != nil {
		return err
	}
	x.needs, x.isRead = x.Needs(v.isMember)
	var err error
	if x.recorded, err = v.recordedOutputs(); err != nil {
		return failure(err)
	}
	if err := v.client.checkOrder(v.site, &x.Exchange, x.needs, v.rollout, memberNames(v.members)); err != nil {
		return err
	}
	v.exchange = x
	return nil
}

func (v *fleetRun) isMember(host string) bool {
	return slices.ContainsFunc(v.members, func(m *fleet.Member) bool { return m.Name == host })
}

// occasion is what a host reads outputs of others for.
type occasion int

const (
	ownTurn    occasion = iota
	beforeTurn          // a plan is made of what runs around it: they may not be known
	hookTurn            // it runs a hook
)

// give gives the run of a host the outputs of others that it names.
func (v *fleetRun) give(j *machine.Job, host string, at occasion) error {
	list := j.Run.HostOutputs()
	if len(list) == 0 {
		return nil
	}
	x := v.exchange
	if x == nil {
		x = &exchange{}
	}
	recorded := x.recorded
	if v.exchange == nil || at == hookTurn { // a saved plan holds what its hosts were given, and nothing for its hooks
		var err error
		if recorded, err = v.recordedOutputs(); err != nil {
			return failure(err)
		}
	}
	run := *j.Run
	run.Given = nil
	for _, n := range list {
		given, made, err := v.outputFor(x, recorded, n, at == beforeTurn)
		if err != nil {
			return err
		}
		if given == nil && v.isSavedPlan {
			given = x.savedFor(host, n)
		}
		if given == nil {
			return v.neverGiven(host, n)
		}
		if !made.IsZero() && v.view != nil && !v.isHidden {
			v.noteRecorded(host, n, made)
		}
		run.Given = append(run.Given, *given)
	}
	j.Run = &run
	if v.isPlan && !v.isSavedPlan {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.given == nil {
			x.given = map[string][]states.HostOutput{}
		}
		x.given[host] = run.Given
	}
	return nil
}

// noteRecorded tells a host, once, that it is given an output as it was recorded.
func (v *fleetRun) noteRecorded(host string, n *states.Expr, made time.Time) {
	text := fmt.Sprintf("the output %s of %s is the one of %s", n.Name, n.Host, when(made))
	key := host + "\x00" + text
	v.mu.Lock()
	isNew := !v.notedOutputs[key]
	if v.notedOutputs == nil {
		v.notedOutputs = map[string]bool{}
	}
	v.notedOutputs[key] = true
	v.mu.Unlock()
	if isNew {
		v.view.Note(host, machine.Note{Text: text + " (" + age(made) + ")"})
	}
}

// givenTo gives what the plan of a host took of others.
func (v *fleetRun) givenTo(host string) []states.HostOutput {
	if v.exchange == nil {
		return nil
	}
	v.exchange.mu.Lock()
	defer v.exchange.mu.Unlock()
	return v.exchange.given[host]
}

// savedFor gives an output as the saved plan of a host took it, where it was known then; nil: it was not.
func (x *exchange) savedFor(reader string, n *states.Expr) *states.HostOutput {
	for i := range x.given[reader] {
		if g := &x.given[reader][i]; g.Host == n.Host && g.Name == n.Name && g.Output.IsKnown {
			return g
		}
	}
	return nil
}

// exchangeOf is what the hosts of a saved plan give one another.
func (v *fleetRun) exchangeOf(plan *planfile.Fleet) error {
	x := &exchange{given: map[string][]states.HostOutput{}}
	for _, m := range v.members {
		i := plan.Index(m.Name)
		saved := &plan.Hosts[i]
		one, err := plan.Plan(i)
		if err != nil {
			return err
		}
		if one == nil {
			continue
		}
		x.Survey(m.Name, one.Run)
		x.TakePlanned(m.Name, saved.Outputs.Gives)
		x.given[m.Name] = saved.Outputs.Given
	}
	x.needs, x.isRead = x.Needs(v.isMember)
	v.exchange = x
	return nil
}

// outputFor gives an output; of one that is recorded, with the time of that. Nil: there is none.
func (v *fleetRun) outputFor(x *exchange, recorded map[string]map[string]fleet.RecordedOutput, n *states.Expr, before bool) (_ *states.HostOutput, at time.Time, err error) {
	now := fleet.ForTurn
	switch {
	case before:
		now = fleet.BeforeTurn
	case v.isPlan:
		now = fleet.ForPlan
	}
	if out := x.Output(n, now); out != nil {
		return out, at, nil
	}
	last, was := recorded[n.Host][n.Name]
	if !was {
		return nil, at, nil
	}
	out := &states.HostOutput{Host: n.Host, Name: n.Name}
	if out.Output, err = v.openRecorded(&last); err != nil {
		err = newStatus(exitFailed, fmt.Errorf("it reads the output %s of %s, which is recorded encrypted and cannot be opened: %s", n.Name, n.Host, diag.From(err)[0].Summary), hintOpen)
	}
	return out, last.Time, err
}

// hintOpen is what to do where a record cannot be opened.
const hintOpen = "give the file of a private key with --identity FILE or TENET_IDENTITY; or take the host in that gives it"

// neverGiven is why a host cannot read an output of another.
func (v *fleetRun) neverGiven(host string, n *states.Expr) error {
	if v.isSavedPlan {
		return newStatus(exitFailed, fmt.Errorf("it reads the output %s of %s, which is left out and whose plan did not know it", n.Name, n.Host),
			"apply the plan of "+n.Host+", too, or plan again")
	}
	if v.isMember(n.Host) {
		return newStatus(exitFailed, fmt.Errorf("it reads the output %s of %s, which does not give it here", n.Name, n.Host),
			fmt.Sprintf("apply %s as a whole, without --target, --tags and --exclude", n.Host))
	}
	if v.globals.Limit == "" {
		return newStatus(exitFailed, fmt.Errorf("it reads the output %s of %s, which has never given it", n.Name, n.Host), "apply the site on "+n.Host+" first")
	}
	return newStatus(exitFailed, fmt.Errorf("it reads the output %s of %s, which -l %s leaves out and which has never given it", n.Name, n.Host, v.globals.Limit),
		fmt.Sprintf("take it in: -l '%s,%s'", v.globals.Limit, n.Host))
}

// takeOutputs takes what a host gives at the end of its plan or run, and records what an apply has made.
func (v *fleetRun) takeOutputs(host string, o *fleet.Outcome) {
	if o.Result == nil || len(o.Result.Outputs) == 0 || v.exchange == nil {
		return
	}
	if v.isPlan {
		v.exchange.TakePlanned(host, o.Result.Outputs)
		return
	}
	known := v.exchange.TakeGiven(host, o.Result.Outputs)
	if err := v.recordOutputs(host, known); err != nil && v.view != nil {
		v.view.Note(host, machine.Note{Text: "what it gives to others cannot be recorded: " + err.Error()})
	}
}

// outputRecords are the records of this controller.
func (s *client) outputRecords() (*fleet.Outputs, error) {
	dir, err := s.stateDir()
	return &fleet.Outputs{Dir: filepath.Join(dir, "outputs")}, err
}

// recordedOutputs gives what hosts of the site have given last; nothing of a site without a name.
func (v *fleetRun) recordedOutputs() (map[string]map[string]fleet.RecordedOutput, error) {
	if v.name == "" {
		return nil, nil
	}
	records, err := v.outputRecords()
	if err != nil {
		return nil, err
	}
	return records.Read(v.name)
}

// recordOutputs records what a host gives. What is sensitive is encrypted for the site's recipients; where
// nobody is named, it is not recorded.
func (v *fleetRun) recordOutputs(host string, outputs map[string]states.Output) error {
	if v.name == "" || len(outputs) == 0 {
		return nil
	}
	records, err := v.outputRecords()
	if err != nil {
		return err
	}
	list, now := map[string]fleet.RecordedOutput{}, time.Now().UTC()
	var drop []string
	file, wrong := v.sealer()
	for name, out := range outputs {
		if !out.Sensitive {
			list[name] = fleet.RecordedOutput{Value: out.Value, Time: now}
			continue
		}
		if file == nil {
			drop = append(drop, name)
			continue
		}
		text, err := json.Marshal(out.Value)
		if err != nil {
			return err
		}
		sealed, err := file.Seal(text)
		if err != nil {
			return err
		}
		list[name] = fleet.RecordedOutput{Time: now, Sealed: sealed, Header: file.Header()}
	}
	if len(drop) == 0 {
		wrong = nil // nobody needs it
	}
	return errors.Join(records.Add(v.name, host, list, drop), wrong)
}

// sealer encrypts for those whom secrets.recipients of the site names; nil: there is no such file.
func (v *fleetRun) sealer() (*secrets.File, error) {
	origin := cmp.Or(v.globals.Inventory, ".") // of a saved plan, the site that says how hosts are reached
	if v.site != nil {
		origin = v.site.Origin
	}
	dir, err := openSecrets(origin)
	if err != nil {
		return nil, err
	}
	defer dir.close()
	if _, err := fs.Stat(dir.root.FS(), "secrets.recipients"); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	const name = "secrets.age"
	to, err := dir.recipients(name)
	if err != nil {
		return nil, err
	}
	return secrets.New(name, to)
}

// openRecorded opens what was recorded.
func (s *client) openRecorded(r *fleet.RecordedOutput) (states.Output, error) {
	out := states.Output{Value: r.Value, IsKnown: true}
	if r.Sealed == nil {
		return out, nil
	}
	out.Sensitive = true
	if s.secretsHidden {
		return out, nil
	}
	file, list := secrets.Parse("the record of outputs", r.Header)
	if list.HasErrors() {
		return out, list.Err()
	}
	ids, err := s.identities(context.Background())()
	if err != nil {
		return out, err
	}
	key, err := file.Open(ids)
	if err != nil {
		return out, err
	}
	text, err := key.Unseal(r.Sealed, 8*states.MaxOutput)
	if err != nil {
		return out, err
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	return out, d.Decode(&out.Value)
}

// useOutputs lets the site ask for what its hosts have given last.
func (s *client) useOutputs(c *site) {
	read := sync.OnceValues(func() (map[string]map[string]fleet.RecordedOutput, error) {
		records, err := s.outputRecords()
		if err != nil {
			return nil, err
		}
		return records.Read(c.Name())
	})
	c.Target.LastOutputs = func(host string) (map[string]states.Output, error) {
		s.recording().refuse()
		if c.Name() == "" {
			return nil, nil
		}
		all, err := read()
		if err != nil {
			return nil, err
		}
		outputs := map[string]states.Output{}
		for name, r := range all[host] {
			if outputs[name], err = s.openRecorded(&r); err != nil {
				return nil, &diag.HintError{Message: fmt.Sprintf("the output %s of %s, which is recorded encrypted, cannot be opened: %s", name, host, diag.From(err)[0].Summary), Hint: hintOpen}
			}
		}
		return outputs, nil
	}
}
