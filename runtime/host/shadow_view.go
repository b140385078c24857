package host

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
)

// doubtfulView is the view of a part behind something that cannot be foreseen.
type doubtfulView struct {
	*Shadow
	uncertain func(Look) bool
}

// WriteFile is Writer.WriteFile.
func (v doubtfulView) WriteFile(ctx context.Context, path string, c Content, m Meta) error {
	return v.writeFile(ctx, path, c, m, v.mayHaveParents(path))
}

// Mkdir is Writer.Mkdir.
func (v doubtfulView) Mkdir(path string, m Meta) error {
	return v.mkdir(path, m, v.mayHaveParents(path))
}

// Symlink is Writer.Symlink.
func (v doubtfulView) Symlink(target, path string, m Meta) error {
	return v.symlink(target, path, m, v.mayHaveParents(path))
}

// mayHaveParents reports whether a directory above a path is missing that may be there by then.
func (v doubtfulView) mayHaveParents(name string) bool {
	if !path.IsAbs(name) {
		return false
	}
	missing := ""
	for dir := path.Dir(path.Clean(name)); dir != "/"; dir = path.Dir(dir) {
		if _, err := v.peek(dir); err == nil || !errors.Is(err, fs.ErrNotExist) {
			break
		}
		missing = dir
	}
	return missing != "" && v.uncertain(Look{Name: missing, Missing: true, Needed: true})
}

// NoFollow is NoFollower.NoFollow.
func (v doubtfulView) NoFollow() Host { return doubtfulView{v.noFollow(), v.uncertain} }

// OpenNoFollow is NoFollowOpener.OpenNoFollow.
func (v doubtfulView) OpenNoFollow(path string) (io.ReadCloser, Info, error) {
	return openNoFollow(v.noFollow(), path)
}

// ForRun is Runner.ForRun.
func (v doubtfulView) ForRun(string) Host { return v }

// Query is Processes.Query: unanswerable where what it looks at is uncertain.
func (v doubtfulView) Query(ctx context.Context, q Query) (Result, error) {
	for _, l := range v.traceQuery(q) {
		if v.uncertain(l) {
			return Result{}, ErrUnanswerable
		}
	}
	return v.Shadow.Query(ctx, q)
}

// Init is Machine.Init.
func (v doubtfulView) Init(ctx context.Context, user string) (Init, error) {
	i, err := v.Shadow.Init(ctx, user)
	if err != nil {
		if v.uncertain(Look{Kind: LookService, Name: "*"}) {
			err = ErrUnanswerable
		}
		return nil, err
	}
	if t, ok := i.(tracedInit); ok {
		t.uncertain = v.uncertain
		return t, nil
	}
	return tracedInit{Init: i, user: user, uncertain: v.uncertain}, nil
}

// Network is Machine.Network.
func (v doubtfulView) Network() (Network, error) {
	n, err := v.Shadow.Network()
	if v.uncertain(Look{Kind: LookNetwork}) {
		return opaqueNetwork{}, nil
	}
	return n, err
}
