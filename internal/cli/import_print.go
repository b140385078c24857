package cli

import (
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/internal/statefile"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/runtime/machine"
)

// importedPart is a part that was read, as JSON.
type importedPart struct {
	Type   string         `json:"type"`
	Label  string         `json:"label"`
	Values map[string]any `json:"values"`
	Copy   string         `json:"copy,omitempty"`
	Notes  []string       `json:"notes,omitempty"`
}

// importedArea is a state of parts that were read, as JSON.
type importedArea struct {
	Name     string         `json:"name"`
	Require  []string       `json:"require,omitempty"`
	Parallel bool           `json:"parallel,omitempty"`
	Parts    []importedPart `json:"parts"`
}

// importedSite is all that was read on a machine, as JSON.
type importedSite struct {
	Areas   []importedArea     `json:"areas"`
	LeftOut []machine.Omission `json:"left_out,omitempty"`
}

// hostImport is what was read on a host, as JSON.
type hostImport struct {
	Host   string `json:"host"`
	Import any    `json:"import"`
}

// print prints what one machine has told, as text, or what all have, as JSON.
func (cmd *importCmd) print(s *client, t *targets, list []*answer[*machine.Import]) error {
	if s.globals.JSON {
		return s.printAnswers(t, common(list), func(i int) (any, any) {
			v := cmd.plain(list[i].value)
			return v, hostImport{list[i].host.Name, v}
		})
	}
	for _, a := range list {
		if !a.replied() {
			continue
		}
		text, err := cmd.layOut(cmd.describe(a.value))
		if err != nil {
			return err
		}
		if err := s.printText(string(text)); err != nil {
			return err
		}
	}
	return s.showFailures(t, common(list))
}

// plain is what was read as JSON has it: a part, or all.
func (cmd *importCmd) plain(found *machine.Import) any {
	out := importedSite{Areas: []importedArea{}, LeftOut: found.Omissions}
	for _, a := range found.Areas {
		area := importedArea{Name: a.Name, Require: a.Require, Parallel: a.Parallel, Parts: []importedPart{}}
		for _, p := range a.Parts {
			part := importedPart{Type: p.Type, Label: p.Label, Values: map[string]any{}, Copy: p.Copy, Notes: p.Notes}
			for _, v := range p.Values {
				part.Values[v.Name] = v.Value
			}
			area.Parts = append(area.Parts, part)
		}
		out.Areas = append(out.Areas, area)
	}
	if len(cmd.All) == 0 {
		return out.Areas[0].Parts[0]
	}
	return out
}

// describe is what was read as text of a state file: a part, or all.
func (cmd *importCmd) describe(found *machine.Import) string {
	language := statefile.Language(cmd.Language)
	if len(cmd.All) == 0 {
		return language.Print(found.Areas[0].Parts[0])
	}
	text := statefile.Remarks(found)
	for _, a := range found.Areas {
		text += "\n" + language.Text(a)
	}
	return strings.TrimLeft(text, "\n")
}

// layOut lays out what was written.
func (cmd *importCmd) layOut(text string) ([]byte, error) {
	out, diags := lang.Format("import"+cmd.extension(), []byte(text))
	if diags.HasErrors() {
		return nil, failure(fmt.Errorf("what was read cannot be written: %w", diags.Err()))
	}
	return out, nil
}

// extension is that of state files.
func (cmd *importCmd) extension() string {
	if cmd.Language == string(statefile.Starlark) {
		return ".star"
	}
	return ".hcl"
}
