package deploy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// record is a deployment with what the store has of it, so that only what has changed is written.
type record struct {
	*Deployment
	body   []byte  // as it is kept; nil: it is not
	former []*Host // likewise
	// outdated are hosts whose states the index does not say, since a former version of the server has written them.
	outdated map[trust.ID]bool
	shown    trust.Digest // the text of the rows that are kept; zero: none are
	saved    []byte       // the body as save has written it
}

// load reads a deployment; nil: there is none. The rows of its plan are read when they are needed, and only while the reader may be used.
func load(r store.Reader, id int64) (*record, error) {
	d := &record{Deployment: &Deployment{}, outdated: map[trust.ID]bool{}}
	found, err := store.One(r, `SELECT body FROM deploy_deployments WHERE id = $1`, []any{id}, &d.body)
	if err != nil || !found {
		return nil, err
	}
	if err := json.Unmarshal(d.body, d.Deployment); err != nil {
		return nil, fmt.Errorf("deployment %d is damaged: %w", id, err)
	}
	d.openPlan(r)
	err = r.Query(`SELECT body, state FROM deploy_hosts WHERE deployment = $1 ORDER BY place`, []any{id}, func(row store.Row) error {
		var body []byte
		var state string
		if err := row.Scan(&body, &state); err != nil {
			return err
		}
		h := &Host{}
		if err := json.Unmarshal(body, h); err != nil {
			return fmt.Errorf("a host of deployment %d is damaged: %w", id, err)
		}
		if state != string(h.Summary()) {
			d.outdated[h.ID] = true
		}
		d.Hosts = append(d.Hosts, h)
		return nil
	})
	d.former = copyHosts(d.Hosts)
	return d, err
}

// next gives a copy to work on. The hosts of the record itself are not changed any more: they are what is kept.
func (d *record) next() *record {
	out, of := *d, *d.Deployment
	of.Hosts, of.index = copyHosts(d.Hosts), nil
	out.Deployment, out.former = &of, d.Hosts
	return &out
}

func copyHosts(list []*Host) []*Host {
	values, out := make([]Host, len(list)), make([]*Host, len(list))
	for i, h := range list {
		values[i], out[i] = *h, &values[i]
	}
	return out
}

// isAs reports whether a host stands as another record of it says.
func (h *Host) isAs(other *Host) bool {
	a, b := *h, *other
	for _, t := range [][2]*time.Time{{&a.Active, &b.Active}, {&a.Why.Since, &b.Why.Since}, {&a.Why.Until, &b.Why.Until}} {
		if !t[0].Equal(*t[1]) {
			return false
		}
		*t[0], *t[1] = time.Time{}, time.Time{}
	}
	return a == b
}

// changedPlaces gives the places of hosts that stand otherwise than is kept, or are about to by a new target.
func (d *record) changedPlaces(about map[trust.ID]int) (places []int) {
	for i, h := range d.Hosts {
		_, isAbout := about[h.ID]
		if isAbout || i >= len(d.former) || !h.isAs(d.former[i]) || d.outdated[h.ID] {
			places = append(places, i)
		}
	}
	return places
}

// isChanged reports whether there is something to save.
func (d *record) isChanged() (bool, error) {
	if d.isPlanNew() || len(d.changedPlaces(nil)) > 0 {
		return true, nil
	}
	body, err := json.Marshal(d.withoutRows())
	return !bytes.Equal(body, d.body), err
}

// save writes what has changed of a deployment.
func (d *record) save(tx store.Tx) error { return d.saveWith(tx, d.changedPlaces(nil)) }

// saveWith writes what has changed of a deployment, but of its hosts only those at some places.
func (d *record) saveWith(tx store.Tx, places []int) error {
	if err := d.savePlan(tx); err != nil {
		return err
	}
	body, err := json.Marshal(d.withoutRows())
	if err != nil {
		return err
	}
	if !bytes.Equal(body, d.body) {
		if _, err := tx.Exec(`INSERT INTO deploy_deployments (id, site, tree, phase, body) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (id) DO UPDATE SET phase = $4, body = $5`, d.ID, d.Site, string(d.Revision), string(d.Phase), body); err != nil {
			return err
		}
	}
	if err := d.saveHosts(tx, places); err != nil {
		return err
	}
	d.saved = body
	return nil
}

// rowsAtOnce is how many rows of hosts one statement writes, as long as there are so many: a database that is far away takes its time for each statement.
const rowsAtOnce = 100

// saveHosts writes the rows of hosts.
func (d *record) saveHosts(tx store.Tx, places []int) error {
	for len(places) > 0 {
		n := 1
		if len(places) >= rowsAtOnce {
			n = rowsAtOnce
		}
		var args []any
		for _, i := range places[:n] {
			h := d.Hosts[i]
			body, err := json.Marshal(h)
			if err != nil {
				return err
			}
			args = append(args, d.ID, int64(i), string(h.ID), int64(h.Turn), body, string(h.Summary()))
		}
		if _, err := tx.Exec(`INSERT INTO deploy_hosts (deployment, place, host, turn, body, state) VALUES `+parameters(n, 6)+`
			ON CONFLICT (deployment, host) DO UPDATE SET turn = excluded.turn, body = excluded.body, state = excluded.state`, args...); err != nil {
			return err
		}
		places = places[n:]
	}
	return nil
}

// parameters are those of so many rows, as a statement has them.
func parameters(rows, columns int) string {
	list := make([]string, rows)
	for i := range list {
		one := make([]string, columns)
		for k := range one {
			one[k] = fmt.Sprint("$", i*columns+k+1)
		}
		list[i] = "(" + strings.Join(one, ", ") + ")"
	}
	return strings.Join(list, ", ")
}

// copySaved gives what the record is once what was saved is in the store.
func (d *record) copySaved() *record {
	out := *d
	out.body, out.former, out.outdated = d.saved, nil, nil
	if d.Plan != nil {
		out.shown = d.Plan.Text
	}
	return &out
}
