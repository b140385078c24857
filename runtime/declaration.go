package runtime

import (
	"slices"
	"strings"

	"github.com/tenetcm/tenet/states"
)

// declaration is what is wanted of the part.
type declaration struct {
	part   *states.Part
	module *states.Module // nil: it is not known, or there is none
}

// identity names the resource among all of the run.
func (d declaration) identity() string { return d.part.Type + "\x00" + d.part.Key }

// hides reports whether an attribute of the part is never shown.
func (d declaration) hides(attribute string) bool {
	a := d.module.Attribute(attribute)
	return d.part.Options.Sensitive || slices.Contains(d.part.Sensitive, attribute) || a != nil && a.Sensitive
}

// hasUnknownKey reports whether a plan does not know which resource it is.
func (d declaration) hasUnknownKey(unknown []string) bool {
	return slices.ContainsFunc(unknown, func(name string) bool { return d.module.Attribute(name).Key })
}

// moduleLocks are apart from the locks that a site names. A resource has those of
// its paths, too: of two parts that edit one file, each works on what the other has
// left.
func (d declaration) moduleLocks() []string {
	names := prefixed("module:", d.module.Locks)
	for i := range names {
		names[i] = strings.ReplaceAll(names[i], "%s", d.part.Key)
	}
	if d.module.IsAct() {
		return names
	}
	return append(names, prefixed("module:", d.module.Paths(d.part.Values))...)
}

// retryOptions is the part's option, or else its module's; without attempts there is
// none.
func (d declaration) retryOptions() states.Retry {
	switch {
	case d.part.Options.Retry != nil:
		return *d.part.Options.Retry
	case d.module.Retry != nil:
		return *d.module.Retry
	}
	return states.Retry{}
}

// actorName is who acts, as messages call it.
func (d declaration) actorName() string {
	if user := d.part.Options.Become; user != "" {
		return user
	}
	return "this user"
}
