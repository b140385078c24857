package simulated

import (
	"maps"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/facts"
)

// Facts are what the machine says about itself, the same on whatever computer
// this runs. The given values are merged over them, objects key by key.
func Facts(h host.Host, given map[string]any) (*facts.Facts, error) {
	fixed := map[string]any{"arch": "amd64", "ipv4": "192.0.2.10", "ipv6": "2001:db8::10"}
	own := facts.New(h, fixed)
	over := maps.Clone(fixed)
	for name, value := range given {
		have, err := own.Fact(name)
		if err != nil {
			return nil, err
		}
		over[name] = merge(have, value)
	}
	return facts.New(h, over), nil
}

// merge puts b over a: objects key by key, anything else as a whole.
func merge(a, b any) any {
	from, ok := a.(map[string]any)
	over, ok2 := b.(map[string]any)
	if !ok || !ok2 {
		return b
	}
	out := maps.Clone(from)
	for k, v := range over {
		out[k] = merge(from[k], v)
	}
	return out
}
