package packages

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// offered keeps those of the chosen items that the package lists offer, after
// fetching the lists anew if one is missing. The others get an error, before
// anything is installed.
func (j *job) offered(ctx context.Context, chosen []int) []int {
	if len(chosen) == 0 {
		return nil
	}
	missing, err := j.missing(ctx, chosen)
	if err == nil && len(missing) > 0 {
		if err = j.manager.Refresh(ctx, j.h); err == nil {
			missing, err = j.missing(ctx, chosen)
		}
	}
	var out []int
	for _, i := range chosen {
		switch {
		case err != nil:
			j.errs[i] = err
		case missing[i] != nil:
			j.errs[i] = missing[i]
		default:
			out = append(out, i)
		}
	}
	return out
}

// missing says for which items the lists have no package or not the wanted
// version.
func (j *job) missing(ctx context.Context, chosen []int) (map[int]error, error) {
	var names []string
	for _, i := range chosen {
		names = append(names, j.items[i].Want.Name)
	}
	offers, err := j.manager.Offers(ctx, j.h, names)
	if err != nil {
		return nil, err
	}
	out := map[int]error{}
	for _, i := range chosen {
		want := j.items[i].Want
		o := offers.of(want.Name)
		switch {
		case o.Newest == "" && len(o.Versions) == 0:
			out[i] = fmt.Errorf("the package lists offer no package named %s", want.Name)
		case want.Version == nil || *want.Version == Latest:
			if o.Newest == "" {
				out[i] = fmt.Errorf("the package lists have no version of %s to install", want.Name)
			}
		case !slices.Contains(o.Versions, *want.Version):
			out[i] = fmt.Errorf("the package lists offer no %s %s, but %s",
				want.Name, *want.Version, strings.Join(o.Versions, ", "))
		}
	}
	return out, nil
}
