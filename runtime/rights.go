package runtime

import (
	"errors"
	"io/fs"

	"github.com/tenetcm/tenet/states"
)

// rightsDoubt is why another user would have to apply what this one plans. A plan
// by a user without rights is a common thing, and is not to claim what this
// user cannot do.
func (s *step) rightsDoubt() string {
	if s.actor == nil || s.actor.isMissing || s.actor.shadow == nil {
		return ""
	}
	if s.needsRoot() {
		return "only root may do it; run as root to know"
	}
	shadow := s.actor.shadow
	switch privileged := shadow.Credentials().Privileged; {
	case s.refusal != "":
		return s.refusal
	case s.outcome == states.Failed && errors.Is(s.err, fs.ErrPermission) && !privileged:
		return "what it needs is denied to " + s.actorName() + "; run as root to know"
	case privileged || s.writes > 0 || s.module == nil || s.module.IsAct():
		return ""
	}
	for _, path := range s.module.Paths(s.part.Values) { // what it writes is not foreseen
		if r := shadow.Refuses(path); r != nil {
			return r.Reason(s.actorName())
		}
	}
	return ""
}

// noteRefusals takes over from the shadow what the acting user may not do of what a
// plan has just done there.
func (s *step) noteRefusals() {
	if s.actor == nil || s.actor.shadow == nil {
		return
	}
	refused, writes := s.actor.shadow.Refusals()
	s.writes += writes
	if len(refused) > 0 && s.refusal == "" {
		s.refusal = refused[0].Reason(s.actorName())
	}
}

// needsRoot reports whether the part is one for root, and somebody else acts.
func (s *step) needsRoot() bool {
	if s.module == nil || !s.module.Root {
		return false
	}
	acting := s.engine.options.Host
	if s.actor != nil {
		acting = s.actor.host
	}
	uid, _ := acting.Actor()
	return uid != 0
}
