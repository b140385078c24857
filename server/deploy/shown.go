package deploy

import (
	"context"
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
	d.Plan.read = d.rowsBy(func(f func(store.Reader) error) error { return f(r) })
}

// rowsBy gives what reads the rows of the plan, by a reader that something calls with.
func (d *record) rowsBy(read func(func(store.Reader) error) error) func() []grouping.Row {
	id, plan := d.ID, d.Plan
	return func() (rows []grouping.Row) {
		err := read(func(r store.Reader) (err error) {
			rows, err = readRows(r, id, plan.Text)
			return err
		})
		if err != nil && plan.fault == nil {
			plan.fault = fmt.Errorf("the plan of deployment %d: %w", id, err)
		}
		return rows
	}
}

// readPlanLater has the rows of the plan of a deployment that is kept in memory read whenever they are needed, unless they were read last.
func (s *Service) readPlanLater(ctx context.Context, d *record) {
	if d.Plan == nil || d.Plan.Text.IsZero() || d.Plan.again != nil {
		return
	}
	ctx = context.WithoutCancel(ctx) // another round may read them
	d.Plan.again = d.rowsBy(func(f func(store.Reader) error) error { return s.Store.Read(ctx, f) })
	if d.Plan.read != nil {
		d.Plan.read = d.Plan.again
	}
	d.reuse(s.shown)
}

// keepShown keeps the rows of one plan in memory: those that a step has read last.
func (s *Service) keepShown(d *record) {
	if d.Plan == nil || d.Plan.index == nil || d.Plan == s.shown {
		return
	}
	if former := s.shown; former != nil && former.again != nil {
		former.Rows, former.index, former.read = nil, nil, former.again
	}
	s.shown = d.Plan
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
	return d.fault()
}

// fault is why the rows of the plan could not be read; nil: they could, or nobody has read them.
func (d *record) fault() error {
	if d.Plan == nil {
		return nil
	}
	return d.Plan.fault
}

// reuse takes the rows of a plan that were read before, if they are the same; nil: none were.
func (d *record) reuse(former *GroupedPlan) {
	if d.Plan != nil && former != nil && d.Plan.read != nil && d.Plan.Text == former.Text {
		d.Plan.Rows, d.Plan.index, d.Plan.read = former.Rows, former.index, nil
	}
}

// savePlan writes the rows of a plan, unless they are those that are kept.
func (d *record) savePlan(tx store.Tx) error {
	if !d.isPlanNew() {
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
	return nil
}

// isPlanNew reports whether the rows of the plan are others than those that are kept.
func (d *record) isPlanNew() bool {
	return d.Plan != nil && d.Plan.read == nil && (d.Plan.Text.IsZero() || d.Plan.Text != d.shown)
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
