package margo

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/source"
	"github.com/tenetcm/tenet/runtime/source/margo/rc2"
)

// Rules are what a device goes by.
type Rules struct {
	Device       string // its id
	Capabilities *rc2.Capabilities
	Description  rc2.Digest // of the capabilities, as they are sent
	Interval     time.Duration
	// Windows are when the manager may be asked and told something; none: always. In a Downtime it is not, whatever they say.
	Windows   []site.Window
	Downtimes []source.Downtime
	// Judge tells what a deployment lacks before anything is made of it; nil: nothing.
	Judge func(rc2.Deployment) *rc2.Error
}

// DefaultInterval is the time between two questions for the manifest.
const DefaultInterval = time.Minute

// Limits of what is kept, whatever a manager says.
const (
	maxWorkloads = 2000 // with those that are to go
	maxReports   = 4000
)

// Step gives what becomes of a state by a message, and what follows. It changes nothing that it is given.
func (r Rules) Step(s State, now time.Time, m Message) (State, []Action) {
	t := &step{Rules: r, State: s.clone(), now: now}
	t.Format = Format
	switch m := m.(type) {
	case Started:
		t.start(m)
	case Passed:
	case Unchanged:
		t.Poll, t.Trouble, t.Offence = t.rest(), "", Mark{}
	case Offered:
		t.offer(m)
	case Verified:
		t.accept(m)
	case Unavailable:
		t.poll(m.Failure)
	case Progress:
		t.progress(m)
	case Ended:
		t.end()
	case Taken:
		if t.Outbox[m.Deployment].Serial == m.Serial {
			delete(t.Outbox, m.Deployment)
		}
	case Untold:
		t.untold(m)
	case Described:
		t.Described, t.State.Description = m.Digest, Turn{}
	case Undescribed:
		t.undescribed(m.Failure)
	}
	t.addDue(m)
	return t.State, t.actions
}

// step is one on its way.
type step struct {
	Rules
	State
	now     time.Time
	actions []Action
}

func (t *step) do(a Action) { t.actions = append(t.actions, a) }

func (t *step) tell(kind Kind, hint, format string, args ...any) {
	t.do(Tell{kind, fmt.Sprintf(format, args...), hint})
}

// closed is the time until which the manager may not be asked; zero: it may. Where it may not, nothing is tried, and so nothing fails.
func (r Rules) closed(now time.Time) time.Time {
	o := source.Options{Downtimes: r.Downtimes}
	if len(r.Windows) > 0 {
		o.Windows = site.Schedule{r.Windows}
	}
	_, until := o.Closed(now)
	return until
}

// rest is the time until the manager is asked again: a little less than the interval, for each device by another bit, so that those
// which were started at once do not ask at once for ever.
func (t *step) rest() Turn {
	sum := fnv.New32a()
	fmt.Fprintf(sum, "%s %d", t.Client, t.now.UnixNano())
	return Turn{Since: t.now, Wait: t.Interval - t.Interval/10*time.Duration(sum.Sum32()%1000)/1000}
}

// start takes up what was left. Versions are counted for one client: another one begins anew, and the workloads stay until it has a manifest.
func (t *step) start(m Started) {
	if t.Client != "" && t.Client != m.Client {
		t.tell(Notice, "", "the device was %s and is %s now: it begins anew, and keeps its workloads until there is a manifest", t.Client, m.Client)
		t.Accepted, t.Synced, t.Outbox = Mark{}, Synced{}, map[string]Report{}
	}
	t.Client, t.Retired, t.Poll, t.Retry, t.Described, t.State.Description = m.Client, false, Turn{}, Turn{}, "", Turn{}
	for id, r := range t.Outbox {
		r.Turn = Turn{}
		t.Outbox[id] = r
	}
	if t.Applying {
		t.do(Apply{})
	}
}

// addDue adds what the time has come for: what there is to tell comes before what there is to do, so that a manager learns of a change
// before it begins.
func (t *step) addDue(m Message) {
	if t.Retired || !t.closed(t.now).IsZero() {
		return
	}
	var due []Action
	if t.Described != t.Rules.Description && t.State.Description.isDue(t.now) {
		due = append(due, Describe{})
	}
	ids := slices.SortedFunc(maps.Keys(t.Outbox), func(a, b string) int { return cmp.Compare(t.Outbox[a].Serial, t.Outbox[b].Serial) })
	for _, id := range ids {
		if r := t.Outbox[id]; r.Turn.isDue(t.now) {
			due = append(due, Send{r.Status, r.Serial})
		}
	}
	if _, isTime := m.(Passed); isTime && !t.Applying && t.Poll.isDue(t.now) {
		due = append(due, Ask{t.Synced.ETag})
	}
	t.actions = append(due, t.actions...)
}

// poll notes that the manager did not answer as it should.
func (t *step) poll(f Failure) {
	t.Poll = t.retryTurn(t.Poll, f, t.Interval)
	if t.retire(f) {
		return
	}
	if t.Trouble != f.Reason {
		t.Trouble = f.Reason
		t.tell(Trouble, f.Hint, "the manifest cannot be taken over, and the workloads stay as they are: %s", f.Reason)
	}
}

// retire tells whether the manager wants no more of the device.
func (t *step) retire(f Failure) bool {
	if !f.isRetirement() {
		return false
	}
	if !t.Retired {
		t.tell(Trouble, "its owner may have retired the device; a restart asks again", "the manager lets the device in no more: it is not asked again, and the workloads stay as they are: %s", f.Reason)
	}
	t.Retired = true
	return true
}

func (t *step) untold(m Untold) {
	r, ok := t.Outbox[m.Deployment]
	if !ok || t.retire(m.Failure) {
		return
	}
	if r.Serial == m.Serial && !m.Failure.isWorthTrying() {
		t.tell(Trouble, m.Failure.Hint, "the manager refuses what it is told of the deployment %s: %s", m.Deployment, m.Failure.Reason)
		delete(t.Outbox, m.Deployment)
		return
	}
	r.Turn = t.retryTurn(r.Turn, m.Failure, 0)
	t.Outbox[m.Deployment] = r
}

func (t *step) undescribed(f Failure) {
	if t.retire(f) {
		return
	}
	if t.State.Description.Failures == 0 {
		t.tell(Trouble, f.Hint, "the manager has not taken the capabilities: %s", f.Reason)
	}
	t.State.Description = t.retryTurn(t.State.Description, f, 0)
	if !f.isWorthTrying() { // until the program is started again, with others
		t.Described = t.Rules.Description
	}
}

// report has the manager told where a deployment stands, in the place of what it was to be told.
func (t *step) report(id string, w Workload) {
	t.Serial++
	r := t.Outbox[id] // when it is tried again stays
	device := w.Device
	if device == "" {
		device = t.Device
	}
	r.Serial = t.Serial
	r.Status = rc2.Status{Deployment: id, Device: device, Adopted: w.Version, Overall: w.overall(), Components: slices.Clone(w.Components)}
	t.Outbox[id] = r
	if len(t.Outbox) > maxReports {
		oldest := id
		for other, o := range t.Outbox {
			if o.Serial < t.Outbox[oldest].Serial {
				oldest = other
			}
		}
		delete(t.Outbox, oldest)
	}
}
