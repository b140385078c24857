package update

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/store"
)

// maxReleases bounds how many releases are kept.
const maxReleases = 50

// Release is a release that the server has.
type Release struct {
	trust.Release
	By      string
	At      time.Time
	Signed  *trust.Signed
	Lacking []trust.Program // that were not uploaded
}

// Add takes a release in that a key has signed which may. The same once more changes nothing.
func (s *Service) Add(ctx context.Context, by *access.Caller, signed *trust.Signed, reason string) (*Release, error) {
	release, err := s.Chain().OpenRelease(signed)
	if err != nil {
		return nil, &diag.HintError{Code: CodeInvalid, Err: err, Hint: "tenet trust shows which keys may release programs"}
	}
	data, err := json.Marshal(signed)
	if err != nil {
		return nil, err
	}
	at := s.now()
	err = s.Store.Write(ctx, func(tx store.Tx) error {
		was, _, err := read(tx, release.Version)
		if err != nil {
			return err
		}
		if was != nil && trust.DigestOf(was.Content) != trust.DigestOf(signed.Content) {
			return &diag.HintError{Code: CodeInvalid, Message: "there is another release " + release.Version + " already", Hint: "a version is released once: give this one a version of its own"}
		}
		var count int64
		if _, err := store.One(tx, `SELECT COUNT(*) FROM update_releases`, nil, &count); err != nil {
			return err
		}
		if was == nil && count >= maxReleases {
			return &diag.HintError{Code: CodeFull, Message: fmt.Sprintf("there are %d releases already", count), Hint: "tenet release remove VERSION"}
		}
		if _, err := tx.Exec(`INSERT INTO update_releases (version, actor, at, signed) VALUES ($1, $2, $3, $4) ON CONFLICT (version) DO UPDATE SET signed = excluded.signed`,
			release.Version, by.Name, at, data); err != nil {
			return err
		}
		return access.Audit(tx, access.Entry{At: at, Actor: by.Name, Action: "release.add", Reason: reason,
			Detail: map[string]string{"version": release.Version, "digest": trust.DigestOf(signed.Content).String()}})
	})
	if err != nil {
		return nil, err
	}
	s.reoffer() // it may be signed otherwise than before
	lacking, err := s.lacking(ctx, release)
	return &Release{Release: *release, By: by.Name, At: at, Signed: signed, Lacking: lacking}, err
}

// Remove forgets a release that no host is to be brought to now.
func (s *Service) Remove(ctx context.Context, by *access.Caller, version, reason string) error {
	defer s.reoffer()
	return s.Store.Write(ctx, func(tx store.Tx) error {
		u, err := newest(tx)
		if err != nil {
			return err
		}
		if u != nil && u.Version == version {
			return &diag.HintError{Code: CodeBusy, Message: fmt.Sprintf("the newest update, %d, is to %s", u.Number, version), Hint: "begin another update first"}
		}
		n, err := tx.Exec(`DELETE FROM update_releases WHERE version = $1`, version)
		if err == nil && n == 0 {
			err = noRelease(version)
		}
		if err != nil {
			return err
		}
		return access.Audit(tx, access.Entry{At: s.now(), Actor: by.Name, Action: "release.remove", Reason: reason, Detail: map[string]string{"version": version}})
	})
}

// Releases lists them, the latest version first.
func (s *Service) Releases(ctx context.Context) (list []*Release, err error) {
	err = s.Store.Read(ctx, func(r store.Reader) error {
		list = nil
		return r.Query(`SELECT actor, at, signed FROM update_releases`, nil, func(row store.Row) error {
			one := &Release{Signed: &trust.Signed{}}
			var data []byte
			if err := row.Scan(&one.By, &one.At, &data); err != nil {
				return err
			}
			list = append(list, one)
			return errors.Join(json.Unmarshal(data, one.Signed), json.Unmarshal(one.Signed.Content, &one.Release))
		})
	})
	slices.SortFunc(list, func(a, b *Release) int { return trust.CompareVersions(b.Version, a.Version) })
	for _, one := range list {
		var failed error
		one.Lacking, failed = s.lacking(ctx, &one.Release)
		err = errors.Join(err, failed)
	}
	return list, err
}

func noRelease(version string) error {
	return &diag.HintError{Code: CodeNotFound, Message: fmt.Sprintf("there is no release %.100q", version), Hint: "tenet release list shows those that are there"}
}

// read reads a release; nil: there is none.
func read(r store.Reader, version string) (*trust.Signed, *trust.Release, error) {
	var data []byte
	found, err := store.One(r, `SELECT signed FROM update_releases WHERE version = $1`, []any{version}, &data)
	if err != nil || !found {
		return nil, nil, err
	}
	signed, release := &trust.Signed{}, &trust.Release{}
	return signed, release, errors.Join(json.Unmarshal(data, signed), json.Unmarshal(signed.Content, release))
}

// release gives one that hosts would accept now.
func (s *Service) release(ctx context.Context, version string) (signed *trust.Signed, release *trust.Release, err error) {
	err = s.Store.Read(ctx, func(r store.Reader) error {
		signed, release, err = read(r, version)
		return err
	})
	if err == nil && signed == nil {
		err = noRelease(version)
	}
	if err != nil {
		return nil, nil, err
	}
	if release, err = s.Chain().OpenRelease(signed); err != nil { // its key may have lost the right since
		return nil, nil, &diag.HintError{Code: CodeInvalid, Err: err, Hint: "have it signed by a key that may release programs"}
	}
	return signed, release, nil
}

// lacking lists the programs of a release that were not uploaded.
func (s *Service) lacking(ctx context.Context, r *trust.Release) (list []trust.Program, err error) {
	for _, p := range r.Programs {
		content, size, err := s.Contents.Open(ctx, contents.Digest(p.SHA256.String()), 0)
		switch {
		case errors.Is(err, contents.ErrNone):
			list = append(list, p)
			continue
		case err != nil:
			return nil, err
		}
		if err := content.Close(); err != nil {
			return nil, err
		}
		if size != p.Size {
			return nil, &diag.HintError{Code: CodeInvalid, Message: fmt.Sprintf("the program %s has %d bytes, and the release says %d", p.Title(), size, p.Size), Hint: "have the release signed anew"}
		}
	}
	return list, nil
}

func titles(list []trust.Program) string {
	var words []string
	for _, p := range list {
		words = append(words, p.Title())
	}
	return strings.Join(words, ", ")
}

// References gives the contents that must stay.
func (s *Service) References(ctx context.Context) (map[contents.Digest]bool, error) {
	out := map[contents.Digest]bool{}
	return out, s.Store.Read(ctx, func(r store.Reader) error {
		return r.Query(`SELECT signed FROM update_releases`, nil, func(row store.Row) error {
			var data []byte
			if err := row.Scan(&data); err != nil {
				return err
			}
			signed, release := &trust.Signed{}, &trust.Release{}
			err := errors.Join(json.Unmarshal(data, signed), json.Unmarshal(signed.Content, release))
			for _, p := range release.Programs {
				out[contents.Digest(p.SHA256.String())] = true
			}
			return err
		})
	})
}

// Put keeps a program that a release names.
func (s *Service) Put(ctx context.Context, d contents.Digest, r io.Reader) error {
	all, err := s.References(ctx)
	if err != nil {
		return err
	}
	if !all[d] {
		return &diag.HintError{Code: CodeNotFound, Message: "no release names a program of this digest", Hint: "give the server the release first"}
	}
	if s.IsFull != nil && s.IsFull() {
		return &diag.HintError{Code: CodeFull, Message: "the server's disk is nearly full: no program is taken", Hint: "make room there"}
	}
	err = s.Contents.Put(ctx, d, r)
	if errors.Is(err, contents.ErrOther) {
		err = &diag.HintError{Code: CodeInvalid, Message: "what came is not the program of this digest", Hint: "send the file that was signed"}
	}
	return err
}
