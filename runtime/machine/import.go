package machine

import (
	"bytes"
	"context"
	"encoding/json"
)

// Importer is a third: to tell what is set up on the machine, as a site would declare it.
type Importer interface {
	// Import reads what is asked for, and changes nothing. Secrets are named, and never told. Of Contents it gives an empty answer, and
	// tells the files themselves as output: a tar archive on "stdout", in their order.
	Import(ctx context.Context, r ImportRequest, o Observer) (*Import, error)
}

// ImportRequest says what is to be read: one part, if Type names it, or else all that somebody has set up of the types in List.
type ImportRequest struct {
	Type string `json:"type,omitempty"`
	Keys Values `json:"keys,omitempty"` // of the part, by the module's attributes
	// List names the types of parts to look for. Those that lie in files are looked for at and below Paths, which are absolute.
	List  []string `json:"list,omitempty"`
	Paths []string `json:"paths,omitempty"`
	// Inline bounds, in bytes, the contents that stand among the values; 0: 64 KiB. With Files others are named as Copy, and else left out.
	Inline int  `json:"inline,omitempty"`
	Files  bool `json:"files,omitempty"`
	// Contents are files, as Import has named them in Copy, that are told in the place of everything else.
	Contents []string `json:"contents,omitempty"`
	// Modules are those that a site brings along, as a ZIP archive of its directory; nil: none.
	Modules []byte `json:"modules,omitempty"`
}

// Import is what is set up on a machine.
type Import struct {
	Areas     []*ImportArea `json:"areas"`
	Omissions []Omission    `json:"left_out,omitempty"`
}

// ImportArea is what becomes a state of a site: parts that come one after the other.
type ImportArea struct {
	Name    string   `json:"name"`
	Require []string `json:"require,omitempty"` // addresses of states
	// Parallel says that the parts have no order of their own.
	Parallel bool          `json:"parallel,omitempty"`
	Parts    []*ImportPart `json:"parts"`
}

// ImportPart is a part as it would be declared.
type ImportPart struct {
	Type  string `json:"type"`
	Label string `json:"label"`
	// LabelKey is the attribute whose value the label gives; empty: it gives none.
	LabelKey string        `json:"label_key,omitempty"`
	Values   []ImportValue `json:"values"` // with that of LabelKey, in the order of the module's attributes
	// Notes say what is missing, and why.
	Notes []string `json:"notes,omitempty"`
	// Copy is the path on the machine of what stands in the site as the part's source; empty: there is none. Size is in bytes.
	Copy string `json:"copy,omitempty"`
	Size int64  `json:"size,omitempty"`
}

// ImportValue is an attribute in its canonical form.
type ImportValue struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
}

// UnmarshalJSON reads numbers as json.Number.
func (v *ImportValue) UnmarshalJSON(data []byte) error {
	var plain struct {
		Name  string `json:"name"`
		Value any    `json:"value"`
	}
	err := unmarshalNumbers(data, &plain)
	v.Name, v.Value = plain.Name, plain.Value
	return err
}

// Omission is what is there, and was not told.
type Omission struct {
	What   string `json:"what"`
	Why    string `json:"why"`
	Secret bool   `json:"secret,omitempty"` // since it looks like one
}

// Values are attributes in their canonical form, by name.
type Values map[string]any

// UnmarshalJSON reads numbers as json.Number.
func (v *Values) UnmarshalJSON(data []byte) error {
	var plain map[string]any
	err := unmarshalNumbers(data, &plain)
	*v = plain
	return err
}

func unmarshalNumbers(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(v)
}
