package deploy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tenetcm/tenet/internal/sitefiles"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/evaluate"
	"github.com/tenetcm/tenet/server/store"
)

// Keep is how many revisions of a site are kept besides those in use.
const Keep = 3

// Revision is the files of a site at one time.
type Revision struct {
	Site     string          `json:"site"`
	Number   int64           `json:"number"` // from 1
	Tree     contents.Digest `json:"tree"`   // of the list of its files, which is a content
	By       string          `json:"by"`
	At       time.Time       `json:"at"`
	Message  string          `json:"message,omitempty"`
	Hosts    []site.Host     `json:"hosts"` // that it declares with executor = "agent"
	Rollout  *site.Rollout   `json:"rollout,omitempty"`
	Clusters []site.Cluster  `json:"clusters,omitempty"`
	Warnings []string        `json:"warnings,omitempty"` // of reading the site, each with the file and the line
}

// maxWarnings is how many warnings of a revision are kept.
const maxWarnings = 100

// treeFile is a line of a tree.
type treeFile struct {
	Name   string          `json:"name"`
	Digest contents.Digest `json:"digest"`
	Size   int64           `json:"size"`
	// Executable: somebody may execute it, as trees bring it to hosts.
	Executable bool `json:"executable,omitempty"`
}

// Upload keeps the files of an archive as a revision of the site that they are, which has to be the one that is named. The same files as those of the newest revision are
// that one.
func (s *Service) Upload(ctx context.Context, by *access.Caller, site string, archive io.Reader, message string) (_ *Revision, err error) {
	if !by.MaySomewhere(access.Deploy) {
		return nil, by.DemandEverywhere(access.Deploy)
	}
	dir, err := os.MkdirTemp(s.Dir, "upload-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := unpack(archive, dir); err != nil {
		return nil, err
	}
	a, err := s.Evaluate.Ask(ctx, evaluate.Question{Dir: dir})
	if err != nil {
		return nil, err
	}
	if a.Name == "" {
		return nil, invalid("the site has no name, by which a server would know it", `add site { name = "…" }`)
	}
	if a.Name != site {
		return nil, invalid(fmt.Sprintf("the archive is the site %.100q, not %.100q", a.Name, site), "upload it under its own name")
	}
	if !by.MaySite(access.Deploy, a.Name) {
		return nil, by.Demand(access.Deploy, access.Target{}, a.Name)
	}
	if a.Rollout.HasHooks() {
		return nil, notSupported("the site's rollout has hooks, which a server does not run", "leave before_each and after_each out, or use tenet apply")
	}
	r := &Revision{Site: a.Name, By: by.Name, At: s.now(), Message: message, Rollout: a.Rollout, Clusters: a.Clusters, Warnings: a.Warnings[:min(len(a.Warnings), maxWarnings)]}
	for _, h := range a.Hosts {
		if h.Executor == "agent" {
			r.Hosts = append(r.Hosts, h)
		}
	}
	if r.Tree, err = s.keepTree(ctx, dir); err != nil {
		return nil, err
	}
	return r, s.change(ctx, r.Site, func(tx store.Tx) error {
		newest, err := revision(tx, r.Site, 0)
		if err != nil {
			return err
		}
		if newest != nil && newest.Tree == r.Tree {
			*r = *newest
			return nil
		}
		r.Number = 1
		if newest != nil {
			r.Number = newest.Number + 1
		}
		body, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(`INSERT INTO deploy_revisions (site, number, tree, body) VALUES ($1, $2, $3, $4)`, r.Site, r.Number, string(r.Tree), body); err != nil {
			return err
		}
		if err := prune(tx, r.Site); err != nil {
			return err
		}
		return access.Audit(tx, access.Entry{At: r.At, Actor: by.Name, Action: "revision.upload", Site: r.Site, Reason: message,
			Detail: map[string]string{"number": fmt.Sprint(r.Number), "tree": string(r.Tree)}})
	})
}

// keepTree puts the files of a folder, and their list, into the contents.
func (s *Service) keepTree(ctx context.Context, dir string) (contents.Digest, error) {
	var list []treeFile
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		f := treeFile{name, contents.Sum(data), int64(len(data)), sitefiles.IsExecutable(info.Mode())}
		list = append(list, f)
		return s.Contents.Put(ctx, f.Digest, bytes.NewReader(data))
	})
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(list) // WalkDir goes in the order of names
	if err != nil {
		return "", err
	}
	tree := contents.Sum(data)
	return tree, s.Contents.Put(ctx, tree, bytes.NewReader(data))
}

// tree reads the list of a revision's files.
func (s *Service) tree(ctx context.Context, d contents.Digest) (list []treeFile, err error) {
	in, _, err := s.Contents.Open(ctx, d, 0)
	if err != nil {
		return nil, fmt.Errorf("the list of a revision's files: %w", err)
	}
	data, err := io.ReadAll(in)
	if err = errors.Join(err, in.Close()); err == nil {
		err = json.Unmarshal(data, &list)
	}
	return list, err
}

// unfold gives a folder with the files of a revision.
func (s *Service) unfold(ctx context.Context, d contents.Digest) (_ string, err error) {
	s.files.Lock()
	defer s.files.Unlock()
	dir := filepath.Join(s.Dir, "tree-"+string(d))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	list, err := s.tree(ctx, d)
	if err != nil {
		return "", err
	}
	draft, err := os.MkdirTemp(s.Dir, "draft-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(draft)) }()
	root, err := os.OpenRoot(draft)
	if err != nil {
		return "", err
	}
	defer root.Close()
	for _, f := range list {
		if err := s.unfoldOne(ctx, root, f); err != nil {
			return "", fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return dir, os.Rename(draft, dir)
}

func (s *Service) unfoldOne(ctx context.Context, root *os.Root, f treeFile) (err error) {
	in, _, err := s.Contents.Open(ctx, f.Digest, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	return sitefiles.Write(root, f.Name, f.Executable, in)
}

// revision reads one by its number; 0: the newest; nil: there is none.
func revision(r store.Reader, site string, number int64) (*Revision, error) {
	if number == 0 {
		list, err := numbers(r, `SELECT number FROM deploy_revisions WHERE site = $1 ORDER BY number DESC LIMIT 1`, site)
		if err != nil || len(list) == 0 {
			return nil, err
		}
		number = list[0]
	}
	var body []byte
	found, err := store.One(r, `SELECT body FROM deploy_revisions WHERE site = $1 AND number = $2`, []any{site, number}, &body)
	if err != nil || !found {
		return nil, err
	}
	out := &Revision{}
	return out, json.Unmarshal(body, out)
}

// knownRevision gives a revision as revision does. One of many hosts is long, and none is ever changed: the last ones that were asked for are kept in memory.
func (s *Service) knownRevision(r store.Reader, site string, number int64) (*Revision, error) {
	var tree string
	var size int64
	found, err := store.One(r, `SELECT tree, CAST(LENGTH(body) AS BIGINT) FROM deploy_revisions WHERE site = $1 AND number = $2`, []any{site, number}, &tree, &size)
	if err != nil || !found {
		return nil, err
	}
	key := revisionKey{site, number}
	s.known.Lock()
	one := s.revisions[key]
	s.known.Unlock()
	if one != nil && string(one.Tree) == tree {
		return one, nil
	}
	if one, err = revision(r, site, number); err != nil || one == nil {
		return one, err
	}
	room := cmp.Or(s.revisionRoom, maxRevisionBytes)
	if size > room {
		return one, nil
	}
	s.known.Lock()
	defer s.known.Unlock()
	if len(s.revisions) >= maxRevisions || s.revisionBytes+size > room {
		clear(s.revisions)
		s.revisionBytes = 0
	}
	s.revisions[key] = one
	s.revisionBytes += size
	return one, nil
}

type revisionKey struct {
	site   string
	number int64
}

// How many revisions are kept in memory, and of how many bytes in the store.
const (
	maxRevisions           = 24
	maxRevisionBytes int64 = 64 << 20
)

// Revisions lists those of a site that are kept, the newest first.
func (s *Service) Revisions(ctx context.Context, by *access.Caller, site string) (out []Revision, err error) {
	if !by.MaySite(access.Read, site) {
		return nil, noSite(site)
	}
	err = s.Store.Read(ctx, func(r store.Reader) error {
		out = nil
		list, err := numbers(r, `SELECT number FROM deploy_revisions WHERE site = $1 ORDER BY number DESC`, site)
		for _, n := range list {
			one, failed := s.knownRevision(r, site, n)
			if err = cmp.Or(err, failed); err != nil {
				return err
			}
			if one != nil {
				out = append(out, *one)
			}
		}
		return err
	})
	if err == nil && len(out) == 0 {
		err = noSite(site)
	}
	return out, err
}

func noSite(site string) error {
	return notFound(fmt.Sprintf("there is no site %.100q", site), "tenet deploy SITE uploads one")
}

// prune forgets revisions that are neither among the newest nor in use: by a target, a pin, or a deployment that is not over. What a host would be taken back
// to is in use as well: it is needed most when the newest ones are wrong.
func prune(tx store.Tx, site string) error {
	old, err := numbers(tx, `SELECT number FROM deploy_revisions WHERE site = $1 ORDER BY number DESC LIMIT 1000000 OFFSET $2`, site, int64(Keep))
	if err != nil || len(old) == 0 {
		return err
	}
	targets, err := all[targetRow](tx, targetsTable, site, "")
	if err != nil {
		return err
	}
	former := map[int64]bool{}
	for _, t := range targets {
		former[t.Former] = true
	}
	for _, n := range old {
		if former[n] {
			continue
		}
		r, err := revision(tx, site, n)
		if err != nil {
			return err
		}
		var used int64
		if _, err := store.One(tx, `SELECT
			(SELECT COUNT(*) FROM deploy_targets WHERE site = $1 AND tree = $2) + (SELECT COUNT(*) FROM deploy_pins WHERE site = $1 AND tree = $2) +
			(SELECT COUNT(*) FROM deploy_deployments WHERE site = $1 AND tree = $2 AND phase IN ('planned', 'rolling', 'paused'))`, []any{site, string(r.Tree)}, &used); err != nil {
			return err
		}
		if used > 0 {
			continue
		}
		if _, err := tx.Exec(`DELETE FROM deploy_revisions WHERE site = $1 AND number = $2`, site, n); err != nil {
			return err
		}
		for _, t := range []table{preparedTable, signedTable, plansTable, outlinesTable} { // a later revision may have the same files
			if _, err := tx.Exec(`DELETE FROM `+string(t)+` WHERE site = $1 AND tree IN ($2, $3) AND NOT EXISTS (SELECT 1 FROM deploy_revisions WHERE site = $1 AND tree = $2)`,
				site, string(r.Tree), string(mayEmpty(r.Tree))); err != nil {
				return err
			}
		}
	}
	return nil
}
