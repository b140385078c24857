package web

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/tenetcm/tenet/internal/ui/grouping"
	"github.com/tenetcm/tenet/internal/ui/rows"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/deploy"
)

// revisionPage is one revision of a site.
type revisionPage struct {
	api.RevisionDetail
	Path    string
	Tab     string  // changes, files or plan
	Others  []int64 // revisions with which it can be compared
	Against int64   // 0: none
	// IsHidden tells that the files are not for this person.
	IsHidden bool
	Files    []fileRow
	Next     string
	Plans    *planDifference
}

// fileRow is a file, with what has become of it.
type fileRow struct {
	deploy.File
	Lines  []rows.Line
	Hidden string // why there is no diff, for people
	IsOpen bool
	Path   string // where its diff is, if there are too many here
}

// planDifference is how the plans of two revisions differ, as hosts have made them for deployments.
type planDifference struct {
	Deployment, Other int64      // 0: none has a plan
	New               *rows.View // what is in the plan of the revision alone
	Gone              *rows.View // what is in that of the other alone
}

func (p *Pages) revision(v *view) (*page, error) {
	site, n := v.r.PathValue("site"), v.r.PathValue("number")
	detail, err := get[api.RevisionDetail](v, route("v1", "sites", site, "revisions", n), nil)
	if err != nil {
		return nil, err
	}
	all, err := get[api.List[api.Revision]](v, route("v1", "sites", site, "revisions"), nil)
	if err != nil {
		return nil, err
	}
	r := &revisionPage{RevisionDetail: detail, Path: route("sites", site, "revisions", n)}
	r.choose(all.Items, v.r.URL.Query())
	if r.Tab == "plan" {
		r.Plans, err = v.planDifference(site, r.Number, r.Against)
	} else {
		err = v.addFiles(r)
	}
	if err != nil {
		return nil, err
	}
	return &page{Template: "revision", Title: fmt.Sprintf("%s revision %d", site, r.Number), Section: "sites", Data: r}, nil
}

// choose says what is shown, and against which other revision: the one before, unless somebody wants another.
func (r *revisionPage) choose(all []api.Revision, query url.Values) {
	for _, one := range all { // the newest first
		if one.Number == r.Number {
			continue
		}
		r.Others = append(r.Others, one.Number)
		if one.Number < r.Number && r.Against == 0 {
			r.Against = one.Number
		}
	}
	if wanted := number(query.Get("against")); slices.Contains(r.Others, wanted) {
		r.Against = wanted
	}
	r.Tab = query.Get("tab")
	if r.Tab != "files" && r.Tab != "plan" {
		r.Tab = "changes"
	}
	if r.Against == 0 && r.Tab == "changes" {
		r.Tab = "files"
	}
}

// addFiles adds the files of the revision, or those that differ from the other's.
func (v *view) addFiles(r *revisionPage) error {
	query := url.Values{"limit": {"200"}}
	asked := v.r.URL.Query()
	for _, name := range []string{"cursor", "prefix"} {
		if value := asked.Get(name); value != "" {
			query.Set(name, value)
		}
	}
	if r.Tab == "changes" {
		query.Set("against", strconv.FormatInt(r.Against, 10))
	}
	list, err := get[api.List[deploy.File]](v, route("v1", "sites", r.Site, "revisions", strconv.FormatInt(r.Number, 10), "files"), query)
	if isMissing(err) {
		r.IsHidden = true
		return nil
	}
	if err != nil {
		return err
	}
	for _, f := range list.Items {
		r.Files = append(r.Files, r.row(f, len(list.Items)))
	}
	if list.Next != "" {
		r.Next = link(r.Path, "tab", r.Tab, "against", query.Get("against"), "prefix", query.Get("prefix"), "cursor", list.Next)
	}
	return nil
}

func (r *revisionPage) row(f deploy.File, of int) fileRow {
	row := fileRow{File: f}
	if f.Change == nil {
		return row
	}
	row.Lines, row.IsOpen = rows.DiffLines(f.Change.Diff), of <= 20
	switch f.Change.Hidden {
	case "":
	case deploy.HiddenEncrypted:
		row.Hidden = "It is encrypted, and not shown."
	case deploy.HiddenKey:
		row.Hidden = "It holds keys, and is not shown."
	case deploy.HiddenBinary:
		row.Hidden = "It is no text."
	case deploy.HiddenLarge:
		row.Hidden = "It is too large to be compared."
	case deploy.HiddenMuch:
		row.Hidden, row.Path = "More has changed than one page shows.", link(r.Path, "against", strconv.FormatInt(r.Against, 10), "prefix", f.Name)
	default:
		row.Hidden = "It is not shown: " + f.Change.Hidden + "."
	}
	return row
}

// Mark is the symbol of what has become of the file.
func (f fileRow) Mark() (m struct{ Class, Sign, Word string }) {
	m.Class, m.Sign, m.Word = "update", "~", "changed"
	switch {
	case f.Change == nil:
		m.Class, m.Sign, m.Word = "dim", "·", ""
	case f.Change.Kind == deploy.FileAdded:
		m.Class, m.Sign, m.Word = "create", "+", "added"
	case f.Change.Kind == deploy.FileRemoved:
		m.Class, m.Sign, m.Word = "remove", "−", "removed"
	case f.Change.Kind == deploy.FileMode:
		m.Word = "executable or not"
	}
	return m
}

// planDifference compares the plans of two revisions: of each the one that hosts have made last for a deployment.
func (v *view) planDifference(site string, number, against int64) (*planDifference, error) {
	list, err := get[api.List[*api.Deployment]](v, "/v1/deployments", url.Values{"site": {site}, "limit": {"200"}})
	if err != nil {
		return nil, err
	}
	d := &planDifference{}
	one, err := v.planOf(list.Items, number, &d.Deployment)
	if err != nil {
		return nil, err
	}
	other, err := v.planOf(list.Items, against, &d.Other)
	if err != nil {
		return nil, err
	}
	d.New, d.Gone = one.without(other), other.without(one)
	return d, nil
}

// hostsPlan is the plan of some hosts.
type hostsPlan struct {
	hosts []string
	rows  []grouping.Row
}

// planOf reads the plan of the newest deployment of a revision that has asked for one.
func (v *view) planOf(list []*api.Deployment, number int64, id *int64) (p hostsPlan, err error) {
	i := slices.IndexFunc(list, func(d *api.Deployment) bool { return d.Revision == number && d.Consent != "" })
	if i < 0 {
		return p, nil
	}
	d, err := v.loadPlan(list[i].ID)
	if err != nil || d.Plan == nil {
		return p, err
	}
	if err := json.Unmarshal(d.Plan.Rows, &p.rows); err != nil {
		return p, fmt.Errorf("the plan of deployment %d: %w", d.ID, err)
	}
	*id, p.hosts = d.ID, d.Plan.Hosts
	return p, nil
}

// without gives those rows that another plan does not have, whatever the hosts are; nil: there is none.
func (p hostsPlan) without(other hostsPlan) *rows.View {
	known := map[string]bool{}
	for i := range other.rows {
		known[essenceOf(&other.rows[i])] = true
	}
	var list []grouping.Row
	for i := range p.rows {
		if !known[essenceOf(&p.rows[i])] {
			list = append(list, p.rows[i])
		}
	}
	if len(list) == 0 {
		return nil
	}
	return rows.Of(p.hosts, list)
}

// essenceOf is what a row says, wherever it does.
func essenceOf(r *grouping.Row) string {
	text, err := json.Marshal(r.Row)
	if err != nil { // it came as JSON
		return r.Row.Address
	}
	return string(text)
}
