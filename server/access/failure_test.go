package access

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/store"
)

// refusals gives the entries about logins that have failed, the oldest first, as JSON.
func refusals(t *testing.T, d *Directory) (out []string) {
	t.Helper()
	err := d.store.Read(t.Context(), func(r store.Reader) error {
		out = nil
		return readRecords(r, 0, 10_000, func(r Record, detail string) error {
			if r.Action == refuseSession {
				out = append(out, strings.Join(strings.Fields(r.Actor+" "+r.Reason+" "+detail), " "))
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A login that fails is in the audit, with the name of a person and without what may be a password; of more than a few in an hour there is a sum.
func TestFailedLoginsAreAudited(t *testing.T) {
	d, now := newTestDirectory(t), time.Unix(1e9, 0)
	d.o.Clock = func() time.Time { return now }
	password, all, root := "correct horse battery", AllGrants(), &Caller{Name: "server", Kind: Person, Grants: AllGrants()}
	if err := d.AddPerson(t.Context(), root, "alice", PersonChange{Password: &password, Grants: &all}); err != nil {
		t.Fatal(err)
	}
	logIn := func(name, password, origin string) {
		t.Helper()
		if _, err := d.LogIn(t.Context(), name, password, origin); diag.CodeOf(err) != CodeUnknown {
			t.Fatal(err)
		}
	}
	logIn("alice", "wrong horse battery", "192.0.2.1:1000")
	logIn("hunter2-hunter2", "hunter2-hunter2", "192.0.2.1:1001")
	if got, want := strings.Join(refusals(t, d), "\n"), `server {"origin":"192.0.2.1:1000","person":"alice","way":"password"}`+"\n"+
		`server nobody has the name that was given {"origin":"192.0.2.1:1001","way":"password"}`; got != want {
		t.Errorf("%s", got)
	}
	text, err := json.Marshal(refusals(t, d))
	if err != nil || strings.Contains(string(text), "hunter2") || strings.Contains(string(text), "horse") {
		t.Errorf("a password is in the audit: %s %v", text, err)
	}
	for range 7 {
		logIn("alice", "wrong horse battery", "192.0.2.1:1000")
	}
	now = now.Add(time.Hour)
	before := len(refusals(t, d))
	if err := d.TellFailures(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := refusals(t, d)
	if before != 1+failuresOfPair || len(got) != before+1 || got[before] != `server {"more":"3","origin":"192.0.2.1","person":"alice"}` {
		t.Errorf("%d, then %q", before, got)
	}
	logIn("alice", "wrong horse battery", "192.0.2.1:1000")
	if got := refusals(t, d); len(got) != before+2 {
		t.Errorf("another hour begins with %q", got)
	}
}

// However many names and addresses are made up, an hour leaves so many entries, in which all failures are counted.
func TestFailedLoginsAreBounded(t *testing.T) {
	d, now := newTestDirectory(t), time.Unix(1e9, 0)
	d.o.Clock = func() time.Time { return now }
	const n = 3000
	for i := range n {
		if err := d.refuse(t.Context(), fmt.Sprint("name", i%700), "", fmt.Sprintf("10.0.%d.%d", i%70, i%7), "password"); err != nil {
			t.Fatal(err)
		}
	}
	told := len(refusals(t, d))
	now = now.Add(time.Hour)
	if err := d.TellFailures(t.Context()); err != nil {
		t.Fatal(err)
	}
	sum := told
	got := refusals(t, d)
	for _, one := range got[told:] {
		var detail struct {
			More int `json:"more,string"`
		}
		if err := json.Unmarshal([]byte(one[strings.Index(one, "{"):]), &detail); err != nil {
			t.Fatal(err)
		}
		sum += detail.More
	}
	if told != failuresOfAll || len(got) > told+failureSums+1 || sum != n {
		t.Errorf("%d entries, then %d, of %d failures", told, len(got), sum)
	}
}
