package margo

import (
	"maps"
	"slices"
	"time"

	"github.com/tenetcm/tenet/runtime/source/margo/rc2"
)

// Codes of errors that the device is the source of, or its deployments. Those of the specification are in rc2.
const (
	CodeHelm       = "helm_unsupported"
	CodeType       = "type_unsupported"
	CodeIneligible = "not_eligible"
	CodeParameter  = "parameter_unusable"
	CodePackage    = "package_unusable"
	CodeFailed     = "installation_failed"
	CodeRemoval    = "removal_failed"
)

// isInOrder tells whether a manifest may follow what was accepted, and tells people where it may not.
func (t *step) isInOrder(version uint64, digest rc2.Digest) bool {
	const hint = "the manager may have lost its records, or somebody may stand in for it: ask who runs it"
	isOlder := version < t.Accepted.Version
	if !isOlder && (version > t.Accepted.Version || digest == t.Accepted.Digest) {
		t.Offence = Mark{}
		return true
	}
	if offence := (Mark{version, digest}); t.Offence != offence { // a manager offers the same each minute
		t.Offence = offence
		if isOlder {
			t.tell(Security, hint, "the manager offers version %d of the manifest, and %d was accepted: it is refused", version, t.Accepted.Version)
		} else {
			t.tell(Security, hint, "the manager offers version %d of the manifest with other content than was accepted: it is refused", version)
		}
	}
	return false
}

// offer decides on a manifest whose documents nobody has seen yet.
func (t *step) offer(m Offered) {
	t.Poll = t.rest()
	if !t.isInOrder(m.Manifest.Version, m.Digest) {
		return
	}
	if m.Manifest.Version == t.Accepted.Version {
		t.Trouble = ""
		if t.isSettled() {
			t.sync()
			return
		}
		if !t.Retry.isDue(t.now) {
			return
		}
	}
	t.do(Fetch(m))
}

// accept takes over a manifest of which all is verified. From here on nothing older counts.
func (t *step) accept(m Verified) {
	t.Poll = t.rest()
	if !t.isInOrder(m.Manifest.Version, m.Digest) || !t.isComplete(m) {
		return
	}
	if t.Accepted.Version == 0 {
		t.tell(Notice, "", "the device begins with version %d of the manifest: of earlier ones nothing is known here", m.Manifest.Version)
	}
	if m.Manifest.Version != t.Accepted.Version {
		t.Retry = Turn{}
	}
	t.Accepted, t.Trouble = Mark{m.Manifest.Version, m.Digest}, ""
	wanted := map[string]bool{}
	for _, ref := range m.Manifest.Deployments {
		wanted[ref.ID] = true
		t.want(ref, m.Documents[ref.ID])
	}
	for _, id := range slices.Sorted(maps.Keys(t.Deployments)) {
		if !wanted[id] {
			t.unwant(id)
		}
	}
	t.Applying = true
	t.do(Apply{})
}

// isComplete is the last look at what comes from outside: each document is that of its deployment.
func (t *step) isComplete(m Verified) bool {
	count := len(t.Deployments)
	for _, ref := range m.Manifest.Deployments {
		d, ok := m.Documents[ref.ID]
		if !ok || d.ID != ref.ID {
			t.poll(Failure{Reason: "the document of the deployment " + ref.ID + " is that of another one, or is missing"})
			return false
		}
		if _, known := t.Deployments[ref.ID]; !known {
			count++
		}
	}
	if count > maxWorkloads {
		t.poll(Failure{Reason: "there would be more deployments than a device keeps, with those that could not be removed yet"})
		return false
	}
	return true
}

// want makes a deployment what its document says. One that is settled stays so; the version is that of the newest manifest.
func (t *step) want(ref rc2.Reference, d rc2.Deployment) {
	w, known := t.Deployments[ref.ID]
	w.Version = t.Accepted.Version
	if known && w.Digest == ref.Digest && w.settled() {
		t.Deployments[ref.ID] = w
		return
	}
	w.Digest, w.Name, w.Absent, w.Device = ref.Digest, d.Name, false, ""
	refusal := t.refusal(d)
	if refusal != nil && refusal.Code == rc2.CodeUnknownChild {
		w.Device = d.Device
	}
	w.Refused = refusal != nil
	w.Components = nil
	for _, c := range d.Components {
		s := rc2.ComponentStatus{Name: c.Name, State: rc2.Pending}
		if refusal != nil {
			e := *refusal
			if e.Source == "" {
				e.Source = c.Name
			}
			s.State, s.Error = rc2.Failed, &e
		}
		w.Components = append(w.Components, s)
		if refusal == nil && !slices.Contains(w.Host, c.Name) {
			w.Host = append(w.Host, c.Name)
		}
	}
	if refusal == nil {
		w.Present = ref.Digest
	}
	t.Deployments[ref.ID] = w
	t.report(ref.ID, w)
}

// refusal tells why a deployment is not installed at all: nothing of that changes with another try.
func (t *step) refusal(d rc2.Deployment) *rc2.Error {
	if code := rc2.Placement(t.Device, d.Device); code != "" {
		return rc2.ErrorReserved(code, t.Device)
	}
	switch {
	case d.Type == rc2.TypeHelm:
		return &rc2.Error{Code: CodeHelm, Message: "this device runs no Helm charts; it runs deployments of type compose"}
	case d.Type != rc2.TypeCompose:
		return &rc2.Error{Code: CodeType, Message: "this device runs deployments of type compose"}
	case t.Capabilities != nil && !t.Capabilities.Fits(d.Rules):
		return &rc2.Error{Code: CodeIneligible, Message: "none of the eligibilityRules fits the capabilities of this device"}
	case t.Judge != nil:
		return t.Judge(d)
	}
	return nil
}

// unwant has a deployment removed that no manifest names any more.
func (t *step) unwant(id string) {
	w := t.Deployments[id]
	w.Absent, w.Refused, w.Version = true, false, t.Accepted.Version
	for i := range w.Components {
		w.Components[i].Error = nil
		w.Components[i].State = rc2.Removed
		if slices.Contains(w.Host, w.Components[i].Name) {
			w.Components[i].State = rc2.Removing
		}
	}
	t.Deployments[id] = w
	t.report(id, w)
	t.drop(id)
}

// drop forgets a deployment of which nothing is left.
func (t *step) drop(id string) {
	if w := t.Deployments[id]; w.Absent && len(w.Host) == 0 {
		delete(t.Deployments, id)
	}
}

// progress notes where a component stands, and has the manager told where that is news.
func (t *step) progress(m Progress) {
	w, ok := t.Deployments[m.Deployment]
	if !ok {
		return
	}
	if m.State == rc2.Removed {
		w.Host = slices.DeleteFunc(w.Host, func(name string) bool { return name == m.Component })
	}
	i := w.index(m.Component)
	leaves := m.State == rc2.Removing || m.State == rc2.Removed
	if i >= 0 && !w.Refused && (w.Absent == leaves || m.State == rc2.Failed) {
		c := &w.Components[i]
		isNews := c.State != m.State || !sameError(c.Error, m.Error)
		c.State, c.Error = m.State, m.Error
		t.Deployments[m.Deployment] = w
		if isNews {
			t.report(m.Deployment, w)
		}
	}
	t.Deployments[m.Deployment] = w
	t.drop(m.Deployment)
}

func sameError(a, b *rc2.Error) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// end closes an apply: with all at its place the version is synced, and else it is tried again after a while.
func (t *step) end() {
	t.Applying = false
	if t.isSettled() {
		t.sync()
		return
	}
	t.Retry = t.retryTurn(t.Retry, Failure{}, t.Interval)
}

func (t *step) isSettled() bool {
	for _, w := range t.Deployments {
		if !w.settled() {
			return false
		}
	}
	return !t.Applying
}

func (t *step) sync() {
	t.Retry = Turn{}
	t.Synced = Synced{t.Accepted.Version, `"` + string(t.Accepted.Digest) + `"`}
}

// Next is when there is something to do again at the earliest, unless something else happens.
func (r Rules) Next(s State, now time.Time) time.Time {
	if s.Retired {
		return now.Add(24 * time.Hour)
	}
	if until := r.closed(now); !until.IsZero() {
		return until
	}
	next := s.Poll.next()
	earlier := func(t Turn) {
		if t.next().Before(next) {
			next = t.next()
		}
	}
	if s.Described != r.Description {
		earlier(s.Description)
	}
	for _, report := range s.Outbox {
		earlier(report.Turn)
	}
	return next
}
