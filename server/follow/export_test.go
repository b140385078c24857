package follow

import (
	"context"

	"github.com/tenetcm/tenet/runtime/source"
	"github.com/tenetcm/tenet/server/deploy"
)

// Turn does what is due, and waits for the end of that.
func (s *Service) Turn(ctx context.Context, failed func(error)) error {
	err := s.turn(ctx, failed)
	s.wait()
	return err
}

// Standing is how components stand.
func Standing(o *deploy.Outcome, former ...string) []source.Component {
	list, _ := componentsOf(o, former)
	return list
}
