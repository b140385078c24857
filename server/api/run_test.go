package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api/client"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/states"
)

// events are lines of a run.
func events(run string, texts ...string) (list []control.Item) {
	for _, text := range texts {
		list = append(list, control.Item{Event: &control.Event{Site: "shop", Run: run, Event: json.RawMessage(text)}})
	}
	return list
}

func lineOf(n int) string {
	outcome := "changed"
	if n%10 == 0 {
		outcome = "failed"
	}
	return fmt.Sprintf(`{"type":"part","address":"file.f%d","invocation":"state.x","outcome":%q,"output":"Line %d of \"it\" <b>"}`, n, outcome, n)
}

// lines reads all that fits, part by part.
func (w *fleetWorld) lines(host, run string, f client.LineFilter) (list []int64, total int64) {
	w.t.Helper()
	for {
		part, err := w.client(w.alice).RunLines(context.Background(), host, run, f)
		must(w.t, err)
		for _, l := range part.Items {
			list = append(list, l.Number)
		}
		if f.After, total = part.Next, part.Total; f.After == 0 {
			return list, total
		}
	}
}

// The events of a run are read by their numbers, in parts and by filters, also those that a former version of the server has kept.
func TestRunLines(t *testing.T) {
	w := startFleet(t)
	web, db := w.host("web1", nil), w.host("db1", nil)
	w.want(web, "shop", "7")
	w.run(web, "shop", 1, "running")
	w.run(db, "shop", 1, "running")
	for batch := range 10 {
		var texts []string
		for n := range 10 {
			texts = append(texts, lineOf(batch*10+n+1))
		}
		w.tell(web, events("r001", texts...)...)
	}
	check := func(what string, f client.LineFilter, want ...int64) {
		t.Helper()
		for _, limit := range []int{1, 7, 1000} {
			f.Limit = limit
			if got, total := w.lines("web1", "r001", f); !slices.Equal(got, want) || total != 100 {
				t.Errorf("%s, %d at a time: %v of %d, not %v", what, limit, got, total, want)
			}
		}
	}
	failed := []int64{10, 20, 30, 40, 50, 60, 70, 80, 90, 100}
	for round := range 2 {
		check("after 97", client.LineFilter{After: 97}, 98, 99, 100)
		check("after all", client.LineFilter{After: 100})
		check("failed", client.LineFilter{Outcomes: []string{"failed", "blocked"}}, failed...)
		check("of a part", client.LineFilter{Address: "file.f42"}, 42)
		check("of an invocation", client.LineFilter{Address: "state.x", After: 99}, 100)
		check("of a type", client.LineFilter{Types: []string{"summary"}})
		check("with a text", client.LineFilter{Contains: "LINE 9"}, 9, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99)
		check("with what JSON writes otherwise", client.LineFilter{Contains: `33 of "IT" <B>`}, 33)
		check("with a name of a field", client.LineFilter{Contains: "invocation"})
		if round == 1 { // who asks again has nothing unpacked but what is shown
			must(t, w.store.Write(t.Context(), func(tx store.Tx) error {
				_, err := tx.Exec(`UPDATE sessions_events SET events = $1 WHERE part = (SELECT MIN(part) FROM sessions_events)`, []byte("nobody can read this"))
				return err
			}))
			check("once its rows were counted", client.LineFilter{After: 97}, 98, 99, 100)
		}
		if round == 0 { // as a former version has kept them
			must(t, w.store.Write(t.Context(), func(tx store.Tx) error {
				_, err := tx.Exec(`UPDATE sessions_events SET first = -1, lines = 0 WHERE part < 5`)
				if err == nil {
					_, err = tx.Exec(`UPDATE sessions_events SET first = -1 WHERE part >= 5`)
				}
				return err
			}))
		}
	}
	for _, path := range []string{"/v1/hosts/db1/runs/r001/lines", "/v1/hosts/db1/runs/r001", "/v1/hosts/web1/runs/none/lines", "/v1/hosts/web1/runs/none", "/v1/hosts/web1/runs/none/events"} {
		w.wantProblem(w.ask("GET", path, w.carol, ""), 404, access.CodeNotFound)
	}
	all, err := access.ParseSelector("*")
	must(t, err)
	w.add("dora", access.Grant{Verb: access.Read, Hosts: all, Site: "base"})
	for _, path := range []string{"/v1/hosts/web1/runs/r001/lines", "/v1/hosts/web1/runs/r001", "/v1/hosts/web1/runs/r001/events"} {
		w.wantProblem(w.ask("GET", path, w.login("dora"), ""), 404, access.CodeNotFound)
	}
	// Of whose run events are is not known before the run is: then who may read all sites may read them.
	w.tell(web, events("r777", lineOf(1))...)
	w.wantProblem(w.ask("GET", "/v1/hosts/web1/runs/r777/events", w.login("dora"), ""), 404, access.CodeNotFound)
	if r := w.ask("GET", "/v1/hosts/web1/runs/r777/events", w.alice, ""); r.status != 200 || !strings.Contains(r.text, "file.f1") {
		t.Error(r)
	}
}

// A page of a run of a million lines takes none of the others.
func TestLinesReadNoMoreThanTheyNeed(t *testing.T) {
	w := startFleet(t)
	web := w.host("web1", nil)
	w.run(web, "shop", 1, "running")
	encoder, err := zstd.NewWriter(nil)
	must(t, err)
	const rows, each = 1000, 1000
	good := encoder.EncodeAll([]byte(strings.Repeat(lineOf(1)+"\n", each)), nil)
	must(t, w.store.Write(t.Context(), func(tx store.Tx) error {
		for n := range rows {
			data := []byte("nobody can read this")
			if n == 500 {
				data = good
			}
			if _, err := tx.Exec(`INSERT INTO sessions_events (host, run, part, at, events, first, lines) VALUES ($1, 'r001', $2, 1, $3, $4, $5)`, string(web), int64(n), data, int64(n*each), int64(each)); err != nil {
				return err
			}
		}
		return nil
	}))
	part, err := w.client(w.alice).RunLines(t.Context(), "web1", "r001", client.LineFilter{After: 500_100, Limit: 200})
	must(t, err)
	if part.Total != rows*each || len(part.Items) != 200 || part.Items[0].Number != 500_101 || part.Next != 500_300 {
		t.Errorf("%d of %d lines, next %d", len(part.Items), part.Total, part.Next)
	}
}

// A run is shown with its report by parts, if that is the newest.
func TestRunIsShown(t *testing.T) {
	w := startFleet(t)
	web := w.host("web1", nil)
	w.want(web, "shop", "7")
	w.run(web, "shop", 1, "changed")
	end := w.ended(web, "shop", "r002", "sha256:1", 1, false)
	for n := range 5 {
		p := states.PartReport{Address: fmt.Sprintf("file.f%d", n), State: states.PartPresent, Changed: n == 2}
		if n == 4 {
			p.State = states.PartError
		}
		end.Run.Report.Parts = append(end.Run.Report.Parts, p)
	}
	w.tell(web, append(events("r002", lineOf(1), lineOf(2)), end)...)
	c := w.client(w.carol)
	for _, test := range []struct {
		f    client.PartFilter
		fits int
		want []string
	}{
		{client.PartFilter{}, 5, []string{"file.f0", "file.f1", "file.f2", "file.f3", "file.f4"}},
		{client.PartFilter{State: []string{"present"}, After: 1, Limit: 2}, 4, []string{"file.f1", "file.f2"}},
		{client.PartFilter{State: []string{"error", "pending"}}, 1, []string{"file.f4"}},
		{client.PartFilter{Changed: true}, 1, []string{"file.f2"}},
	} {
		d, err := c.RunOf(t.Context(), string(trust.ID("web1")), "r002", test.f)
		must(t, err)
		var got []string
		for _, p := range d.Report.Parts {
			got = append(got, p.Address)
		}
		if !slices.Equal(got, test.want) || d.Report.Fits != test.fits || d.Report.States["present"] != 4 || d.Report.States["error"] != 1 || d.Outcome != "failed" || d.Name != "web1" || d.Lines != 2 {
			t.Errorf("%+v: %+v", test.f, d)
		}
	}
	if d, err := c.RunOf(t.Context(), "web1", "r001", client.PartFilter{}); err != nil || d.Report != nil || d.Outcome != "changed" || d.Lines != 0 {
		t.Errorf("the run before is %+v: %v", d, err)
	}
}
