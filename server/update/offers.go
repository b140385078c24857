package update

import (
	"context"
	"reflect"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// offer is a release that hosts are to run.
type offer struct {
	release  *control.Release
	programs []trust.Program
}

// offer has hosts run what they are to run by the updates that the store has, and takes back what they are not to run any more. After an error the next
// round does it again.
func (s *Service) offer(ctx context.Context) error {
	if !s.stale.Swap(false) {
		return nil
	}
	due, err := s.dueOffers(ctx)
	if err != nil {
		s.stale.Store(true)
		return err
	}
	for id := range s.offers {
		if due[id] == nil {
			s.Want(id, nil, nil)
			delete(s.offers, id)
		}
	}
	for id, o := range due {
		if s.offers[id] != o {
			s.Want(id, o.release, o.programs)
			s.offers[id] = o
		}
	}
	return nil
}

// dueOffers gives what hosts are to run: the release of the newest update that a host is part of, if its turn has begun there, and if that update was not
// ended before all were through. What was offered before is the same offer, unless it is signed otherwise now.
func (s *Service) dueOffers(ctx context.Context) (map[trust.ID]*offer, error) {
	numbers := map[trust.ID]int64{}
	versions := map[int64]string{}
	err := s.Store.Read(ctx, func(r store.Reader) error {
		clear(numbers)
		clear(versions)
		if err := r.Query(`SELECT h.host, h.number FROM update_hosts h JOIN update_updates u ON u.number = h.number
			WHERE h.turn > 0 AND u.phase <> $1 AND u.phase <> $2 AND h.number = (SELECT MAX(n.number) FROM update_hosts n WHERE n.host = h.host)`,
			[]any{string(Failed), string(Aborted)}, func(row store.Row) error {
				var id string
				var number int64
				err := row.Scan(&id, &number)
				numbers[trust.ID(id)], versions[number] = number, ""
				return err
			}); err != nil {
			return err
		}
		for number := range versions {
			u, err := loadHead(r, number)
			if err != nil {
				return err
			}
			versions[number] = u.Version
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	releases := map[int64]*offer{}
	for number, version := range versions {
		o, err := s.offerOf(ctx, number, version)
		if err != nil {
			return nil, err
		}
		if was := s.releases[number]; reflect.DeepEqual(was, o) {
			o = was
		}
		releases[number] = o
	}
	s.releases = releases
	due := map[trust.ID]*offer{}
	for id, number := range numbers {
		if o := releases[number]; o != nil {
			due[id] = o
		}
	}
	return due, nil
}

// offerOf makes the offer of an update; nil: its release was removed, or lost its signature, so that nobody is to run it.
func (s *Service) offerOf(ctx context.Context, number int64, version string) (*offer, error) {
	signed, release, err := s.release(ctx, version)
	if code := diag.CodeOf(err); code == CodeNotFound || code == CodeInvalid {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &offer{&control.Release{Offer: control.Offer{Number: number, Release: signed}, Version: release.Version}, release.Programs}, nil
}
