package margo_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/source/margo"
	"github.com/tenetcm/tenet/runtime/source/margo/managertest"
	"github.com/tenetcm/tenet/runtime/source/margo/rc2"
)

func TestDeploymentComesChangesAndGoes(t *testing.T) {
	b := newBench(t)
	b.turn()
	if b.manager.Capabilities("device-1") == nil {
		t.Error("the manager does not know what the device has")
	}
	b.wantTold(margo.Notice, "begins with version 1")

	b.manager.Publish(map[string]string{"app": managertest.Document("app", []string{"database", "web"})})
	b.turn()
	b.wantHost("app/database 1.0.0", "app/web 1.0.0")
	// What waits counts more than what is installed: so it is said between two components.
	install := []string{"pending 2", "installing 2", "pending 2", "installing 2", "installed 2"}
	b.wantStatuses("app", install...)

	b.manager.Publish(map[string]string{"app": managertest.Document("app", []string{"database", "web:2.0.0"})})
	b.turn()
	b.wantHost("app/database 1.0.0", "app/web 2.0.0")
	b.wantStatuses("app", append(install, "pending 3", "installing 3", "installed 3")...)

	b.manager.Publish(map[string]string{"app": managertest.Document("app", []string{"web:2.0.0"})})
	b.turn()
	b.wantHost("app/web 2.0.0")

	b.manager.Publish(nil)
	b.turn()
	b.wantHost()
	if got := b.manager.Statuses("app"); !slices.Equal(got[len(got)-2:], []string{"removing 5", "removed 5"}) {
		t.Errorf("the manager was told %q", got)
	}
	if s := b.device.State(); len(s.Deployments)+len(s.Outbox) != 0 || s.Synced.Version != 5 {
		t.Errorf("left is %+v", s)
	}
}

func TestNothingIsDoneForAManifestThatIsThere(t *testing.T) {
	b := newBench(t)
	b.manager.Publish(map[string]string{"app": managertest.Document("app", []string{"web"})})
	b.turn()
	b.manager.Requests()
	applied := b.host.applied
	b.turn()
	if got := b.manager.Requests(); !slices.Equal(got, []string{"GET /api/v1/deployments"}) || b.host.applied != applied {
		t.Errorf("requests %q, %d applies more", got, b.host.applied-applied)
	}
	b.after(time.Second)
	if got := b.manager.Requests(); len(got) != 0 {
		t.Errorf("within the interval: %q", got)
	}
}

func TestManyDocumentsComeInOneBundle(t *testing.T) {
	b := newBench(t)
	documents := map[string]string{}
	for i := range 10 {
		id := fmt.Sprintf("app-%d", i)
		documents[id] = managertest.Document(id, []string{"web"})
	}
	b.manager.Publish(documents)
	b.turn()
	gets := 0
	for _, r := range b.manager.Requests() {
		if r[:3] == "GET" {
			gets++
		}
	}
	if gets != 2 || len(b.host.runs) != 10 {
		t.Errorf("%d requests, %q", gets, b.host.list())
	}
}

func TestFailureIsToldAndTriedAgain(t *testing.T) {
	b := newBench(t)
	b.host.breaks = map[string]bool{"web": true}
	b.manager.Publish(map[string]string{
		"app":   managertest.Document("app", []string{"database", "web", "proxy"}),
		"other": managertest.Document("other", []string{"one"}),
	})
	b.turn()
	b.wantHost("app/database 1.0.0", "other/one 1.0.0")
	b.wantStatuses("app", "pending 2", "installing 2", "pending 2", "installing 2", "failed 2")
	reports := b.manager.Reports("app")
	last := reports[len(reports)-1]
	if e := last.Overall.Error; e == nil || e.Source != "name-of-app" || e.Code != margo.CodeFailed {
		t.Errorf("the error of the deployment is %+v", e)
	}
	if last.Components[0].State != rc2.Installed || last.Components[2].State != rc2.Pending {
		t.Errorf("the components are %+v", last.Components)
	}
	if s := b.device.State(); s.Synced.Version == 2 {
		t.Error("what failed counts as synced")
	}

	b.host.breaks = nil
	b.after(2 * time.Minute)
	b.wantHost("app/database 1.0.0", "app/proxy 1.0.0", "app/web 1.0.0", "other/one 1.0.0")
	if s := b.device.State(); s.Synced.Version != 2 {
		t.Error("what was mended does not count as synced")
	}
	b.wantStatuses("other", "pending 2", "installing 2", "installed 2")
}

func TestWhatCannotRunHereIsRefused(t *testing.T) {
	web := []string{"web"}
	b := newBench(t)
	b.manager.Publish(map[string]string{
		"chart":  managertest.DocumentOf("helm", "chart", "device-1", web),
		"own":    managertest.DocumentOf("custom", "own", "device-1", web),
		"child":  managertest.DocumentOf("compose", "child", "device-1/child", web),
		"anyone": managertest.DocumentOf("compose", "anyone", "device-1/*", web),
		"unfit": managertest.Document("unfit", web, `    deviceConstraints:
      eligibilityRules:
      - labelSelector:
          matchExpressions:
          - {key: acme.test/line, operator: In, values: [b]}`),
		"fit": managertest.Document("fit", web, `    deviceConstraints:
      eligibilityRules:
      - propertySelector:
          matchExpressions:
          - {key: /peripherals, operator: ContainsAll, itemSelector: {matchExpressions: [{key: /type, operator: In, values: [gpu]}]}}`),
	})
	b.turn()
	b.wantHost("fit/web 1.0.0")
	for id, code := range map[string]string{"chart": margo.CodeHelm, "own": margo.CodeType, "child": "101", "anyone": "103", "unfit": margo.CodeIneligible} {
		b.wantStatuses(id, "failed 2")
		if e := b.manager.Reports(id)[0].Components[0].Error; e.Code != code {
			t.Errorf("%s: %+v, want the code %s", id, e, code)
		}
	}
	if s := b.device.State(); s.Synced.Version != 2 {
		t.Error("what is refused for good is tried again")
	}
	b.manager.Publish(nil)
	b.turn()
	b.wantStatuses("chart", "failed 2", "removed 3")
	if s := b.device.State(); len(s.Deployments) != 0 || s.Synced.Version != 3 {
		t.Errorf("left is %+v", s)
	}
}

// An update that cannot run here leaves what runs.
func TestRefusedUpdateLeavesTheFormer(t *testing.T) {
	b := newBench(t)
	b.manager.Publish(map[string]string{"app": managertest.Document("app", []string{"web"})})
	b.turn()
	b.manager.Publish(map[string]string{"app": managertest.DocumentOf("helm", "app", "device-1", []string{"chart"})})
	b.turn()
	b.wantHost("app/web 1.0.0")
	b.manager.Publish(nil)
	b.turn()
	b.wantHost()
	b.wantStatuses("app", "pending 2", "installing 2", "installed 2", "failed 3", "removed 4")
}

func TestRetiredDeviceKeepsItsWorkloads(t *testing.T) {
	b := newBench(t)
	b.manager.Publish(map[string]string{"app": managertest.Document("app", []string{"web"})})
	b.turn()
	b.manager.Retire(true)
	b.turn()
	b.wantTold(margo.Trouble, "no more")
	b.manager.Requests()
	for range 10 {
		b.turn()
	}
	b.wantHost("app/web 1.0.0")
	if got := b.manager.Requests(); len(got) != 0 {
		t.Errorf("a retired device asks %q", got)
	}
	b.manager.Retire(false)
	b.manager.Publish(nil)
	b.open()
	b.turn()
	b.wantHost()
}

func TestDayWithoutTheManager(t *testing.T) {
	b := newBench(t)
	b.manager.Publish(map[string]string{"app": managertest.Document("app", []string{"web"})})
	b.turn()
	b.manager.Publish(map[string]string{"app": managertest.Document("app", []string{"web:2.0.0"})})
	asked := 0
	b.host.breaks = map[string]bool{"web": true}
	b.manager.Disturb(func(w http.ResponseWriter, r *http.Request) bool {
		if asked++; asked > 2 { // the manifest and the document
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		return false
	})
	b.turn()
	b.host.breaks = nil
	for end := b.now.Add(24 * time.Hour); b.now.Before(end); {
		b.after(max(time.Minute, b.device.Next().Sub(b.now)))
	}
	if asked > 300 { // each 15 minutes, of the manifest and of one status
		t.Errorf("the manager was asked %d times", asked)
	}
	if s := b.device.State(); len(s.Outbox) != 1 {
		t.Errorf("kept for the manager is %+v", s.Outbox)
	}
	b.wantHost("app/web 1.0.0")
	for range 3 {
		b.manager.Publish(map[string]string{"app": managertest.Document("app", []string{"web:3.0.0"})})
	}
	b.manager.Disturb(nil)
	b.after(time.Hour)
	b.after(time.Hour)
	b.wantHost("app/web 3.0.0")
	got := b.manager.Statuses("app")
	if last := got[len(got)-1]; last != "installed 6" {
		t.Errorf("the manager was told %q", got)
	}
}

func TestCrashInAnApply(t *testing.T) {
	b := newBench(t)
	b.manager.Publish(map[string]string{"app": managertest.Document("app", []string{"web"})})
	b.host.crash = true
	ctx := b.Context()
	b.now = b.now.Add(time.Minute)
	if err := b.device.Turn(ctx); err != nil { // the applier has failed, which is told
		t.Fatal(err)
	}
	b.wantTold(margo.Trouble, "could not be applied")
	b.after(2 * time.Minute)
	b.wantHost("app/web 1.0.0")
	b.wantStatuses("app", "pending 2", "installing 2", "pending 2", "installing 2", "installed 2")
}

// What was accepted is applied also where the program ended before, and the manager is away.
func TestAcceptedManifestIsAppliedWithoutTheManager(t *testing.T) {
	b := newBench(t)
	b.manager.Publish(map[string]string{"app": managertest.Document("app", []string{"web"})})
	ctx, cancel := context.WithCancel(b.Context())
	b.manager.Disturb(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost { // the first status: the manifest is accepted, and nothing has begun
			cancel()
		}
		return false
	})
	b.now = b.now.Add(time.Minute)
	if err := b.device.Turn(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	b.wantHost()
	b.manager.Disturb(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	b.open()
	b.turn()
	b.wantHost("app/web 1.0.0")
}

func TestRefusedStatusRetiresToo(t *testing.T) {
	b := newBench(t)
	b.turn()
	b.manager.Publish(map[string]string{"app": managertest.Document("app", []string{"web"})})
	b.manager.Disturb(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusForbidden)
		}
		return r.Method == http.MethodPost
	})
	b.turn()
	b.wantTold(margo.Trouble, "no more")
	if s := b.device.State(); !s.Retired || len(s.Outbox) != 1 {
		t.Errorf("retired %t, kept are %d reports", s.Retired, len(s.Outbox))
	}
}

func TestUnregister(t *testing.T) {
	b := newBench(t)
	b.turn()
	if err := b.device.Unregister(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b.manager.Capabilities("device-1") != nil {
		t.Error("the manager still has the capabilities")
	}
}
