package deploy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
)

// RevisionDetail is a revision with what is known of it.
type RevisionDetail struct {
	Revision
	Wrong   []WrongFor // why it is wrong for hosts, the most frequent first
	Signers []trust.ID // keys that have signed it for hosts elsewhere
}

// WrongFor is why a revision is wrong for some hosts.
type WrongFor struct {
	Text  string   `json:"text"`  // with the file and the line
	Hosts []string `json:"hosts"` // by name: the first ones
	Count int      `json:"count"`
}

// Bounds of what is told of a revision.
const (
	maxWrong      = 50
	maxWrongHosts = 10
)

// ShowRevision gives a revision with what evaluating it has said for hosts that the caller may read, and who has signed it for them.
func (s *Service) ShowRevision(ctx context.Context, by *access.Caller, site string, number int64) (out *RevisionDetail, err error) {
	if !by.MaySite(access.Read, site) {
		return nil, noSite(site)
	}
	enrolled, err := s.Options.Hosts.List(ctx)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for i := range enrolled {
		if by.May(access.Read, enrolled[i].target(), site) {
			names[string(enrolled[i].ID)] = enrolled[i].Name
		}
	}
	err = s.Store.Read(ctx, func(r store.Reader) error {
		one, err := s.knownRevision(r, site, number)
		if err == nil && one == nil {
			err = notFound(fmt.Sprintf("there is no revision %d of the site %.100q", number, site), "of former ones the latest are kept, and those that are in use")
		}
		if err != nil {
			return err
		}
		out = &RevisionDetail{Revision: *one}
		if out.Wrong, err = wrongFor(r, one, names); err == nil {
			out.Signers, err = signersOf(r, one, names)
		}
		return err
	})
	return out, err
}

// wrongFor reads of those hosts alone for which something is wrong.
func wrongFor(r store.Reader, rev *Revision, names map[string]string) (list []WrongFor, err error) {
	at, last := map[string]int{}, WrongFor{} // of the host before: one may have been evaluated in two ways
	err = eachPrepared(r, preparedTable, rev, []byte(`"error":`), names, func(name string, p *Prepared) {
		if p.Error == "" || last.Text == p.Error && last.Hosts[0] == name {
			return
		}
		last = WrongFor{Text: p.Error, Hosts: []string{name}}
		i, known := at[p.Error]
		if !known && len(list) == maxWrong {
			return
		}
		if !known {
			i = len(list)
			at[p.Error], list = i, append(list, WrongFor{Text: p.Error})
		}
		if list[i].Count++; len(list[i].Hosts) < maxWrongHosts {
			list[i].Hosts = append(list[i].Hosts, name)
		}
	})
	slices.SortStableFunc(list, func(a, b WrongFor) int { return cmp.Compare(b.Count, a.Count) })
	return list, err
}

// signersOf lists the keys that have signed a revision.
func signersOf(r store.Reader, rev *Revision, names map[string]string) (list []trust.ID, err error) {
	err = eachPrepared(r, signedTable, rev, nil, names, func(_ string, p *Prepared) {
		if id := p.Key.ID(); !p.Key.IsZero() && !slices.Contains(list, id) {
			list = append(list, id)
		}
	})
	return list, err
}

// eachPrepared reads what is prepared for hosts of those names, where it has some text.
func eachPrepared(r store.Reader, t table, rev *Revision, with []byte, names map[string]string, each func(string, *Prepared)) error {
	return r.Query(`SELECT host, body FROM `+string(t)+` WHERE site = $1 AND tree IN ($2, $3) ORDER BY host`, []any{rev.Site, string(rev.Tree), string(mayEmpty(rev.Tree))}, func(row store.Row) error {
		var host string
		var body []byte
		if err := row.Scan(&host, &body); err != nil {
			return err
		}
		name, may := names[host]
		if !may || !bytes.Contains(body, with) {
			return nil
		}
		p := &Prepared{}
		if err := json.Unmarshal(body, p); err != nil {
			return fmt.Errorf("what is prepared for %s is damaged: %w", name, err)
		}
		each(name, p)
		return nil
	})
}
