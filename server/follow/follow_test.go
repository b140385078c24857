package follow_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/source"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/server/follow"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/sqlite"
)

func newService(t *testing.T) *follow.Service {
	t.Helper()
	ctx := t.Context()
	engine, err := sqlite.Open(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.New(ctx, engine, store.Options{Migrations: append(append(access.Migrations(), deploy.Migrations()...), follow.Migration(), deploy.VersionMigration(), deploy.PolicyMigration())})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := s.Campaign(ctx); err != nil {
		t.Fatal(err)
	}
	return follow.New(follow.Options{Store: s, Dir: t.TempDir()})
}

func root() *access.Caller {
	return &access.Caller{Name: "ann", Kind: access.Person, Grants: access.AllGrants()}
}

func only(t *testing.T, verb access.Verb, site string) *access.Caller {
	t.Helper()
	all, err := access.ParseSelector(access.All)
	if err != nil {
		t.Fatal(err)
	}
	return &access.Caller{Name: "carl", Kind: access.Person, Grants: []access.Grant{{Verb: verb, Hosts: all, Site: site}}}
}

// Only an admin who may deploy everywhere has a server follow something; who may read one site learns nothing of others, and nobody the secret.
func TestRights(t *testing.T) {
	s, ctx := newService(t), t.Context()
	of := follow.Source{Name: "shop", Site: "shop", Address: "git::https://git.example/shop.git?ref=main", Secret: "TOPSECRET"}
	for _, by := range []*access.Caller{only(t, access.Deploy, access.All), only(t, access.Admin, access.All)} {
		if err := s.Add(ctx, by, of, ""); diag.CodeOf(err) != access.CodeForbidden {
			t.Errorf("%+v adds a source: %v", by.Grants, err)
		}
	}
	if err := s.Add(ctx, root(), of, ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(ctx, root(), of, ""); diag.CodeOf(err) != follow.ErrExists {
		t.Errorf("once more: %v", err)
	}
	for site, want := range map[string]int{"shop": 1, "other": 0} {
		list, err := s.List(ctx, only(t, access.Read, site))
		if err != nil || len(list) != want {
			t.Fatalf("who may read %s sees %+v, %v", site, list, err)
		}
		if want > 0 && list[0].Secret != "" {
			t.Error("the secret is told")
		}
	}
	if err := s.Look(ctx, only(t, access.Deploy, "other"), "shop"); diag.CodeOf(err) != access.CodeForbidden {
		t.Errorf("another site's: %v", err)
	}
	if err := s.Look(ctx, only(t, access.Deploy, "shop"), "shop"); err != nil {
		t.Error(err)
	}
	if err := s.Remove(ctx, only(t, access.Deploy, access.All), "shop", ""); diag.CodeOf(err) != access.CodeForbidden {
		t.Errorf("removed by who may not: %v", err)
	}
	if err := s.Remove(ctx, root(), "shop", ""); err != nil {
		t.Error(err)
	}
	if err := s.Remove(ctx, root(), "shop", ""); diag.CodeOf(err) != follow.ErrNotFound {
		t.Errorf("what is not there: %v", err)
	}
}

// A hint counts by the secret of a source, and who does not have one is not told what there is.
func TestHints(t *testing.T) {
	s, ctx := newService(t), t.Context()
	for _, of := range []follow.Source{{Name: "open", Address: "/srv/open"}, {Name: "hinted", Address: "/srv/hinted", Secret: "right"}} {
		of.Site = "site-" + of.Name
		if err := s.Add(ctx, root(), of, ""); err != nil {
			t.Fatal(err)
		}
	}
	var wrong []string
	for _, name := range []string{"open", "hinted", "missing"} {
		err := s.Hint(ctx, name, func(secret string) bool { return secret == "wrong" })
		if err == nil {
			t.Fatalf("%s takes a hint that is not signed", name)
		}
		wrong = append(wrong, err.Error())
	}
	if wrong[0] != wrong[1] || wrong[1] != wrong[2] {
		t.Errorf("they can be told apart: %q", wrong)
	}
	if err := s.Hint(ctx, "open", func(string) bool { return true }); err == nil {
		t.Error("a source without a secret takes hints")
	}
	if err := s.Hint(ctx, "hinted", func(secret string) bool { return secret == "right" }); err != nil {
		t.Error(err)
	}
}

func TestMistakes(t *testing.T) {
	s := newService(t)
	for name, of := range map[string]follow.Source{
		"name":         {Name: "../up", Site: "s", Address: "/srv/x"},
		"site":         {Name: "a", Address: "/srv/x"},
		"relative":     {Name: "a", Site: "s", Address: "srv/x"},
		"not clean":    {Name: "a", Site: "s", Address: "/srv/../etc"},
		"program":      {Name: "a", Site: "s", Address: "git::ext::sh -c id"},
		"plain http":   {Name: "a", Site: "s", Address: "git::http://git.example/x.git"},
		"option":       {Name: "a", Site: "s", Address: "git::https://git.example/x.git?ref=--upload-pack=id"},
		"consent":      {Name: "a", Site: "s", Address: "/srv/x", Consent: "maybe"},
		"often":        {Name: "a", Site: "s", Address: "/srv/x", Poll: 1},
		"hosts":        {Name: "a", Site: "s", Address: "/srv/x", Hosts: "web["},
		"downtime":     {Name: "a", Site: "s", Address: "/srv/x", Downtimes: []source.Downtime{{From: time.Unix(2, 0), To: time.Unix(1, 0)}}},
		"downtimes":    {Name: "a", Site: "s", Address: "/srv/x", Downtimes: slices.Repeat([]source.Downtime{{From: time.Unix(1, 0), To: time.Unix(2, 0)}}, 1001)},
		"windows":      {Name: "a", Site: "s", Address: "/srv/x", Windows: make([]site.Window, 101)},
		"signed files": {Name: "a", Site: "s", Address: "/srv/x", Signers: "ann ssh-ed25519 AAAA"},
	} {
		if err := s.Add(context.Background(), root(), of, ""); err == nil || strings.Contains(err.Error(), "UNIQUE") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
