package access_test

import (
	"context"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/sqlite"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { rapidtest.Main(m, "2000") }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t testing.TB, err error, code string) {
	t.Helper()
	if err == nil || diag.CodeOf(err) != code {
		t.Fatalf("got the error %v with the code %q, want %q", err, diag.CodeOf(err), code)
	}
}

func open(t testing.TB) *store.Store {
	t.Helper()
	e, err := sqlite.Open(context.Background(), t.TempDir())
	must(t, err)
	s, err := store.New(context.Background(), e, store.Options{Migrations: access.Migrations()})
	must(t, err)
	t.Cleanup(func() { s.Close() })
	_, err = s.Campaign(context.Background())
	must(t, err)
	return s
}

func selector(t testing.TB, text string) access.Selector {
	t.Helper()
	s, err := access.ParseSelector(text)
	must(t, err)
	return s
}

func grant(t testing.TB, verb access.Verb, hosts, site string) access.Grant {
	t.Helper()
	g := access.Grant{Verb: verb, Hosts: selector(t, hosts), Site: site}
	must(t, g.Check())
	return g
}

func TestSelector(t *testing.T) {
	web := access.Target{Name: "web1", Labels: map[string]string{"env": "prod", "path": "a/b"}}
	for text, want := range map[string]bool{
		"*": true, "web1": true, "web*": true, "web[0-9]": true, "db*": false, "db1,web1": true, "web": false, "WEB1": false,
		"env=prod": true, "env=p*": true, "env=test": false, "other=prod": false, "env=": false,
		"web*,!web1": false, "!web1": false, "!web2": true, "*,!env=prod": false, "!env=test": true,
		"path=a*": true, "*,!path=*": false, " web1 , db1 ": true,
	} {
		if got := selector(t, text).Matches(web); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if (access.Selector{}).Matches(web) {
		t.Error("a selector without terms names a host")
	}
	if selector(t, "*").Matches(access.Target{}) {
		t.Error("a host without a name is named")
	}
}

func TestSelectorErrors(t *testing.T) {
	for text, want := range map[string]string{
		"": "character 1: a term is empty", "web1,": "character 6: a term is empty", "a,, b": "character 3: a term is empty",
		"ä1,  web[": "character 6: a bracket", "!": "character 1: a term is empty", "!!a": "character 1: \"!a\" has a character",
		"a b": "character 1: \"a b\" has", "=x": "character 1: \"\" is no name of a label", "a,b\x1b[0m": "character 3: ", "a\xff": "character 1: ",
		strings.Repeat("a,", 200): "at most 100 terms", strings.Repeat("a", 5000): "and 4096 bytes",
	} {
		_, err := access.ParseSelector(text)
		wantCode(t, err, access.CodeInvalid)
		if !strings.Contains(err.Error(), want) || diag.HintOf(err) == "" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzSelector(f *testing.F) {
	for _, text := range []string{"*", "web*,!env=prod", "a=[b-c]", "!a\\b", ",", "=", "!=x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := access.ParseSelector(text)
		if err != nil {
			return
		}
		again, err := access.ParseSelector(s.String())
		if err != nil || again.String() != s.String() {
			t.Fatalf("%q becomes %q: %v", text, s, err)
		}
		s.Matches(access.Target{Name: text, Labels: map[string]string{"a": text}})
	})
}

func TestMay(t *testing.T) {
	web, db := access.Target{Name: "web1"}, access.Target{Name: "db1"}
	c := access.Caller{Name: "alice", Kind: access.Person, Grants: []access.Grant{grant(t, access.Deploy, "web*", "shop"), grant(t, access.Read, "*", "shop")}}
	for _, test := range []struct {
		verb access.Verb
		host access.Target
		site string
		want bool
	}{
		{access.Deploy, web, "shop", true}, {access.Deploy, db, "shop", false}, {access.Deploy, web, "other", false}, {access.Deploy, web, "", false},
		{access.Approve, web, "shop", false}, {access.Read, db, "shop", true}, {access.Read, db, "", true}, {access.Read, db, "other", false},
		{access.Deploy, web, "*", false},
	} {
		if got := c.May(test.verb, test.host, test.site); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
	if c.MayEverywhere(access.Read) || !c.MaySomewhere(access.Deploy) || c.MaySomewhere(access.Exec) || !c.MaySite(access.Deploy, "shop") || c.MaySite(access.Deploy, "x") {
		t.Error("somewhere and everywhere")
	}
	wantCode(t, c.Demand(access.Exec, web, "shop"), access.CodeForbidden)
	if err := c.Demand(access.Deploy, db, "shop"); err == nil || !strings.Contains(err.Error(), db.Name) {
		t.Errorf("of a host that one may see: %v", err)
	}
	if err := c.Demand(access.Deploy, db, "other"); err == nil || strings.Contains(err.Error(), db.Name) {
		t.Errorf("of a host that one may not see: %v", err)
	}
	wantCode(t, c.DemandEverywhere(access.Admin), access.CodeForbidden)
	all := access.Caller{Grants: access.AllGrants()}
	for _, verb := range access.Verbs() {
		must(t, all.DemandEverywhere(verb))
		must(t, all.Demand(verb, web, "any"))
	}
}

// Who has asked does not approve, by no program of theirs either.
func TestApproval(t *testing.T) {
	for _, names := range [][2]string{{"alice", "alice"}, {"alice/ci", "alice"}, {"alice", "alice/ci"}, {"alice/a", "alice/b"}, {"", "alice"}, {"alice", ""}, {"", ""}} {
		wantCode(t, access.CheckApproval(&access.Caller{Name: names[0]}, names[1]), access.CodeSamePerson)
	}
	must(t, access.CheckApproval(&access.Caller{Name: "bob"}, "alice/ci"))
}

func drawSelector(t *rapid.T, label string) access.Selector {
	term := rapid.SampledFrom([]string{"*", "a", "ab", "b", "a*", "?", "[ab]", "x=*", "x=1", "x=[12]", "!a", "!b*", "!x=1", "!x=*", "!*"})
	s, err := access.ParseSelector(strings.Join(rapid.SliceOfN(term, 1, 4).Draw(t, label), ","))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Whatever is covered names no host that what covers it does not name.
func TestCovers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		held, wanted := drawSelector(t, "held"), drawSelector(t, "wanted")
		if !access.Covers([]access.Grant{{Verb: access.Exec, Hosts: held, Site: access.All}}, []access.Grant{{Verb: access.Exec, Hosts: wanted, Site: "s"}}) {
			return
		}
		for _, name := range []string{"a", "b", "ab", "ba", "c", "1"} {
			for _, labels := range []map[string]string{nil, {"x": "1"}, {"x": "2"}, {"x": "a/b"}} {
				host := access.Target{Name: name, Labels: labels}
				if wanted.Matches(host) && !held.Matches(host) {
					t.Fatalf("%q covers %q, and does not name %v", held, wanted, host)
				}
			}
		}
	})
}

// An act is about hosts to which the caller may do it, refused for those that are seen, and tells nothing of others.
func TestChoose(t *testing.T) {
	c := access.Caller{Grants: []access.Grant{grant(t, access.Deploy, "web*", "shop"), grant(t, access.Read, "db*", "shop")}}
	for _, test := range []struct {
		selector, host string
		is             bool
		says           string
	}{
		{"*", "web1", true, ""}, {"web1", "web1", true, ""}, {"web1", "web2", false, ""}, {"*", "db1", false, `"db1"`}, {"*,!db1", "db1", false, ""},
		{"web*", "db1", false, ""}, {"*", "secret1", false, ""}, {"secret1", "secret1", false, ""},
	} {
		is, err := c.Choose(access.Deploy, selector(t, test.selector), access.Target{Name: test.host}, "shop")
		if is != test.is || (err != nil) != (test.says != "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%+v: %v, %v", test, is, err)
		}
	}
	if is, err := c.Choose(access.Deploy, selector(t, "*"), access.Target{Name: "web1"}, "other"); is || err != nil {
		t.Errorf("of another site: %v, %v", is, err)
	}
}

func TestCoversWhatIsPlain(t *testing.T) {
	for _, test := range []struct {
		held, wanted string
		want         bool
	}{
		{"*", "web*", true}, {"web*", "web1", true}, {"web*", "*", false}, {"web*", "web*,!web1", true}, {"web*,!web1", "web*", false},
		{"web*,!web1", "web2", true}, {"web*,!web1", "web1", false}, {"env=prod", "env=prod", true}, {"env=prod", "web1", false},
		{"*", "!web1", true}, {"!web1", "!web1", true}, {"!web1", "*", false}, {"*,!env=prod", "web1", false}, {"web1,web2", "web2,web1", true},
	} {
		held, wanted := grant(t, access.Exec, test.held, "*"), grant(t, access.Exec, test.wanted, "*")
		if got := access.Covers([]access.Grant{held}, []access.Grant{wanted}); got != test.want {
			t.Errorf("%q covers %q: %v", test.held, test.wanted, got)
		}
	}
	if access.Covers([]access.Grant{grant(t, access.Exec, "*", "shop")}, []access.Grant{grant(t, access.Exec, "*", "*")}) ||
		access.Covers([]access.Grant{grant(t, access.Exec, "*", "*")}, []access.Grant{grant(t, access.Deploy, "*", "*")}) {
		t.Error("sites or verbs are not compared")
	}
}
