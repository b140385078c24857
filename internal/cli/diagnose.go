package cli

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang/diag"
)

// diagnose prints diagnostics about a site, and gives an error if one of them
// is.
func (s *client) diagnose(c *site, diags diag.List) error {
	return s.show(diags, c.source)
}

// diagnoseText prints diagnostics about one text.
func (s *client) diagnoseText(name string, src []byte, diags diag.List) error {
	return s.show(diags, func(file string) ([]byte, bool) { return src, file == name })
}

func (s *client) show(diags diag.List, source func(string) ([]byte, bool)) error {
	s.display.Lock()
	defer s.display.Unlock()
	wrong := diags.HasErrors()
	if s.shownDiagnostics != nil {
		diags = s.shownDiagnostics.add(diags)
	}
	s.diagnosticCount += len(diags)
	var err error
	if s.globals.JSON {
		e := plainjson.NewEncoder(ui.SafeJSON(s.Err))
		for _, d := range diags {
			err = errors.Join(err, e.Encode(struct {
				Type string `json:"type"`
				diag.Diagnostic
			}{"diagnostic", d}))
		}
	} else if len(diags) > 0 {
		o := diag.WriteOptions{Color: s.color(s.Err), Source: source}
		if width, tty := terminal(s.Err); tty {
			o.Width = width
		}
		err = diag.Write(s.Err, diags, o)
	}
	if wrong {
		return &status{code: exitSite}
	}
	return failure(err)
}

// shownDiagnostics are the diagnostics of a site that is evaluated again and again: what was
// said the time before is not said again. It remembers two times.
type shownDiagnostics struct{ previous, current map[string]bool }

// wereAllShown reports whether each of them was shown by the evaluation before.
func (d *shownDiagnostics) wereAllShown(diags diag.List) bool {
	return d != nil && !slices.ContainsFunc(diags, func(one diag.Diagnostic) bool {
		text, err := json.Marshal(one)
		return err != nil || !d.previous[string(text)]
	})
}

// nextEvaluation begins another evaluation.
func (d *shownDiagnostics) nextEvaluation() { d.previous, d.current = d.current, nil }

// sameEvaluation says that nothing was evaluated again: what it gave was shown.
func (d *shownDiagnostics) sameEvaluation() {
	all := map[string]bool{}
	maps.Copy(all, d.current)
	maps.Copy(all, d.previous)
	d.previous = all
}

// add gives the diagnostics that are new.
func (d *shownDiagnostics) add(diags diag.List) diag.List {
	if d.current == nil {
		d.current = map[string]bool{}
	}
	return slices.DeleteFunc(slices.Clone(diags), func(one diag.Diagnostic) bool {
		text, err := json.Marshal(one)
		d.current[string(text)] = true
		return err == nil && d.previous[string(text)]
	})
}
