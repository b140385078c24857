package follow_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/runtime/source"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/server/follow"
	"github.com/tenetcm/tenet/server/store"
)

// What is refused is uploaded once, and tried at growing intervals, at once where somebody asks for it; another revision is not held up by it.
func TestRefusedDeployment(t *testing.T) {
	f := newFollowed(t, func(*follow.Source) {})
	f.refused = errors.New("there is no room")
	for range 120 { // ten minutes
		if now := f.after(5 * time.Second); now.Report.Phase != source.Failed || now.Report.Message != "there is no room" {
			t.Fatalf("it stands as %+v", now.Report)
		}
	}
	if len(f.messages) != 1 || f.tried < 4 || f.tried > 30 {
		t.Errorf("within ten minutes it was uploaded %d times, and tried %d times", len(f.messages), f.tried)
	}
	tried := f.tried
	if err := f.Look(t.Context(), root(), "shop"); err != nil {
		t.Fatal(err)
	}
	if f.after(time.Millisecond); f.tried != tried+1 {
		t.Error("it is not tried when somebody asks for it")
	}
	f.refused = nil
	f.put("two")
	if now := f.after(6 * time.Minute); now.Deployment != 1 || f.created[0].Revision == 0 {
		t.Errorf("another revision is not deployed: %+v", f.created)
	}
}

// What a server may not sign waits for an operator, which is no failure. Once one has signed it, the deployment that brings it tells what becomes of it, and a later one of the same, too.
func TestSignedElsewhere(t *testing.T) {
	f := newFollowed(t, func(*follow.Source) {})
	f.refused = &diag.HintError{Code: deploy.ErrSign, Message: "an operator has to sign it"}
	now := f.after(0)
	if got := texts(now.Report.Components); now.Report.Phase != source.Pending || !slices.Equal(got, []string{" pending; an operator has to sign it"}) {
		t.Errorf("it stands as %q", got)
	}
	f.outcome = deploy.Outcome{Phase: deploy.Rolling, Hosts: []deploy.HostOutcome{{Name: "h1", State: rollout.Failed, Components: []string{"db", "web"}, Report: report("component.web.file.x error no space", "component.db.file.y present")}}}
	f.signed = 7
	for _, number := range []int64{7, 9} {
		f.signed = number
		now = f.after(5 * time.Second)
		if got := texts(now.Report.Components); now.Deployment != number || !slices.Equal(got, []string{"db installed", "web failed; h1: no space; exec_failed; component.web.file.x"}) {
			t.Errorf("by the deployment %d it stands as %q", now.Deployment, got)
		}
	}
	f.signed = 0 // something else was deployed since
	f.put("two")
	if now = f.after(10 * time.Minute); now.Deployment != 0 || now.Report.Phase != source.Pending {
		t.Errorf("another revision, which nobody has signed, stands as %+v of the deployment %d", now.Report, now.Deployment)
	}
}

// A revision that was tidied away before it could be deployed is uploaded again.
func TestRevisionTidiedAway(t *testing.T) {
	f := newFollowed(t, func(*follow.Source) {})
	f.refused = &diag.HintError{Code: deploy.ErrNotFound, Message: "there is no such revision"}
	f.after(0)
	f.refused = nil
	if now := f.after(10 * time.Second); now.Deployment != 1 || len(f.messages) != 2 {
		t.Errorf("it was uploaded %d times, and stands as %+v", len(f.messages), now.Report)
	}
}

// The revision of the site names that of the source, and its address, from the start.
func TestMessageOfUpload(t *testing.T) {
	f := newFollowed(t, func(*follow.Source) {})
	now := f.after(0)
	want := fmt.Sprintf("%.12s of %s", strings.TrimPrefix(now.State.Held.ID, "sha256:"), f.folder)
	if len(f.messages) != 1 || f.messages[0] != want || f.created[0].Message != want {
		t.Errorf("uploaded was %q, not %q", f.messages, want)
	}
}

// A site has one source: two of them would undo what the other one does. Where a former version has taken two, the later one says so, and brings nothing.
func TestOneSourceOfSite(t *testing.T) {
	f := newFollowed(t, func(*follow.Source) {})
	err := f.Add(t.Context(), root(), follow.Source{Name: "another", Site: "shop", Address: t.TempDir()}, "")
	if diag.CodeOf(err) != follow.ErrExists || !strings.Contains(err.Error(), `"shop"`) {
		t.Errorf("a second source of the site: %v", err)
	}
	err = f.Store.Write(context.Background(), func(tx store.Tx) error {
		body := fmt.Sprintf(`{"name": "another", "site": "shop", "address": %q, "at": "2031-01-01T00:00:00Z"}`, f.folder)
		_, err := tx.Exec(`INSERT INTO follow_sources (name, body) VALUES ($1, $2)`, "another", []byte(body))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if now := f.after(0); now.Deployment != 1 || len(f.created) != 1 {
		t.Errorf("the first one stands as %+v, and %d are deployed", now.Report, len(f.created))
	}
	later, err := f.Get(t.Context(), root(), "another")
	if err != nil {
		t.Fatal(err)
	}
	if later.Report.Phase != source.Failed || !strings.Contains(later.Report.Message, `"shop"`) {
		t.Errorf("the later one stands as %+v", later.Report)
	}
	if err := f.Remove(t.Context(), root(), "shop", ""); err != nil {
		t.Fatal(err)
	}
	if err := f.Turn(t.Context(), func(err error) { t.Error(err) }); err != nil || len(f.created) != 2 {
		t.Errorf("once the first one is removed: %v, %d are deployed", err, len(f.created))
	}
}

// What a server could not remove before it ended goes with the next start; what is followed stays.
func TestSweep(t *testing.T) {
	f := newFollowed(t, func(*follow.Source) {})
	f.after(0)
	left := filepath.Join(f.Dir, "sources", "former")
	if err := os.MkdirAll(filepath.Join(left, "followed"), 0o700); err != nil {
		t.Fatal(err)
	}
	f.Service = follow.New(f.Options)
	if now := f.after(time.Second); now.State.Held.IsZero() {
		t.Errorf("it stands as %+v", now.State)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("what is left of a removed source stays")
	}
	if _, err := os.Stat(filepath.Join(f.Dir, "sources", "shop", "followed")); err != nil {
		t.Error(err)
	}
}

// An address that is none is refused without the password that is in it.
func TestPasswordInAddress(t *testing.T) {
	s := newService(t)
	for _, address := range []string{"https://user:topsecret@git.example/x.git", "https://user:top@secret/topsecret@git.example/x.git", "git::https://user:topsecret@git.example/x.git"} {
		err := s.Add(t.Context(), root(), follow.Source{Name: "a", Site: "s", Address: address}, "")
		if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "git.example") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
