package testcase

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/states"
)

// golden compares with the golden file that an expectation names, or writes it.
func (r *caseRun) golden(want *block, make func(name string) ([]byte, error)) {
	name, given := get[string](want, "golden")
	if !given {
		return
	}
	at, full := want.fields["golden"].at, path.Join(Dir, name)
	got, err := make(name)
	if err != nil {
		r.fail(Failure{Message: fmt.Sprintf("the golden file %s cannot be made: %v", full, err), Range: at})
		return
	}
	have, err := expr.NewFiles(r.site()).Bytes(Dir, name)
	switch {
	case err == nil && bytes.Equal(have, got):
	case r.o.Update != nil:
		if err := r.o.Update(full, got); err != nil {
			r.fail(Failure{Message: fmt.Sprintf("the golden file %s cannot be written: %v", full, err), Range: at})
			return
		}
		r.updatedFiles = append(r.updatedFiles, full)
	case isMissing(r.site(), full):
		r.fail(Failure{Message: "there is no golden file " + full, Hint: "--update writes it", Range: at})
	case err != nil:
		r.fail(Failure{Message: fmt.Sprintf("the golden file cannot be read: %v", err), Range: at})
	default:
		r.fail(Failure{Message: "it differs from the golden file " + full, Diff: runtime.Diff(string(have), string(got)),
			Hint: "--update rewrites it", Range: at})
	}
}

func isMissing(site fs.FS, name string) bool {
	_, err := fs.Stat(site, name)
	return errors.Is(err, fs.ErrNotExist)
}

// goldenRow is a row of a plan in a golden file.
type goldenRow struct {
	Address string          `json:"address"`
	Row     string          `json:"row"`
	Reason  string          `json:"reason,omitempty"`
	Error   string          `json:"error,omitempty"`
	Changes []states.Change `json:"changes,omitempty"`
}

// goldenPlan writes a plan: its rows as JSON, or as tenet plan shows it.
func goldenPlan(name string, planned *story) ([]byte, error) {
	if strings.HasSuffix(name, ".json") {
		rows := []goldenRow{}
		for _, address := range planned.order {
			ev := planned.ends[address]
			row := goldenRow{Address: address, Row: row(ev), Reason: ev.Reason, Changes: ev.Changes}
			if ev.Error != nil {
				row.Error = ev.Error.Message
			}
			rows = append(rows, row)
		}
		return indentJSON(rows)
	}
	var out bytes.Buffer
	r := ui.Text(&out, ui.TextOptions{Verbose: true})
	for _, ev := range planned.events {
		r.Event(ev)
	}
	return out.Bytes(), r.Close()
}
