package follow_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/runtime/source"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/server/follow"
)

// deployments takes what is deployed, and says what became of it.
type deployments struct {
	created  []deploy.Request
	messages []string // of what was uploaded
	tried    int      // how often something was to be deployed
	outcome  deploy.Outcome
	signed   int64  // by which deployment what somebody has signed is brought; 0: nobody has
	refused  error  // why nothing is deployed
	asked    func() // what happens when it is asked what became of one; nil: nothing
}

func (d *deployments) Upload(_ context.Context, _ *access.Caller, _ string, archive io.Reader, message string) (*deploy.Revision, error) {
	d.messages = append(d.messages, message)
	_, err := io.Copy(io.Discard, archive)
	return &deploy.Revision{Number: int64(len(d.created)) + 1}, err
}

func (d *deployments) Create(_ context.Context, _ *access.Caller, q deploy.Request) (*deploy.Deployment, error) {
	d.tried++
	if d.refused != nil {
		return nil, d.refused
	}
	d.created = append(d.created, q)
	return &deploy.Deployment{ID: int64(len(d.created))}, nil
}

func (d *deployments) Outcome(context.Context, int64) (*deploy.Outcome, error) {
	if d.asked != nil {
		d.asked()
	}
	o := d.outcome
	return &o, nil
}

func (d *deployments) SignedOf(context.Context, string, int64) (int64, error) { return d.signed, nil }

// followed is a server's service with a folder that it follows.
type followed struct {
	*testing.T
	*follow.Service
	deployments
	folder string
	now    time.Time
	told   []string
}

func newFollowed(t *testing.T, change func(*follow.Source)) *followed {
	f := &followed{T: t, Service: newService(t), folder: t.TempDir(), now: time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)}
	f.Service.Deployments = &f.deployments
	f.Clock = func() time.Time { return f.now }
	f.Changed = func(_, name string, r source.Report) { f.told = append(f.told, fmt.Sprintf("%s %s", name, r.Phase)) }
	of := follow.Source{Name: "shop", Site: "shop", Address: f.folder}
	change(&of)
	f.put("one")
	if err := f.Add(t.Context(), root(), of, ""); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *followed) put(text string) {
	f.Helper()
	if err := os.WriteFile(filepath.Join(f.folder, "site.hcl"), []byte(text), 0o644); err != nil {
		f.Fatal(err)
	}
}

// after lets some time go by, and gives how the source stands then.
func (f *followed) after(d time.Duration) *follow.Status {
	f.Helper()
	f.now = f.now.Add(d)
	if err := f.Turn(f.Context(), func(err error) { f.Error(err) }); err != nil {
		f.Fatal(err)
	}
	one, err := f.Get(f.Context(), root(), "shop")
	if err != nil {
		f.Fatal(err)
	}
	return one
}

// A source is looked at in its windows and out of its downtimes, and tells why it is not.
func TestClosed(t *testing.T) {
	window, err := site.ParseWindow(nil, "22:00-04:00", "")
	if err != nil {
		t.Fatal(err)
	}
	at := func(day, hour int) time.Time { return time.Date(2030, 1, day, hour, 0, 0, 0, time.UTC) }
	f := newFollowed(t, func(s *follow.Source) {
		s.Windows, s.Downtimes = []site.Window{window}, []source.Downtime{{From: at(1, 21), To: at(1, 23), Reason: "moving house"}}
	})
	now := f.after(0)
	if len(f.created) != 0 || now.Closed != "no window is open" || !now.Next.Equal(at(1, 23)) {
		t.Errorf("at noon, %d are deployed, and it is closed for %q until %v", len(f.created), now.Closed, now.Next)
	}
	if now = f.after(10*time.Hour + time.Minute); len(f.created) != 0 || now.Closed != "moving house" || !now.Next.Equal(at(1, 23)) {
		t.Errorf("in its downtime, %d are deployed, and it is closed for %q until %v", len(f.created), now.Closed, now.Next)
	}
	if !now.State.Away.IsZero() || now.State.Failures > 0 || now.Report.Phase != source.Pending {
		t.Errorf("the downtime counts as a failure: %+v", now.State)
	}
	if now = f.after(time.Hour); len(f.created) != 1 || now.Closed != "" || now.Deployment != 1 {
		t.Errorf("in its window, %d are deployed, and it is closed for %q", len(f.created), now.Closed)
	}
	f.put("two")
	if now = f.after(6 * time.Hour); len(f.created) != 1 || now.Closed == "" {
		t.Errorf("after its window, %d are deployed, and it is closed for %q", len(f.created), now.Closed)
	}
}

// What becomes of a revision is noted component by component, and told at each transition; what goes with a revision is removing, then removed.
func TestTransitions(t *testing.T) {
	f := newFollowed(t, func(*follow.Source) {})
	stands := func(after time.Duration, want ...string) {
		t.Helper()
		if got := texts(f.after(after).Report.Components); !slices.Equal(got, want) {
			t.Errorf("it stands as %q, not %q", got, want)
		}
	}
	f.outcome = deploy.Outcome{Phase: deploy.Rolling, Hosts: []deploy.HostOutcome{{Name: "h1", State: rollout.Pending, Why: deploy.Reason{Text: "it waits"}}}}
	stands(0, " pending; h1: it waits")
	f.outcome.Hosts[0] = deploy.HostOutcome{Name: "h1", State: rollout.Begun, Components: []string{"db", "web"}, Prunes: true}
	stands(5*time.Second, "db installing", "web installing")
	f.outcome.Hosts[0].State, f.outcome.Phase = rollout.Ready, deploy.Done
	stands(5*time.Second, "db installed", "web installed")

	f.refused = errors.New("there is no room")
	f.put("two")
	stands(10*time.Minute, " failed; there is no room; rejected")
	f.refused = nil
	f.outcome = deploy.Outcome{Phase: deploy.Rolling, Hosts: []deploy.HostOutcome{{Name: "h1", State: rollout.Begun, Components: []string{"web"}, Prunes: true}}}
	stands(5*time.Second, "db removing", "web installing")
	f.outcome.Phase, f.outcome.Hosts[0].State = deploy.Done, rollout.Ready
	stands(5*time.Second, "db removed", "web installed")
	since := f.after(0).Report.Since
	stands(time.Hour, "db removed", "web installed")
	if now := f.after(0).Report.Since; !now.Equal(since) {
		t.Error("it stands so since now, though it did before")
	}

	f.outcome.Hosts[0].State, f.outcome.Hosts[0].Why = rollout.Failed, deploy.Reason{Code: deploy.CodeGaveUp, Text: "it has given up"}
	stands(2*time.Second, "db removed", "web installed") // it is not asked all the time
	f.Poke()
	stands(time.Second, "db failed; h1: it has given up; gave_up", "web failed; h1: it has given up; gave_up")
	f.outcome = deploy.Outcome{Phase: deploy.Rolling, Hosts: []deploy.HostOutcome{{Name: "h1", State: rollout.Begun, Components: []string{"web"}, Prunes: true}}}
	f.put("three")
	stands(10*time.Minute, "db removing", "web installing") // it may be there still
	want := []string{"shop pending", "shop installing", "shop installed", "shop failed", "shop removing", "shop installed", "shop failed", "shop removing"}
	if !slices.Equal(f.told, want) {
		t.Errorf("told was %q, not %q", f.told, want)
	}

	list, err := f.List(t.Context(), only(t, access.Read, "shop"))
	if err != nil || len(list) != 1 || len(list[0].Report.Components) != 2 {
		t.Fatalf("who may read the site sees %+v, %v", list, err)
	}
}

// Who may not read all hosts does not learn what they say.
func TestTextsOfHosts(t *testing.T) {
	f := newFollowed(t, func(*follow.Source) {})
	f.outcome = deploy.Outcome{Phase: deploy.Failed, Hosts: []deploy.HostOutcome{{Name: "h1", State: rollout.Failed, Components: []string{"web"}, Report: report("component.web.file.x error SECRET")}}}
	f.after(0)
	h2, err := access.ParseSelector("name=h2")
	if err != nil {
		t.Fatal(err)
	}
	by := &access.Caller{Name: "carl", Kind: access.Person, Grants: []access.Grant{{Verb: access.Read, Hosts: h2, Site: "shop"}}}
	one, err := f.Get(t.Context(), by, "shop")
	if err != nil {
		t.Fatal(err)
	}
	if got := texts(one.Report.Components); !slices.Equal(got, []string{"web failed; exec_failed"}) || one.Report.Message != "" || one.Report.Phase != source.Failed {
		t.Errorf("they see %q and %q", got, one.Report.Message)
	}
}

// What cannot be kept is kept, and told, once it can.
func TestUnsaved(t *testing.T) {
	f := newFollowed(t, func(*follow.Source) {})
	f.outcome = deploy.Outcome{Phase: deploy.Done, Hosts: []deploy.HostOutcome{{Name: "h1", State: rollout.Ready, Components: []string{"web"}}}}
	ctx, end := context.WithCancel(t.Context())
	f.asked = end // nothing can be written from then on
	if err := f.Turn(ctx, func(err error) { t.Error(err) }); err != nil || len(f.created) != 1 || len(f.told) != 0 {
		t.Fatalf("%v; %d are deployed, and told is %q", err, len(f.created), f.told)
	}
	f.asked = nil
	if now := f.after(time.Second); now.Report.Phase != source.Installed || now.Deployment != 1 || !slices.Equal(f.told, []string{"shop installed"}) {
		t.Errorf("it stands as %+v, and told is %q", now.Report, f.told)
	}
}

// What a server could not remove of a source before it ended says nothing of another one of the same name.
func TestSameName(t *testing.T) {
	f := newFollowed(t, func(*follow.Source) {})
	f.after(0)
	if err := f.Remove(t.Context(), root(), "shop", ""); err != nil {
		t.Fatal(err)
	}
	f.now = f.now.Add(time.Second)
	if err := f.Add(t.Context(), root(), follow.Source{Name: "shop", Site: "shop", Address: filepath.Join(f.folder, "later")}, ""); err != nil {
		t.Fatal(err)
	}
	f.Service = follow.New(f.Options) // a server that has begun anew
	if now := f.after(time.Second); len(f.created) != 1 || !now.State.Held.IsZero() || now.State.Away.IsZero() {
		t.Errorf("%d are deployed, and it stands as %+v", len(f.created), now.State)
	}
	away := f.now
	f.Service = follow.New(f.Options)
	if now := f.after(time.Second); !now.State.Away.Equal(away) {
		t.Errorf("a server that has begun anew does not know where it was: %+v", now.State)
	}
}
