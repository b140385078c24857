package deploy

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/internal/ui/grouping"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// shownPiece is how many bytes of the rows of a plan are in one value.
const shownPiece = 4 << 20

// openPlan has the rows of a plan read once they are needed. What a former version of the server has kept is taken as it is, and kept anew by the next save.
func (d *record) openPlan(r store.Reader) {
	if d.Approved != nil && d.Approved.Plan != nil {
		d.Plan, d.Approved.Plan = d.Approved.Plan, nil
	}
	if d.Plan == nil || d.Plan.Text.IsZero() {
		return
	}
	d.shown = d.Plan.Text
	id, text := d.ID, d.Plan.Text
	d.Plan.read = func() []grouping.Row {
		rows, err := readRows(r, id, text)
		if err != nil && d.fault == nil {
			d.fault = fmt.Errorf("the plan of deployment %d: %w", id, err)
		}
		return rows
	}
}

// readRows reads the rows of a plan.
func readRows(r store.Reader, id int64, want trust.Digest) (rows []grouping.Row, err error) {
	var text []byte
	err = r.Query(`SELECT data FROM deploy_shown WHERE deployment = $1 ORDER BY piece`, []any{id}, func(row store.Row) error {
		var piece []byte
		err := row.Scan(&piece)
		text = append(text, piece...)
		return err
	})
	if err != nil {
		return nil, err
	}
	if trust.DigestOf(text) != want {
		return nil, errors.New("what is kept of it is damaged")
	}
	return rows, json.Unmarshal(text, &rows)
}

// readPlan reads the rows now, for whoever looks at them later.
func (d *record) readPlan() error {
	if d.Plan != nil {
		d.Plan.prepare()
	}
	return d.fault
}

// reuse takes the rows of a plan that were read before, if they are the same; nil: none were.
func (d *record) reuse(former *GroupedPlan) {
	if d.Plan != nil && former != nil && d.Plan.read != nil && d.Plan.Text == former.Text {
		d.Plan.Rows, d.Plan.index, d.Plan.read = former.Rows, former.index, nil
	}
}

// savePlan writes the rows of a plan, unless they are those that are kept.
func (d *record) savePlan(tx store.Tx) error {
	if d.Plan == nil || d.Plan.read != nil || !d.Plan.Text.IsZero() && d.Plan.Text == d.shown {
		return nil
	}
	text, err := plainjson.Marshal(d.Plan.Rows)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(`DELETE FROM deploy_shown WHERE deployment = $1`, d.ID); err != nil {
		return err
	}
	number := int64(0)
	for piece := range slices.Chunk(text, shownPiece) {
		if _, err := tx.Exec(`INSERT INTO deploy_shown (deployment, piece, data) VALUES ($1, $2, $3)`, d.ID, number, piece); err != nil {
			return err
		}
		number++
	}
	d.Plan.Text = trust.DigestOf(text)
	d.shown = d.Plan.Text
	return nil
}

// withoutRows is the deployment as its own row has it.
func (d *record) withoutRows() *Deployment {
	if d.Plan == nil {
		return d.Deployment
	}
	out, plan := *d.Deployment, *d.Plan
	plan.Rows = nil
	out.Plan = &plan
	return &out
}
