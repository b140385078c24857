package source_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/source"
)

// What is followed is listed by address with why nothing is tried; what is damaged is told, and hides nothing else.
func TestList(t *testing.T) {
	state, now := t.TempDir(), time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	if list, err := source.List(state, now); list != nil || err != nil {
		t.Fatal(list, err)
	}
	put := func(name, file, text string) {
		t.Helper()
		dir := source.FolderIn(state, name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := source.Record{Address: "b", Schedule: &source.Options{Downtimes: []source.Downtime{{From: now.Add(-time.Hour), To: now.Add(time.Hour), Reason: "moving"}}}}
	for i := range 12 {
		r.AddSkipped(source.Event{Revision: source.Revision{ID: fmt.Sprint(i)}, Time: now})
	}
	if err := os.MkdirAll(source.FolderIn(state, "1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := r.Save(source.FolderIn(state, "1")); err != nil {
		t.Fatal(err)
	}
	put("2", "report.json", `{"address": "a", "schedule": {}}`)
	put("2", "state.json", `{"next": "2030-01-01T11:00:00Z"}`)
	put("3", "report.json", `{`)
	put("4", "report.json", `{"address": "`+strings.Repeat("x", 5<<20)+`"}`)
	put("5", "state.json", `{}`) // nobody has told anything of it yet
	list, err := source.List(state, now)
	if err == nil || !strings.Contains(err.Error(), "3/report.json") || !strings.Contains(err.Error(), "too large") {
		t.Errorf("of the damaged ones is told: %v", err)
	}
	if _, err := source.ReadRecord(source.FolderIn(state, "3")); !strings.Contains(diag.HintOf(err), "3/report.json: ") {
		t.Errorf("it has the hint %q", diag.HintOf(err))
	}
	if len(list) != 2 || list[0].Address != "a" || list[1].Address != "b" {
		t.Fatalf("the list is %+v", list)
	}
	if a := list[0]; !a.Late || a.Closed != "" || a.Report.Phase != source.Pending {
		t.Errorf("who is not looked at by anybody is %+v", a)
	}
	if b := list[1]; b.Late || b.Closed != "moving" || !b.Next.Equal(now.Add(time.Hour)) || len(b.Skipped) != 10 || b.Skipped[9].Revision.ID != "11" {
		t.Errorf("who is in a downtime is %+v", b)
	}
}
