package runtime

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// planUnknown is the row of a plan on a part some of whose attributes only an apply
// will know. It shows what is known of it, and is not certain.
func (s *step) planUnknown(ctx context.Context) bool {
	if s.part.Ensure == states.Absent && !s.hasUnknownKey(s.unknownUntilApply) {
		s.unknownUntilApply = nil // what it would be does not matter
		return s.compare(ctx)
	}
	reason := strings.Join(s.unknownUntilApply, ", ") + verb(s.unknownUntilApply) + "known only after apply"
	if output := s.engine.expressions.lateOutput(s.part.Results); output != "" {
		reason += ": it depends on " + output
	}
	if s.doubt == "" {
		s.doubt, s.cause = reason, s.engine.lateCause(s.part.Results)
	}
	s.endUnforeseen(nil)
	s.action = states.Execute
	switch {
	case s.module.IsAct():
	case s.hasUnknownKey(s.unknownUntilApply):
		s.action = states.Update
		if s.part.Ensure == states.Absent {
			s.action = states.Remove
		}
		for _, a := range s.module.Attributes {
			if v := s.part.Values[a.Name]; v != nil && !a.In && !a.Key {
				s.changes = append(s.changes, states.Change{Attribute: a.Name, To: contentOf(&a, v)})
			}
		}
	default:
		if err := s.compareKnown(ctx); err != nil {
			s.action = states.Update
		}
	}
	for _, name := range s.unknownUntilApply {
		s.changes = s.withUnknown(s.changes, s.have, name)
	}
	return false
}

// contentOf gives the content that an encoded value stands for, and other
// values as they are.
func contentOf(a *states.Attribute, v any) any {
	if text, ok := v.(string); ok && a.Kind == states.KindContent {
		return host.Text(text)
	}
	return v
}

// lateCause gives the part for which values that depend on results are not known yet, in the end.
func (e *engine) lateCause(results map[string]*states.Expr) string {
	for _, ref := range states.ResultRefs(results) {
		for _, address := range referencedParts(ref) {
			if l := e.results.find(address); l != nil && l.isUnknown {
				return l.cause
			}
		}
	}
	return ""
}

func verb(names []string) string {
	if len(names) > 1 {
		return " are "
	}
	return " is "
}

// compareKnown compares what is known of the part with what is there. The error
// says that it cannot be looked at.
func (s *step) compareKnown(ctx context.Context) error {
	if err := s.observe(ctx); err != nil {
		if !errors.Is(err, host.ErrUnforeseeable) && !errors.Is(err, fs.ErrPermission) {
			s.doubt += s.describeFailure(err)
		}
		return err
	}
	s.want = s.module.Fill(s.have, s.want)
	s.changes = s.module.Diff(s.have, s.want)
	s.action = states.Update
	if s.have == nil {
		s.action = states.Create
		s.markDefaults()
	}
	s.hideContent(ctx)
	return nil
}

// unknownContent stands among predictions for what only an apply will know.
type unknownContent struct{}

// hideContent lets nobody behind this part take what it writes for what is there
// now.
func (s *step) hideContent(ctx context.Context) {
	s.engine.predicted[s.identity()] = unknownContent{}
	unknown := host.Flow(func() (io.ReadCloser, error) { return nil, host.ErrUnforeseeable })
	hasContent := slices.ContainsFunc(s.module.Attributes, func(a states.Attribute) bool { return a.Kind == states.KindContent })
	for _, path := range s.module.Paths(s.part.Values) {
		info, err := s.host.Lstat(path)
		if err == nil && info.Kind == host.Regular || errors.Is(err, fs.ErrNotExist) && hasContent {
			// Where it cannot be written now, its row is a maybe all the same.
			_ = s.host.WriteFile(ctx, path, unknown, host.Meta{})
		}
	}
}

// withUnknown says among changes of an attribute that only an apply will know it.
func (d declaration) withUnknown(changes []states.Change, have any, name string) []states.Change {
	c := states.Change{Attribute: name, To: states.KnownAfterApply}
	if have != nil {
		c.From = contentOf(d.module.Attribute(name), d.module.Encode(have)[name])
	}
	for i := range changes {
		if changes[i].Attribute == name {
			changes[i] = c
			return changes
		}
	}
	return append(changes, c)
}
