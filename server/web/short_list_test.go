package web

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
)

// manyOf are more items of a list than a page shows.
func manyOf(make func(name string) any) map[string]any {
	var items []any
	for i := range maxListed + 34 {
		items = append(items, make(fmt.Sprintf("item%03d", i)))
	}
	return list(items...)
}

// longAnswers are those of an API all of whose lists are longer than a page shows.
func longAnswers() map[string]any {
	grants := func(name string) []any {
		return []any{map[string]any{"verb": "read", "hosts": name, "site": "shop", "source": "grant"}}
	}
	may := []any{}
	for i := range maxListed + 34 {
		may = append(may, grants(fmt.Sprintf("item%03d", i))[0])
	}
	answers := siteAnswers()
	for path, answer := range map[string]any{
		"/v1/tokens": manyOf(func(name string) any {
			return map[string]any{"id": name, "uses": 5, "names": "*", "expires_at": noon().AddDate(1, 0, 0), "made_by": "ada"}
		}),
		"/v1/sites/shop/pins": manyOf(func(name string) any { return pinOf(name, "2") }),
		"/v1/roles":           manyOf(func(name string) any { return map[string]any{"name": name, "grants": grants("web*")} }),
		"/v1/programs":        manyOf(func(name string) any { return map[string]any{"id": name, "name": name, "grants": grants("web*")} }),
		"/v1/sources":         manyOf(func(name string) any { return api.Source{Name: name, Site: "shop", Phase: "installed"} }),
		"/v1/people":          map[string]any{"items": []any{map[string]any{"name": "ada"}}, "next": "c2"},
		"/v1/people/ada":      map[string]any{"name": "ada", "may": may}, "/v1/grants": list(may...), "/v1/sessions": list(), "/v1/session/all": list(),
	} {
		answers[path] = answer
	}
	return answers
}

// TestLongLists checks that a page shows the first of a list, says how many there are, and finds the others by words, however they are written.
func TestLongLists(t *testing.T) {
	p, _ := newTest(t, access.AllGrants(), longAnswers())
	for _, c := range []struct{ path, name string }{{"/enrolment", "tokens"}, {"/sites/shop", "pins"}, {"/people", "roles"}, {"/people", "programs"}, {"/people/ada", "grants"}, {"/account", "grants"}, {"/account", "programs"}, {"/sources", "sources"}} {
		at := func(words string) string {
			body := request(p, "GET", link(c.path, c.name, words), nil).Body.String()
			_, part, found := strings.Cut(body, `id="list-`+c.name+`"`)
			if !found || !strings.Contains(body, `<input type="search" name="`+c.name+`" value="`) {
				t.Fatalf("%s has no filter and no list of %s:\n%s", c.path, c.name, body)
			}
			part, _, _ = strings.Cut(part, `type="search"`)
			return part
		}
		first := at("")
		if !strings.Contains(first, "200 of 234 are shown: the others are found by words.") || !strings.Contains(first, "item199") || strings.Contains(first, "item200") {
			t.Errorf("%s does not say how many %s there are:\n%s", c.path, c.name, first)
		}
		if found := at("ITEM2 33"); !strings.Contains(found, "item233") || strings.Contains(found, "item200") || strings.Contains(found, "are shown") {
			t.Errorf("%s does not find %s by words:\n%s", c.path, c.name, found)
		}
		if none := at(`<i>"`); !strings.Contains(none, "Nothing fits") || !strings.Contains(none, `href="`+c.path+`"`) || strings.Contains(none, "<i>") {
			t.Errorf("%s, where no %s fit:\n%s", c.path, c.name, none)
		}
	}
}

// TestListFilters checks that filters of several lists of a page stay, also on its next page, and that a short list has none.
func TestListFilters(t *testing.T) {
	p, f := newTest(t, access.AllGrants(), longAnswers())
	body := request(p, "GET", "/people?roles=item001&programs=item002&cursor=c1", nil).Body.String()
	for _, wanted := range []string{`<input type="hidden" name="roles" value="item001">`, `<input type="hidden" name="programs" value="item002">`, `<input type="hidden" name="cursor" value="c1">`, `href="/people?cursor=c2&amp;programs=item002&amp;roles=item001"`} {
		if !strings.Contains(body, wanted) {
			t.Errorf("the page lacks %q:\n%s", wanted, body)
		}
	}
	f.answers["/v1/sources"] = list(api.Source{Name: "main"})
	if body := request(p, "GET", "/sources", nil).Body.String(); strings.Contains(body, `type="search"`) || strings.Contains(body, "are shown") {
		t.Error("a short list has a filter")
	}
	// All that are pinned are unpinned together, whatever the list shows.
	if body := request(p, "GET", "/sites/shop?pins=item001", nil).Body.String(); !strings.Contains(body, "/sites/shop/unpin?hosts="+url.QueryEscape("*")) {
		t.Error("unpinning all does not mean all")
	}
	f.answers["/v1/sites/shop/pins"] = list(pinOf("web1", "2"), pinOf("web2", "2"))
	if body := request(p, "GET", "/sites/shop?pins=web1", nil).Body.String(); !strings.Contains(body, "/sites/shop/unpin?hosts=web1%2Cweb2") {
		t.Error("unpinning all means what is shown")
	}
}
