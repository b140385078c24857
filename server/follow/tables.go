package follow

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/runtime/source"
	"github.com/tenetcm/tenet/server/store"
)

// Migration makes the table of sources.
func Migration() store.Migration {
	return store.Migration{Name: "sources", SQL: `
		CREATE TABLE follow_sources (
			name TEXT NOT NULL PRIMARY KEY,
			body BYTES NOT NULL
		) STRICT;`}
}

// row is a source as the store keeps it.
type row struct {
	Source
	State source.State `json:"state"`
	// Revision is the one of the source that was deployed last, and Deployment by which.
	Revision   string `json:"revision,omitempty"`
	Deployment int64  `json:"deployment,omitempty"`
	// Digest is that of its files.
	Digest string `json:"digest,omitempty"`
	// Upload is what the revision of the source that was checked last has become.
	Upload upload `json:"upload,omitzero"`
	// Problem is why the revision that counts is not deployed. AwaitsSignature: the server may not, and an operator has to sign it.
	Problem         string `json:"problem,omitempty"`
	AwaitsSignature bool   `json:"awaits_signature,omitempty"`
	// IsSigned: the deployment is that of an operator who has signed.
	IsSigned bool `json:"is_signed,omitempty"`
	// Report is what became of the revision that counts, and IsKnown tells whether its components are those of the deployment. Former are those of the one before it.
	Report  source.Report `json:"report,omitzero"`
	IsKnown bool          `json:"is_known,omitempty"`
	// ReportOf is the deployment that it is about.
	ReportOf int64    `json:"report_of,omitempty"`
	Former   []string `json:"former,omitempty"`
}

func rows(r store.Reader) (out []*row, err error) {
	err = r.Query(`SELECT body FROM follow_sources ORDER BY name`, nil, func(of store.Row) error {
		var body []byte
		if err := of.Scan(&body); err != nil {
			return err
		}
		one := &row{}
		if err := json.Unmarshal(body, one); err != nil {
			return fmt.Errorf("a source is damaged: %w", err)
		}
		out = append(out, one)
		return nil
	})
	return out, err
}

func (r *row) save(tx store.Tx) error {
	body, err := json.Marshal(r)
	if err == nil {
		_, err = tx.Exec(`INSERT INTO follow_sources (name, body) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET body = $2`, r.Name, body)
	}
	return err
}

func find(list []*row, name string) *row {
	i := slices.IndexFunc(list, func(r *row) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return list[i]
}

// rival is the name of the source that brings the site of another one since before it; empty: there is none.
func rival(list []*row, of *row) string {
	var first *row
	for _, r := range list { // by name
		if r.Site == of.Site && (first == nil || r.At.Before(first.At)) {
			first = r
		}
	}
	if first == nil || first.Name == of.Name {
		return ""
	}
	return first.Name
}
