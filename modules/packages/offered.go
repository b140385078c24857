package packages

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// complete turns "latest" into the version that it means now, and names the one
// that a package will get which is not there yet. Where the lists do not know the
// package, or are to be fetched first, it stays open.
func complete(ctx context.Context, h host.Host, want *Package) error {
	latest := want.Version != nil && *want.Version == Latest
	if want.Version != nil && !latest {
		return nil
	}
	m, err := find(h)
	if err != nil {
		return err
	}
	if !latest {
		have, err := m.Installed(ctx, h, want.Name)
		if err != nil || have.Version != "" {
			return err
		}
	}
	known, err := m.Offers(ctx, h, withPeers(ctx, want.Name))
	switch {
	case errors.Is(err, errStale):
		return nil
	case errors.Is(err, host.ErrUnforeseeable) && !latest:
		return nil
	case err != nil:
		return err
	}
	if newest := known.offer(want.Name).Newest; newest != "" {
		want.Version, want.isChosen = &newest, true
	}
	return nil
}

// withPeers adds to the names those of all packages that the run wants, so that
// whichever part asks first asks for all of them.
func withPeers(ctx context.Context, names ...string) []string {
	for _, p := range states.Peers[Package](ctx, typeName) {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// availableItems keeps those of the chosen items that the package lists offer, after
// fetching the lists anew if they are stale or one is missing. The others get an
// error, before anything is installed. What is to be removed passes.
func (j *job) availableItems(ctx context.Context, chosen []int) []int {
	var wanted []int
	for _, i := range chosen {
		if j.items[i].Want != nil {
			wanted = append(wanted, i)
		}
	}
	missing, err := j.missingVersions(ctx, wanted)
	switch {
	case errors.Is(err, errStale):
		if err = foreseen(j.refresh(ctx), errStale); err == nil {
			missing, err = j.missingVersions(ctx, wanted)
		}
	case err == nil && mayAppear(missing):
		missing, err = j.missingStill(ctx, wanted, missing)
	}
	for _, i := range wanted {
		if j.errs[i] = err; err == nil {
			j.errs[i] = missing[i]
		}
	}
	return slices.DeleteFunc(chosen, func(i int) bool { return j.errs[i] != nil })
}

// virtualError says that a name is none of a package, but others provide it.
type virtualError struct {
	name      string
	providers []string
}

// Error names them.
func (e *virtualError) Error() string {
	return fmt.Sprintf("%s is a virtual package, which others provide: %s", e.name, strings.Join(e.providers, ", "))
}

// mayAppear reports whether newer lists may know more of what is missing.
func mayAppear(missing map[int]error) bool {
	for _, err := range missing {
		if _, virtual := errors.AsType[*virtualError](err); !virtual {
			return true
		}
	}
	return false
}

// missingStill is what is missing after the lists were fetched anew. If that fails,
// only what is missing fails with it.
func (j *job) missingStill(ctx context.Context, wanted []int, missing map[int]error) (map[int]error, error) {
	failed := j.refresh(ctx)
	if failed == nil {
		return j.missingVersions(ctx, wanted)
	}
	for i, why := range missing {
		if _, virtual := errors.AsType[*virtualError](why); virtual {
			continue
		}
		missing[i] = foreseen(failed, why)
		if missing[i] == failed {
			missing[i] = fmt.Errorf("%w, and fetching them anew failed: %w", why, failed)
		}
	}
	return missing, nil
}

func (j *job) refresh(ctx context.Context) error {
	return j.whenFree(ctx, func() error { return j.manager.Refresh(ctx, j.h) })
}

// foreseen makes of a refresh that a plan cannot do the reason for its uncertainty.
func foreseen(err, why error) error {
	if errors.Is(err, host.ErrUnforeseeable) {
		return &states.UncertainError{Reason: why.Error() + "; they are fetched anew first"}
	}
	return err
}

// missingVersions says for which items the lists have no package or not the wanted
// version.
func (j *job) missingVersions(ctx context.Context, wanted []int) (map[int]error, error) {
	if len(wanted) == 0 {
		return nil, nil
	}
	var names []string
	for _, i := range wanted {
		names = append(names, j.items[i].Want.Name)
	}
	known, err := j.manager.Offers(ctx, j.h, withPeers(ctx, names...))
	if err != nil {
		return nil, err
	}
	out := map[int]error{}
	for _, i := range wanted {
		if err := lacks(known.offer(j.items[i].Want.Name), *j.items[i].Want); err != nil {
			out[i] = err
		}
	}
	return out, nil
}

// lacks says why what the lists have of a package is not what is wanted.
func lacks(o offer, want Package) error {
	final := func(hint, format string, args ...any) error {
		return &states.FinalError{Err: &diag.HintError{Err: fmt.Errorf(format, args...), Hint: hint}}
	}
	switch {
	case len(o.Providers) > 0:
		return final("name one of these packages", "%w", &virtualError{want.Name, o.Providers})
	case o.Newest == "" && len(o.Versions) == 0:
		return final("look for a mistake in the name, or declare the apt_repository that has it",
			"the package lists offer no package named %s", want.Name)
	case want.Version == nil || *want.Version == Latest:
		if o.Newest == "" {
			return final("", "the package lists have no version of %s to install", want.Name)
		}
	case !slices.Contains(o.Versions, *want.Version):
		err := &diag.HintError{Hint: "give a version that they offer, or none",
			Message: fmt.Sprintf("the package lists offer no %s %s, but %s", want.Name, *want.Version, strings.Join(o.Versions, ", "))}
		if want.isChosen {
			return err
		}
		return &states.FinalError{Err: err}
	}
	return nil
}
