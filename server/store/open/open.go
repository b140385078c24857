// Package open opens the store that a URL names.
package open

import (
	"context"
	"net/url"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/postgres"
	"github.com/tenetcm/tenet/server/store/sqlite"
)

// Open opens a store: postgres://…, sqlite:///path with %20 and the like for what URLs do not
// hold, or a path as it is. A path is that of a folder.
func Open(ctx context.Context, name string, o store.Options) (*store.Store, error) {
	engine, err := Engine(ctx, name)
	if err != nil {
		return nil, err
	}
	return store.New(ctx, engine, o)
}

// Engine opens the engine of a store alone, into which a backup is restored.
func Engine(ctx context.Context, name string) (store.Engine, error) {
	scheme, rest, found := strings.Cut(name, "://")
	switch {
	case !found:
		return folder(ctx, name)
	case scheme == "sqlite":
		path, err := url.PathUnescape(rest)
		if err != nil || !strings.HasPrefix(path, "/") || strings.ContainsAny(rest, "?#") {
			return nil, &diag.HintError{Message: "this is no URL of a folder: " + name, Hint: "write sqlite:///path/of/the/folder, or the path alone", Err: err}
		}
		return folder(ctx, path)
	case scheme == "postgres", scheme == "postgresql":
		e, err := postgres.Open(ctx, name)
		if err != nil {
			return nil, err
		}
		return e, nil
	}
	return nil, &diag.HintError{Message: "there is no store of the kind " + scheme + "://", Hint: "a store is a folder, sqlite:///folder or postgres://user@host/database"}
}

func folder(ctx context.Context, path string) (store.Engine, error) {
	e, err := sqlite.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return e, nil
}
