package cli

import (
	"context"
	"io/fs"
	"os"
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/modules/custom"
	"github.com/tenetcm/tenet/states"
)

// modulesHere are those of the program, and those of the site in the current directory.
type modulesHere struct {
	*states.Registry
	own  *custom.Set
	list diag.List // what is wrong with the site's own
}

// newModulesHere reads the modules of the site.
func newModulesHere() (*modulesHere, error) {
	here, err := os.OpenRoot(".")
	if err != nil {
		return nil, failure(err)
	}
	defer here.Close()
	own, list := custom.Load(here.FS(), custom.Dir, custom.Options{Registry: modules.Standard()})
	return &modulesHere{modules.Standard().With(own.Modules()...), own, list}, nil
}

// files is where the site's own lie.
func (m *modulesHere) files(ctx context.Context) (fs.FS, error) {
	here, err := os.OpenRoot(".")
	if err != nil {
		return nil, failure(err)
	}
	return siteFiles(ctx, here), nil
}

// broken reports whether one of the names is that of a module with mistakes.
func (m *modulesHere) broken(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(m.own.Broken(), name) })
}
