package simulated

import (
	"errors"
	"maps"
	"slices"

	"github.com/tenetcm/tenet/runtime/host/links"
)

// devices gives the machine its network devices.
func (b *builder) devices(devices map[string]links.Link) {
	list := []links.Link{{Name: "lo", Up: new(true), MTU: new(65536), Passing: []string{"127.0.0.1/8", "::1/128"}}}
	for _, name := range slices.Sorted(maps.Keys(devices)) {
		if name == "" || name == "lo" || len(name) > 15 {
			b.must(&DescriptionError{Kind: "device", Name: name, Err: errors.New("this is no name of a network device")})
			continue
		}
		l := devices[name]
		l.Name = name
		list = append(list, l)
	}
	b.h.SetLinks(links.NewMemory(list...))
}
