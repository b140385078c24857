package follow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/packages/git"
	"github.com/tenetcm/tenet/runtime/source"
	"github.com/tenetcm/tenet/runtime/source/folder"
	"github.com/tenetcm/tenet/runtime/source/repository"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/server/store"
)

// follower follows one source.
type follower struct {
	service *Service
	row     *row
	dir     string // of its own
	busy    atomic.Bool
	hinted  atomic.Bool
	done    chan struct{} // closed when its turn is over
	follows *source.Follower
	// noted is when it was looked last what became of what is deployed, and poked how often somebody had poked by then. isAtRest: that was over.
	noted    time.Time
	poked    int64
	isAtRest bool
	// unsaved: how it stands could not be kept yet, and untold: that is another way than was told last.
	unsaved, untold bool
	// rival is the source that brings the same site since before; empty: there is none.
	rival   string
	refused refusal
}

// open makes what an address stands for. signers is a file, or empty.
func (s *Source) open(cache, credentials, signers string) (source.Source, error) {
	if !strings.HasPrefix(s.Address, git.Prefix) {
		if !filepath.IsAbs(s.Address) || filepath.Clean(s.Address) != s.Address {
			return nil, &diag.HintError{Code: ErrInvalid, Message: fmt.Sprintf("%.200q is no address of a source", git.WithoutPassword(s.Address)), Hint: "write git::https://HOST/REPOSITORY//DIR?ref=BRANCH, or the absolute path of a folder of the server's machine"}
		}
		if s.Signers != "" {
			return nil, &diag.HintError{Code: ErrInvalid, Message: "a folder has no signatures", Hint: "follow a repository"}
		}
		return &folder.Source{Dir: s.Address}, nil
	}
	ref, err := git.ParseReference(s.Address)
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(ref.URL)
	if err != nil {
		return nil, err
	}
	c := &git.Client{Dir: cache, Getenv: os.Getenv}
	if cache == "" { // only to look at the address
		c.Dir = "/"
	}
	if credentials != "" && at.Hostname() != "" { // those of a host go to no other one
		for file, to := range map[string]*string{at.Hostname() + ".token": &c.Credentials.TokenFile, at.Hostname() + ".helper": &c.Credentials.Helper, at.Hostname() + ".pem": &c.CAFile, at.Hostname() + ".key": &c.Credentials.SSHKey, "known_hosts": &c.Credentials.KnownHosts} {
			if path := filepath.Join(credentials, file); exists(path) {
				*to = path
			}
		}
	}
	from, err := c.Repository(ref.URL)
	if err != nil {
		return nil, err
	}
	return &repository.Source{Repository: from, Ref: ref.Ref, Dir: ref.Dir, Signers: signers}, nil
}

// turn looks at the source, if that is due, and deploys what counts and is not deployed.
func (f *follower) turn(ctx context.Context, failed func(error)) {
	before := *f.row
	err := f.look(ctx)
	if ctx.Err() != nil {
		return
	}
	problem := ""
	if err != nil {
		problem = diag.Shorten(err.Error())
	}
	f.row.Problem, f.row.AwaitsSignature = problem, diag.CodeOf(err) == deploy.ErrSign
	if f.follows != nil {
		f.row.State = f.follows.State()
	}
	same, err := f.note(ctx)
	if err != nil && ctx.Err() == nil {
		failed(fmt.Errorf("what became of the source %s: %w", f.row.Name, err))
	}
	f.untold = f.untold || !same
	if !f.unsaved && same && before.Problem == problem && before.State == f.row.State && before.Revision == f.row.Revision && before.Deployment == f.row.Deployment && before.IsKnown == f.row.IsKnown && before.ReportOf == f.row.ReportOf && before.IsSigned == f.row.IsSigned && before.AwaitsSignature == f.row.AwaitsSignature && before.Upload == f.row.Upload {
		return
	}
	f.unsaved = true // if it cannot be kept, the next turn tries again
	err = f.service.Store.Write(ctx, func(tx store.Tx) error {
		list, err := rows(tx)
		if now := find(list, f.row.Name); err == nil && now != nil && now.At.Equal(f.row.At) { // else it was removed meanwhile
			err = f.row.save(tx)
		}
		return err
	})
	if err != nil {
		if ctx.Err() == nil {
			failed(fmt.Errorf("the source %s: %w", f.row.Name, err))
		}
		return
	}
	if f.untold && f.service.Changed != nil {
		f.service.Changed(f.row.Site, f.row.Name, f.row.Report)
	}
	f.unsaved, f.untold = false, false
}

func (f *follower) look(ctx context.Context) error {
	if f.rival != "" { // each would undo what the other does
		return hasSource(f.row.Site, f.rival)
	}
	if f.follows == nil {
		if err := f.begin(); err != nil {
			return err
		}
	}
	if f.hinted.Swap(false) {
		f.follows.Hint()
		f.refused = refusal{}
	}
	if _, err := f.follows.Turn(ctx); err != nil {
		return err
	}
	state := f.follows.State()
	switch held := state.Held; {
	case held.IsZero():
		return nil
	case f.row.Revision == held.ID:
		_, err := f.takeSigned(ctx, f.row.IsSigned)
		return err
	case f.row.Deployment != 0 && state.Digest != "" && state.Digest == f.row.Digest: // nothing in it has changed
		f.row.Revision = held.ID
		return nil
	}
	now := f.service.Clock()
	found, err := f.takeSigned(ctx, diag.CodeOf(f.refused.err) == deploy.ErrSign && f.row.Upload.Of.Is(state.Held))
	switch {
	case err != nil:
		return err
	case found:
		f.refused, f.row.Revision, f.row.Digest = refusal{}, state.Held.ID, state.Digest
		return nil
	case f.refused.holds(state.Held, now):
		return f.refused.err
	}
	err = f.deploy(ctx, state.Held)
	if ctx.Err() == nil {
		f.refused = f.refused.after(err, state.Held, f.row.schedule(), now)
	}
	return err
}

// begin takes the follower up where it was.
func (f *follower) begin() error {
	if err := f.prepare(); err != nil {
		return err
	}
	signers := ""
	if f.row.Signers != "" {
		signers = filepath.Join(f.dir, "signers")
		if err := os.WriteFile(signers, []byte(f.row.Signers), 0o600); err != nil {
			return err
		}
	}
	from, err := f.row.open(filepath.Join(f.service.Dir, "repositories"), f.service.Credentials, signers)
	if err != nil {
		return err
	}
	f.follows, err = source.Open(source.Config{Source: from, Dir: filepath.Join(f.dir, "followed"), Signed: f.row.Signers != "", After: cmp.Or(f.row.State.Held, f.row.State.Lost), Options: f.row.schedule(), Now: f.service.Clock,
		Check: func(ctx context.Context, dir string) error { return f.upload(ctx, dir, f.follows.State().Seen) }})
	return err
}

// prepare makes the folder. One that a removed source of the same name has left, since the server ended first, says nothing of this one.
func (f *follower) prepare() error {
	file, want := filepath.Join(f.dir, "since"), f.row.At.Format(time.RFC3339Nano)
	switch since, err := os.ReadFile(file); {
	case err == nil && string(since) == want:
		return nil
	case err == nil:
		if err := os.RemoveAll(f.dir); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist): // without one it was made by a former version
		return err
	}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	return atomicfile.Replace(file, atomicfile.Options{}, atomicfile.Data([]byte(want)))
}
