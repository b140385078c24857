package source_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/source"
)

// outbox is one on the disk, which each step takes up anew, unless it is held open.
type outbox struct {
	*testing.T
	dir  string
	held *source.Outbox
}

func (o outbox) open() *source.Outbox {
	o.Helper()
	if o.held != nil {
		return o.held
	}
	box, err := source.OpenOutbox(o.dir)
	if err != nil {
		o.Fatal(err)
	}
	return box
}

func (o outbox) add(revision, reason string, more ...source.Component) {
	o.Helper()
	r := source.Report{Revision: source.Revision{ID: revision}, Phase: source.Pending, Reason: reason, Since: time.Now(), Components: more}
	if err := o.open().Add("git::x", r); err != nil {
		o.Fatal(err)
	}
}

// take takes all that waits, as "number revision reason".
func (o outbox) take() (list []string) {
	o.Helper()
	for {
		number, data := o.open().First()
		if data == nil {
			return list
		}
		var n source.Notice
		if err := json.Unmarshal(data, &n); err != nil || n.Number != number {
			o.Fatalf("%s: %v", data, err)
		}
		list = append(list, fmt.Sprintf("%d %s %s", n.Number, n.Revision.ID, n.Reason))
		if err := o.open().Remove(number); err != nil {
			o.Fatal(err)
		}
	}
}

// Reports wait in their order, whoever is killed in between, each once; they are numbered throughout.
func TestOutbox(t *testing.T) {
	o := outbox{T: t, dir: t.TempDir()}
	o.add("a", "1")
	o.add("a", "2")
	o.add("a", "2") // it was added, and not noted
	if got, want := o.take(), []string{"1 a 1", "2 a 2"}; !slices.Equal(got, want) {
		t.Errorf("%q wait, and not %q", got, want)
	}
	o.add("a", "2")
	o.add("a", "1")
	if got, want := o.take(), []string{"3 a 1"}; !slices.Equal(got, want) {
		t.Errorf("%q wait, and not %q", got, want)
	}
}

// What cannot be told gives way to what is newer, and the newest never does.
func TestOutboxPass(t *testing.T) {
	o := outbox{T: t, dir: t.TempDir()}
	o.add("a", "1")
	o.add("b", "2")
	for number, want := range map[int64]bool{1: true, 2: false} {
		if passed, err := o.open().Pass(number); passed != want || err != nil {
			t.Errorf("whether %d gives way is %v, %v", number, passed, err)
		}
	}
	if got, want := o.take(), []string{"2 b 2"}; !slices.Equal(got, want) {
		t.Errorf("%q wait, and not %q", got, want)
	}
}

// However much waits, it is bounded; the newest of each revision stays before all else.
func TestOutboxBounds(t *testing.T) {
	o := outbox{T: t, dir: t.TempDir()}
	o.held = o.open()
	o.add("first", "only")
	for i := range 115 {
		o.add("a", fmt.Sprint(i))
	}
	got := o.take()
	if len(got) != 100 || got[0] != "1 first only" || got[1] != "18 a 16" || got[99] != "116 a 114" {
		t.Errorf("%d wait, from %q to %q", len(got), got[:2], got[len(got)-1])
	}
	for i := range 20 {
		o.add(fmt.Sprint("r", i), "", source.Component{Name: "web", Phase: source.Failed, Message: strings.Repeat("x", 1<<20)})
	}
	if got := o.take(); len(got) != 3 || got[2] != "136 r19 " {
		t.Errorf("of large ones %q wait", got)
	}
	o.add("large", "", source.Component{Name: "web", Message: strings.Repeat("x", 8<<20)})
	if got := o.take(); len(got) != 1 {
		t.Errorf("of one that is larger than all may be, %q wait", got)
	}
}

// What is damaged is told as such, and holds up nothing that comes after.
func TestDamagedOutbox(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "outbox.json"), []byte(`{"number":3,"waiting":[{"number":`), 0o600); err != nil {
		t.Fatal(err)
	}
	box, err := source.OpenOutbox(dir)
	if err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("it says %v", err)
	}
	if err := box.Add("git::x", source.Report{}); err != nil {
		t.Fatal(err)
	}
	if got := (outbox{T: t, dir: dir}).take(); len(got) != 1 {
		t.Errorf("%q wait", got)
	}
}
