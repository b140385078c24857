package runtime

import (
	"errors"
	"io/fs"
	"path"

	"github.com/tenetcm/tenet/runtime/host"
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

// obstacle says what keeps everybody from doing what was just denied, root included; nil: another account may do it.
func (s *step) obstacle() *host.Refusal {
	acting := s.actingHost()
	var paths []string
	if denied, ok := errors.AsType[*fs.PathError](s.err); ok && path.IsAbs(denied.Path) {
		paths = append(paths, denied.Path)
	}
	if s.module != nil {
		paths = append(paths, s.module.Paths(s.part.Values)...)
	}
	shadow := host.NewShadow(acting)
	for _, p := range paths {
		if r := shadow.Refuses(p); r != nil && r.Obstacle != "" {
			return r
		}
	}
	if shadow.Credentials().Privileged {
		return &host.Refusal{Cure: hintRoot}
	}
	return nil
}

// needsRoot reports whether the part is one for root, and somebody else acts.
func (s *step) needsRoot() bool {
	if s.module == nil || !s.module.Root {
		return false
	}
	uid, _ := s.actingHost().Actor()
	return uid != 0
}

// actingHost is the host as the part's account sees it.
func (s *step) actingHost() host.Host {
	if s.actor != nil {
		return s.actor.host
	}
	return s.engine.options.Host
}
