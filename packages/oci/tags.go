package oci

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/mod/semver"
	"oras.land/oras-go/v2/errdef"
)

// Tags lists the versions of a repository, the lowest first; other tags are left out. One that is not there has none.
func (c *Client) Tags(ctx context.Context, ref Reference) ([]string, error) {
	ctx, cancel := c.withTimeout(ctx)
	defer cancel()
	repository, err := c.repository(ref)
	if err != nil {
		return nil, err
	}
	var versions []string
	count := 0
	err = repository.Tags(ctx, "", func(tags []string) error {
		if count += len(tags); count > maxTags {
			return refuse("", "it has more than %d tags", maxTags)
		}
		for _, tag := range tags {
			if isTag(tag) && IsVersion(tag) {
				versions = append(versions, tag)
			}
		}
		return nil
	})
	if errors.Is(err, errdef.ErrTooManyPages) {
		err = refuse("", "it lists its tags on more than %d pages", maxPages)
	}
	if err != nil {
		return nil, explain(ctx, ref, err)
	}
	slices.SortFunc(versions, CompareVersions)
	return slices.Compact(versions), nil
}

// CompareVersions orders versions by their precedence (semver.org), and those of the same one, such as 1.4 and 1.4.0, by their text.
func CompareVersions(a, b string) int {
	if order := semver.Compare(semantic(a), semantic(b)); order != 0 {
		return order
	}
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
