package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/tenetcm/tenet/internal/reference"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/packages/get"
)

// describePackage describes the components of a package: of the version that the lock of this directory has, if it has one, or else of what the source stands for.
func (s *client) describePackage(ctx context.Context, source string) ([]topic, error) {
	root, err := os.OpenRoot(".")
	if err != nil {
		return nil, failure(err)
	}
	defer root.Close()
	g, err := s.getter(root, nil)
	if err != nil {
		return nil, err
	}
	opened, err := g.Open(ctx)(source)
	if err != nil {
		return nil, failure(err)
	}
	all := get.Components(ctx, opened.Files, lang.Options{Registry: modules.Standard(), OpenPackage: g.Open(ctx)})
	if len(all) == 0 {
		return nil, failure(fmt.Errorf("%s has no components", source))
	}
	var topics []topic
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		name := source
		if dir != "." {
			name = shortName(source) + "/" + dir // as a collection names it
		}
		t := componentTopic(reference.NamedComponent{Source: name, Description: *all[dir]})
		t.kind = name
		topics = append(topics, t)
	}
	return topics, nil
}
