package host

import (
	"context"

	"github.com/tenetcm/tenet/runtime/host/links"
)

// Links is Machine.Links: a shadow of the base's.
func (s *Shadow) Links(ctx context.Context) (links.Devices, error) {
	s.trace.lookBelow("/sys", "/proc")
	s.trace.act()
	s.linksMu.Lock()
	defer s.linksMu.Unlock()
	if s.links == nil {
		base, err := LinksOf(ctx, s.host)
		if err != nil {
			return nil, err
		}
		s.links = links.NewOverlay(base)
	}
	return s.links, nil
}

// haveLinksChanged reports whether network devices were changed here.
func (s *Shadow) haveLinksChanged() bool {
	s.linksMu.Lock()
	defer s.linksMu.Unlock()
	return s.links != nil && s.links.HasChanged()
}
