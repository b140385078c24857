package cli

import (
	"encoding/json"
	"errors"

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
	if len(diags) == 0 {
		return nil
	}
	var err error
	if s.globals.JSON {
		e := json.NewEncoder(s.Err)
		e.SetEscapeHTML(false)
		for _, d := range diags {
			err = errors.Join(err, e.Encode(struct {
				Type string `json:"type"`
				diag.Diagnostic
			}{"diagnostic", d}))
		}
	} else {
		o := diag.WriteOptions{Color: s.color(s.Err), Source: source}
		if width, tty := terminal(s.Err); tty {
			o.Width = width
		}
		err = diag.Write(s.Err, diags, o)
	}
	if diags.HasErrors() {
		return &status{code: exitSite}
	}
	return failed(err)
}
