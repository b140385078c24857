package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/contents"
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

// wrongFor tells why a revision is wrong, and for how many hosts of those names. It reads of all hosts no more than an index, and of one with each mistake what it says.
func wrongFor(r store.Reader, rev *Revision, names map[string]string) (list []WrongFor, err error) {
	type mistake struct {
		hostClass // the first host
		tree      contents.Digest
		hosts     map[trust.ID]bool
		names     []string
	}
	found := map[string]*mistake{}            // by class
	for _, tree := range evaluationsOf(rev) { // a host may have been evaluated in two ways
		err := eachHostClass(r, preparedTable, rev.Site, tree, classWrong, afterWrong, func(c hostClass) error {
			name, may := names[string(c.host)]
			if !may {
				return nil
			}
			m := found[c.class]
			if m == nil {
				m = &mistake{hostClass: c, tree: tree, hosts: map[trust.ID]bool{}}
				found[c.class] = m
			}
			if m.hosts[c.host] {
				return nil
			}
			if m.hosts[c.host] = true; len(m.names) < maxWrongHosts {
				m.names = append(m.names, name)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	most := slices.SortedFunc(maps.Values(found), func(a, b *mistake) int {
		return cmp.Or(cmp.Compare(len(b.hosts), len(a.hosts)), cmp.Compare(a.names[0], b.names[0]), cmp.Compare(a.class, b.class))
	})
	for _, m := range most[:min(len(most), maxWrong)] {
		p, err := one[Prepared](r, preparedTable, rev.Site, m.host, m.tree)
		if err != nil {
			return nil, err
		}
		if p != nil {
			list = append(list, WrongFor{Text: p.Error, Hosts: m.names, Count: len(m.hosts)})
		}
	}
	return list, nil
}

// evaluationsOf are the trees by which what is made of a revision is kept.
func evaluationsOf(rev *Revision) []contents.Digest {
	return []contents.Digest{rev.Tree, mayEmpty(rev.Tree)}
}

// errEnough ends a query whose rows say enough.
var errEnough = errors.New("enough")

// signersOf lists the keys that have signed a revision for hosts of those names: of each key it reads as many rows of an index as it takes to find one.
func signersOf(r store.Reader, rev *Revision, names map[string]string) (list []trust.ID, err error) {
	former, err := formerClasses(r, signedTable, rev.Site, rev.Tree)
	if err != nil {
		return nil, err
	}
	note := func(c hostClass) (key string, isNamed bool) {
		key, _, _ = strings.Cut(c.class, ":")
		if _, isNamed = names[string(c.host)]; isNamed && !slices.Contains(list, trust.ID(key)) {
			list = append(list, trust.ID(key))
		}
		return key, isNamed
	}
	for _, c := range former {
		note(c)
	}
	for from, more := "", true; more; {
		more = false
		err := r.Query(`SELECT host, class FROM deploy_signed WHERE site = $1 AND tree = $2 AND class > '' AND class >= $3 ORDER BY class, host`, []any{rev.Site, string(rev.Tree), from}, func(row store.Row) error {
			var host, class string
			if err := row.Scan(&host, &class); err != nil {
				return err
			}
			key, isNamed := note(hostClass{trust.ID(host), class})
			if more = isNamed; more { // on to the next key
				from = key + afterSigner
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			return nil, err
		}
	}
	return list, nil
}
