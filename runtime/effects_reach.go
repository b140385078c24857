package runtime

import (
	"path"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// addEffects tells the engine what the part may touch that nobody knows. One that is not
// certain since a program may come first ends as it is wanted all the same, and does more than
// the plan says only after that program: it makes nothing uncertain that the program does not.
func (s *step) addEffects() {
	if s.outcome == states.Changed && !s.isUnseen() {
		s.engine.effects.addChange(&effect{part: s.part.Address, invocation: s.node.address, how: changing, root: s.part.Address})
	}
	x := &effect{part: s.part.Address, invocation: s.node.address, how: uncertain, root: s.rootCause(), mayFail: s.mayFail,
		isOpen: s.outcome == states.Blocked || s.outcome == states.Skipped}
	switch {
	case s.isUnforeseeable:
		x.how, x.touch = unforeseeable, s.reach()
		if s.doubt == "" && !s.module.IsAct() {
			x.identity = s.identity()
		}
	case s.outcome == states.Failed && s.doubt == "":
		return
	case s.doubt != "" && !s.isDoubtGeneral:
		x.touch = s.reach()
	case s.outcome == states.Changed && s.module != nil && s.module.Effects != nil && !s.module.IsAct():
		// Beside what is foreseen; before a program that may touch anything, too.
		x.how, x.identity, x.touch, x.root = unforeseeable, s.identity(), s.declaredEffects(), s.part.Address
	default:
		return
	}
	if !x.touch.None() {
		s.engine.effects.addEffect(x)
	}
}

// isUnseen reports whether the part is an act that has written nothing to the shadow.
func (s *step) isUnseen() bool {
	if s.module == nil || !s.module.IsAct() {
		return false
	}
	written, all := s.trace.Writes()
	return all && len(written) == 0
}

// rootCause is the part for which the row is uncertain, in the end: itself, where it is certain.
func (s *step) rootCause() string {
	if s.cause != "" {
		return s.cause
	}
	return s.part.Address
}

// reach gives all that the part may touch.
func (s *step) reach() (e states.Effects) {
	if s.module == nil {
		return states.Effects{Anything: true}
	}
	if s.module.IsAct() {
		if s.outcome == states.Changed && !s.isUnforeseeable && !s.isUnanswered && s.isUnseen() {
			return e // it only reads
		}
		return s.declaredEffects()
	}
	written, all := s.trace.Writes()
	own := append(s.module.Paths(s.part.Values), lockedFiles(s.module)...)
	incomplete := s.isUnforeseeable || s.outcome != states.Changed || s.module.Batch != nil
	isKeyUnknown := s.hasUnknownKey(s.unknownUntilApply)
	switch {
	case (s.module.Effects != nil || s.found != nil) && !isKeyUnknown:
		e = s.declaredEffects()
	case !all, incomplete && (isKeyUnknown || len(own) == 0):
		e.Anything = true
	}
	s.addPaths(&e, slices.Concat(written, own))
	return e
}

// lockedFiles gives the files that parts of a module edit whatever their own paths are: each holds a
// lock of that name.
func lockedFiles(m *states.Module) (out []string) {
	for _, lock := range m.Locks {
		if path.IsAbs(lock) {
			out = append(out, lock)
		}
	}
	return out
}

// addPaths adds paths that the part writes. Of the host's records it changes what is of its own
// subjects.
func (s *step) addPaths(e *states.Effects, paths []string) {
	of := subjectsOf(s.module, s.part.Values)
	e.Accounts = append(e.Accounts, of.accounts...)
	e.Packages = append(e.Packages, of.packages...)
	e.Settings = append(e.Settings, of.settings...)
	if s.doubt != "" { // else it is as it is wanted
		e.Services = append(e.Services, of.services...)
	}
	for _, p := range paths {
		p = path.Clean(p)
		isRecord := slices.ContainsFunc(domains(), func(d domain) bool { return d.subjects(&of) != nil && d.holds(p) })
		if isRecord {
			continue
		}
		// A link on the way may stay as it is.
		e.Paths = append(e.Paths, states.Literal(p), states.Literal(host.Resolve(s.engine.options.Host, p)))
	}
}

// declaredEffects is what the module says that the part's act may touch.
func (s *step) declaredEffects() states.Effects {
	switch {
	case s.found != nil:
		return *s.found
	case s.module.Effects == nil:
		return states.Effects{Anything: true}
	}
	want, err := s.module.Decode(s.part.Values, s.engine.options.Site)
	if err != nil || slices.ContainsFunc(s.module.Attributes, func(a states.Attribute) bool { return !a.In && !a.Out && s.isLate(a.Name) }) {
		return states.Effects{Anything: true} // by a value that only an apply will know
	}
	e := s.module.Effects(want, s.part.Ensure == states.Absent)
	e.Paths, e.Adds = withBelow(e.Paths), withBelow(e.Adds)
	return e
}

// withBelow adds to paths what is below them, where they are links, too.
func withBelow(patterns []string) []string {
	for _, p := range slices.Clone(patterns) {
		if !strings.ContainsAny(p, wildcards) {
			patterns = append(patterns, p+"/*")
		}
	}
	return patterns
}

// isLate reports whether a plan does not know the value of an attribute.
func (s *step) isLate(attribute string) bool {
	return slices.Contains(s.unknownUntilApply, attribute) || s.outcome == states.Skipped && s.part.Results[attribute] != nil
}
