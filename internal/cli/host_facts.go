package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/host/facts"
	"github.com/tenetcm/tenet/runtime/machine"
)

// factAsker asks the hosts of a site for the facts that expressions name of them, whatever --limit says.
type factAsker struct {
	*client
	site *site

	mu   sync.Mutex
	told map[string]map[string]fleet.RecordedFact // until now, by host and name
}

// useHostFacts lets the site ask for facts of its hosts.
func (s *client) useHostFacts(c *site) {
	c.asker = &factAsker{client: s, site: c, told: map[string]map[string]fleet.RecordedFact{}}
	c.renewFacts()
}

// renewFacts has what was asked asked again: what hosts told before may no longer hold.
func (c *site) renewFacts() {
	if c != nil && c.asker != nil {
		c.Target.HostFacts = lang.NewHostFacts(c.asker.ask)
	}
}

// ask gives the facts, of a host that does not answer those that it told last. A site that is only
// checked takes those of this machine for each host, as it does for the host itself.
func (a *factAsker) ask(ctx context.Context, wanted []lang.HostFact) map[lang.HostFact]lang.HostFactValue {
	a.recording().refuse()
	answers, known := map[lang.HostFact]lang.HostFactValue{}, facts.New(nil, nil)
	byHost := map[string][]string{}
	for _, w := range wanted {
		switch {
		case !slices.Contains(known.Names(), w.Name):
			_, err := known.Fact(w.Name)
			answers[w] = lang.HostFactValue{Err: err}
		case a.secretsHidden:
			v, err := a.site.Target.Facts(w.Name)
			answers[w] = lang.HostFactValue{Value: v, Err: err}
		default:
			byHost[w.Host] = append(byHost[w.Host], w.Name)
		}
	}
	if len(byHost) == 0 {
		return answers
	}
	var found map[string]*factsAnswer
	var err error
	a.outsideEvaluation(func() { found, err = a.askHosts(ctx, byHost) })
	if err == nil && ctx.Err() == nil {
		a.record(found)
	}
	last := &lastFacts{asker: a, used: map[string][]string{}, oldest: map[string]time.Time{}}
	for _, w := range wanted {
		if _, ok := answers[w]; ok {
			continue
		}
		v := lang.HostFactValue{Err: err}
		if err == nil {
			v = last.value(w, found[w.Host])
		}
		answers[w] = v
	}
	last.tell(found)
	return answers
}

// askHosts asks hosts for facts, each for its own.
func (a *factAsker) askHosts(ctx context.Context, byHost map[string][]string) (map[string]*factsAnswer, error) {
	all, _, diags := a.site.Hosts(ctx, a.site.Target)
	if diags.HasErrors() {
		return nil, diags.Err()
	}
	hosts := slices.DeleteFunc(all, func(h lang.Host) bool { return byHost[h.Name] == nil })
	note := func(host, text string) { a.noteFacts(host + ": " + text) }
	members, err := a.members(ctx, hosts, "", note)
	if err != nil {
		return nil, err
	}
	q := askOne("facts", true, func(ctx context.Context, m *fleet.Member) (*machine.Facts, error) {
		names := byHost[m.Name]
		slices.Sort(names)
		return m.Facts(ctx, slices.Compact(names))
	})
	q.note = note
	list, err := ask(ctx, a.client, &targets{site: a.site, hosts: hosts, members: members, hasNames: true}, q)
	found := map[string]*factsAnswer{}
	for _, one := range list {
		found[one.host.Name] = one
	}
	return found, err
}

// factRecords are the records of this controller.
func (s *client) factRecords() (*fleet.Facts, error) {
	dir, err := s.stateDir()
	return &fleet.Facts{Dir: filepath.Join(dir, "facts")}, err
}

// record keeps what hosts have told: for this execution, and for a site with a name beyond it.
func (a *factAsker) record(found map[string]*factsAnswer) {
	told, now := map[string]map[string]fleet.RecordedFact{}, time.Now().UTC()
	for host, one := range found {
		if one.failure() != nil {
			continue
		}
		for name, value := range one.value.Values {
			if told[host] == nil {
				told[host] = map[string]fleet.RecordedFact{}
			}
			told[host][name] = fleet.RecordedFact{Value: value, Time: now}
		}
	}
	a.mu.Lock()
	for host, facts := range told {
		if a.told[host] == nil {
			a.told[host] = map[string]fleet.RecordedFact{}
		}
		maps.Copy(a.told[host], facts)
	}
	a.mu.Unlock()
	if len(told) == 0 || a.site.Name() == "" {
		return
	}
	records, err := a.factRecords()
	if err == nil {
		err = records.Add(a.site.Name(), told)
	}
	if err != nil {
		a.noteFacts("what hosts tell of themselves cannot be recorded: " + err.Error())
	}
}

// lastFacts stands in for hosts that give no answer.
type lastFacts struct {
	asker    *factAsker
	recorded map[string]map[string]fleet.RecordedFact
	err      error // why there is no record
	isRead   bool
	used     map[string][]string // the facts of each host that were taken of it
	oldest   map[string]time.Time
}

// value gives a fact: what the host answers, or told last.
func (l *lastFacts) value(w lang.HostFact, a *factsAnswer) lang.HostFactValue {
	if a == nil {
		return lang.HostFactValue{Err: errors.New("the site does not declare the host")}
	}
	why := a.failure()
	if why == nil {
		v, err := a.value.Fact(w.Name)
		return lang.HostFactValue{Value: v, Err: err}
	}
	hint := fmt.Sprintf("tenet ping -l %s tries to reach it", w.Host)
	silent := "it does not answer: " + ui.Line(why.Message)
	if w.IsNow {
		return lang.HostFactValue{Err: &diag.HintError{Message: silent, Hint: hint + "; without { facts = \"now\" }, what it told last does"}}
	}
	last, ok := l.read(w)
	switch {
	case l.err != nil:
		return lang.HostFactValue{Err: &diag.HintError{Message: silent + "; and what it told last cannot be read: " + l.err.Error(), Hint: hint}}
	case !ok:
		return lang.HostFactValue{Err: &diag.HintError{Message: silent + ", and it has never told it", Hint: hint}}
	}
	l.used[w.Host] = append(l.used[w.Host], w.Name)
	if at, ok := l.oldest[w.Host]; !ok || last.Time.Before(at) {
		l.oldest[w.Host] = last.Time
	}
	return lang.HostFactValue{Value: last.Value}
}

// read gives what a host told last.
func (l *lastFacts) read(w lang.HostFact) (fleet.RecordedFact, bool) {
	l.asker.mu.Lock()
	told, ok := l.asker.told[w.Host][w.Name]
	l.asker.mu.Unlock()
	if ok {
		return told, true
	}
	if name := l.asker.site.Name(); !l.isRead && name != "" {
		l.isRead = true
		var records *fleet.Facts
		if records, l.err = l.asker.factRecords(); l.err == nil {
			l.recorded, l.err = records.Read(name)
		}
	}
	told, ok = l.recorded[w.Host][w.Name]
	return told, ok
}

// tell says whose facts are old ones, and how old.
func (l *lastFacts) tell(found map[string]*factsAnswer) {
	for _, host := range slices.Sorted(maps.Keys(l.used)) {
		names := l.used[host]
		slices.Sort(names)
		what := "the fact " + names[0] + " is the one"
		if len(names) > 1 {
			what = "the facts " + strings.Join(names, ", ") + " are those"
		}
		at := l.oldest[host]
		l.asker.noteFacts(fmt.Sprintf("%s: %s of %s (%s), since it does not answer: %s", host, what, when(at), age(at), ui.Line(found[host].failure().Message)))
	}
}

// noteFacts tells something about the facts of hosts, which may be shown with others that go on.
func (s *client) noteFacts(text string) {
	if s.showNote != nil {
		s.showNote(text)
		return
	}
	s.noteHost("", text)
}
