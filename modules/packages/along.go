package packages

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/internal/process"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// rehearser is a manager that tells beforehand what a transaction would do.
type rehearser interface {
	Rehearse(ctx context.Context, h host.Host, t transaction) (rehearsal, error)
}

// rehearsal is what a transaction would do.
type rehearsal struct {
	touched []string // packages that would be installed, changed or removed
	gone    []string // those that would be removed, those of the transaction included
	there   bool     // one of them is on the host already
}

// Rehearse implements rehearser. The lines are "Remv NAME [VERSION] …", "Purg …" or
// "Inst NAME (VERSION …)", with the version that is there before it, in brackets.
func (a apt) Rehearse(ctx context.Context, h host.Host, t transaction) (r rehearsal, err error) {
	lines, err := a.rehearse(ctx, h, t)
	for _, words := range lines {
		r.touched = append(r.touched, words[1])
		if words[0] != "Inst" {
			r.gone = append(r.gone, words[1])
		}
		r.there = r.there || words[0] != "Inst" || len(words) > 2 && strings.HasPrefix(words[2], "[")
	}
	return r, err
}

// rehearse gives the words of what apt-get would do, by a run that changes nothing.
func (a apt) rehearse(ctx context.Context, h host.Host, t transaction) ([][]string, error) {
	argv := []string{"apt-get", "-s", "-q", "-y"}
	if t.Held {
		argv = append(argv, "--allow-change-held-packages")
	}
	if len(t.Install) > 0 {
		argv = append(argv, "--allow-downgrades", "install", "--")
		argv = append(argv, wishes(t)...)
	} else {
		argv = slices.Concat(argv, []string{"remove", "--"}, t.Remove, t.Purge)
	}
	r, err := process.Query(ctx, h, host.Query{
		Command: host.Command{Argv: argv, Env: env(), MaxOutput: 16 << 20},
		Reads:   []string{"/etc/apt", "/var/lib/apt", "/var/lib/dpkg/status"},
	})
	if err != nil {
		return nil, err
	}
	var lines [][]string
	for line := range strings.Lines(string(r.Stdout)) {
		if words := strings.Fields(line); len(words) > 1 && slices.Contains([]string{"Inst", "Remv", "Purg"}, words[0]) {
			lines = append(lines, words)
		}
	}
	return lines, nil
}

// foretell says in a plan what the transaction may touch.
func (j *job) foretell(chosen []int, r rehearsal) {
	if len(r.touched) == 0 {
		return
	}
	touched := effectsOf(r.touched, r.there)
	for _, i := range chosen {
		if errors.Is(j.errs[i], host.ErrUnforeseeable) {
			j.errs[i] = &states.EffectsError{Effects: touched, Err: j.errs[i]}
		}
	}
}

// rehearse finds out in a plan which of the chosen packages could not be installed, such
// as for what they need. All of them are one question; only where its answer is no, each
// is asked for alone, as an apply tries each alone then. Where the manager cannot
// be asked, nothing is promised.
func (j *job) rehearse(ctx context.Context, chosen []int, all transaction) {
	m, ok := j.manager.(rehearser)
	if !ok {
		j.leaveOpen(chosen)
		return
	}
	if len(all.Install) == 0 {
		return
	}
	exit := func(err error) *process.ExitError {
		e, _ := errors.AsType[*process.ExitError](err)
		return e
	}
	r, err := m.Rehearse(ctx, j.h, all)
	together := exit(err)
	switch {
	case err == nil:
		j.foretell(chosen, r)
		return
	case together == nil: // it cannot be asked now
		j.leaveOpen(chosen)
		return
	}
	alone := 0
	for _, i := range chosen {
		var t transaction
		j.add(ctx, &t, j.items[i])
		if _, err := m.Rehearse(ctx, j.h, t); exit(err) != nil {
			j.errs[i], alone = explain(exit(err)), alone+1
		}
	}
	if alone > 0 {
		return
	}
	for _, i := range chosen {
		j.errs[i] = &states.UncertainError{Reason: "these packages cannot be installed together" + unmet(together)}
	}
}

// leaveOpen makes the rows of a plan uncertain that depend on other packages: what these
// need, or what needs them, may refuse the act.
func (j *job) leaveOpen(chosen []int) {
	for _, i := range chosen {
		reason := "whether its dependencies can be installed shows in the apply"
		if j.items[i].Want == nil {
			reason = "whether other packages need it shows in the apply"
		}
		j.errs[i] = &states.UncertainError{Reason: reason}
	}
}

// alongside names what would go with what is to be removed, since it needs it, and
// those of it that the site declares. Where that cannot be known, the act tells.
func (j *job) alongside(ctx context.Context, t transaction) (more, declared []string) {
	m, ok := j.manager.(rehearser)
	named := slices.Concat(t.Remove, t.Purge)
	if !ok || len(named) == 0 {
		return nil, nil
	}
	r, err := m.Rehearse(ctx, j.h, t)
	if err != nil {
		return nil, nil
	}
	bare := func(name string) string { name, _, _ = strings.Cut(name, ":"); return name }
	for _, name := range r.gone {
		if slices.ContainsFunc(named, func(n string) bool { return bare(n) == bare(name) }) {
			continue
		}
		more = append(more, name)
		if slices.ContainsFunc(states.Peers[Package](ctx, "package"), func(p Package) bool { return bare(p.Name) == bare(name) }) {
			declared = append(declared, name)
		}
	}
	return more, declared
}

// keep refuses removals that would take along what the site declares, since each of
// both would undo the other with every apply, and gives what is left to do.
func (j *job) keep(chosen []int, declared []string) (rest []int) {
	for _, i := range chosen {
		item := j.items[i]
		if item.Want != nil {
			rest = append(rest, i)
			continue
		}
		j.errs[i] = &states.FinalError{Err: &diag.HintError{
			Err:  fmt.Errorf("%s would be removed, too, which this site declares", strings.Join(declared, ", ")),
			Hint: "that needs what is to be absent: keep it, or make that absent as well",
		}}
	}
	return rest
}

// takesAlong is what a plan and an apply say of a removal before what goes with it.
const takesAlong = "what needs it is removed, too: "

// tell gives a plan's rows what a transaction says there, and the reason why a removal
// is more than they show.
func (j *job) tell(chosen []int, more []string, err error) {
	for _, i := range chosen {
		j.errs[i] = err
		if j.items[i].Want == nil && len(more) > 0 {
			j.errs[i] = &states.UncertainError{Reason: takesAlong + strings.Join(more, ", ")}
		}
	}
}
