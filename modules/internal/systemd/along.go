package systemd

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// maxAlong bounds how many units are looked at that go along with one.
const maxAlong = 64

// withAlong gives the error of an act in a plan what the units may touch that start or stop along
// with the service: more than Effects knows of. One that runs has nothing to start, and one that
// does not nothing to stop.
func (s *Service) withAlong(ctx context.Context, verb host.Verb, err error) error {
	if s.user != nil || s.init.System() != "systemd" {
		return err // one of an account may touch anything as it is
	}
	e, seen := Effects(s.Name, nil), map[string]bool{s.Name: true}
	for rest := []string{s.Name}; len(rest) > 0; rest = rest[1:] {
		starts, stops, failed := host.UnitsAlong(s.h, rest[0])
		if failed != nil || len(seen) > maxAlong {
			return &states.EffectsError{Effects: states.Effects{Anything: true}, Err: err}
		}
		for _, unit := range starts {
			if !seen[unit] && !s.is(ctx, unit, "active") {
				rest = append(rest, unit)
				s.addUnit(&e, unit, seen)
			}
		}
		for _, unit := range stops {
			if !seen[unit] && !s.is(ctx, unit, "inactive") {
				s.addUnit(&e, unit, seen)
			}
		}
	}
	if len(seen) == 1 {
		return err
	}
	if verb == host.Restart { // it may run then and did not before
		e.Services = append(e.Services, s.Name)
	}
	return &states.EffectsError{Effects: e, Err: err}
}

// addUnit adds what a unit may touch. A target does nothing but pull in others.
func (s *Service) addUnit(e *states.Effects, unit string, seen map[string]bool) {
	seen[unit] = true
	e.Services = append(e.Services, unit)
	if !strings.HasSuffix(unit, ".target") {
		e.Add(Effects(unit, nil))
	}
}

// is reports whether a unit is in a condition; one that is not there is in any.
func (s *Service) is(ctx context.Context, unit, active string) bool {
	status, err := s.init.Service(ctx, unit)
	return errors.Is(err, fs.ErrNotExist) || err == nil && status.Active == active
}
