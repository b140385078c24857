package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
)

// TestActInDialog checks what a script gets that sends the form of an act from a dialog: where it leads, with the notice left to that page, or
// why it was not done, with what was filled in.
func TestActInDialog(t *testing.T) {
	p, f := newTest(t, access.AllGrants(), map[string]any{"/v1/tokens/t1": map[string]any{}, "/v1/tokens": map[string]any{"secret": "s3cret"}})
	const at = "/enrolment/tokens/t1/revoke"
	form := url.Values{"token": {tokenOf(t, request(p, "GET", at, nil, "HX-Request", "true").Body.String())}, "reason": {"it <leaked>"}}
	w := request(p, "POST", at, form, "HX-Request", "true")
	if w.Code != http.StatusOK || w.Header().Get("HX-Redirect") != "/enrolment" || w.Body.Len() > 0 || noticeOf(w) == nil {
		t.Errorf("%d to %q, %v:\n%s", w.Code, w.Header().Get("HX-Redirect"), w.Result().Cookies(), w.Body.String())
	}
	f.answers["/v1/tokens/t1"] = &api.Problem{Status: http.StatusConflict, Detail: "it was used", Hint: "lock its host"}
	w = request(p, "POST", at, form, "HX-Request", "true")
	if body := w.Body.String(); w.Code != http.StatusConflict || strings.Contains(body, "<html") || !strings.Contains(body, `<main id="main"`) || !strings.Contains(body, `class="problem"`) || !strings.Contains(body, "it was used") || !strings.Contains(body, `value="it &lt;leaked&gt;"`) {
		t.Errorf("%d\n%s", w.Code, body)
	}
	form = url.Values{"token": form["token"], "uses": {"1"}, "hours": {"1"}}
	if w := request(p, "POST", "/enrolment/tokens/new", form, "HX-Request", "true"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "data-once") || strings.Contains(w.Body.String(), "<html") {
		t.Errorf("a secret: %d\n%s", w.Code, w.Body.String())
	}
	if w := request(p, "POST", at, form, "HX-Request", "true", "Cookie", ""); w.Code != http.StatusUnauthorized || w.Header().Get("HX-Redirect") != "/login?next="+url.QueryEscape(at) {
		t.Errorf("who is logged in no more: %d to %q", w.Code, w.Header().Get("HX-Redirect"))
	}
}

// noticeOf is the cookie of the notice that an answer leaves; nil: it leaves none.
func noticeOf(w *httptest.ResponseRecorder) *http.Cookie {
	for _, c := range w.Result().Cookies() {
		if c.Name == noticeCookie {
			return c
		}
	}
	return nil
}

// TestNotices checks that what was done is told once, on the next page.
func TestNotices(t *testing.T) {
	p, _ := newTest(t, access.AllGrants(), map[string]any{"/v1/tokens/t1": map[string]any{}})
	token := tokenOf(t, request(p, "GET", "/enrolment/tokens/t1/revoke", nil).Body.String())
	w := request(p, "POST", "/enrolment/tokens/t1/revoke", url.Values{"token": {token}})
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/enrolment" {
		t.Fatalf("%d to %q", w.Code, w.Header().Get("Location"))
	}
	c := noticeOf(w)
	w = request(p, "GET", "/enrolment", nil, "Cookie", api.SessionCookie+"=secret; "+c.Name+"="+c.Value)
	if !strings.Contains(w.Body.String(), "The token is revoked.") || noticeOf(w).MaxAge >= 0 {
		t.Errorf("the notice is not told once:\n%s", w.Body.String())
	}
	if w := request(p, "GET", "/enrolment", nil); noticeOf(w) != nil || strings.Contains(w.Body.String(), "The token is revoked.") {
		t.Error("it is told again")
	}
}

// TestNoticeText checks that a notice stays text, whole up to its limit and cut at a whole character behind it, and that a cookie which is none of the server's tells nothing.
func TestNoticeText(t *testing.T) {
	p, _ := newTest(t, access.AllGrants(), nil)
	note := func(text string) *http.Cookie {
		w := httptest.NewRecorder()
		p.newView(w, httptest.NewRequest("GET", "https://tenet.test/", nil)).note(text)
		return noticeOf(w)
	}
	shown := func(value string) (body, notice string) {
		body = request(p, "GET", "/", nil, "Cookie", api.SessionCookie+"=secret; "+noticeCookie+"="+value).Body.String()
		_, notice, _ = strings.Cut(body, `<div class="notice">`)
		notice, _, _ = strings.Cut(notice, "</div>")
		return body, notice
	}
	body, notice := shown(note("<script>alert(1)</script>\r\nSet-Cookie: a=b; \x00\"").Value)
	if strings.Contains(body, "<script>alert") || !strings.HasPrefix(notice, "&lt;script&gt;alert(1)&lt;/script&gt;") {
		t.Errorf("a hostile notice is shown as %q", notice)
	}
	whole := strings.Repeat("ä", 250)
	if _, notice := shown(note(whole).Value); notice != whole {
		t.Errorf("a notice at the limit is shown as %q", notice)
	}
	for _, long := range []string{whole + "x", "x" + whole, strings.Repeat("€", 1<<20)} {
		c := note(long)
		_, notice := shown(c.Value)
		cut, isCut := strings.CutSuffix(notice, "…")
		if !isCut || !utf8.ValidString(notice) || len(cut) < 497 || len(cut) > 500 || !strings.HasPrefix(long, cut) || len(c.Value) > 1000 {
			t.Errorf("a notice of %d bytes is shown as %q, by a cookie of %d bytes", len(long), notice, len(c.Value))
		}
	}
	for _, value := range []string{"!", "a", "PHNjcmlwdD4="} {
		if _, notice := shown(value); notice != "" {
			t.Errorf("the cookie %q is shown as %q", value, notice)
		}
	}
}

// TestCookies checks that no cookie of pages is for scripts, for other sites, or for connections without TLS.
func TestCookies(t *testing.T) {
	p, _ := newTest(t, access.AllGrants(), map[string]any{"/v1/tokens/t1": map[string]any{}})
	token := tokenOf(t, request(p, "GET", "/enrolment/tokens/t1/revoke", nil).Body.String())
	done := request(p, "POST", "/enrolment/tokens/t1/revoke", url.Values{"token": {token}})
	login := request(p, "GET", "/login", nil, "Cookie", "")
	taken := request(p, "GET", "/", nil, "Cookie", api.SessionCookie+"=secret; "+noticeCookie+"=eA")
	for name, w := range map[string]*httptest.ResponseRecorder{formCookie: login, noticeCookie: done, noticeCookie + " that is taken": taken} {
		cookies := w.Result().Cookies()
		if len(cookies) != 1 || cookies[0].Name != strings.TrimSuffix(name, " that is taken") {
			t.Errorf("%s: the cookies are %v", name, cookies)
			continue
		}
		c := cookies[0]
		if !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || !strings.HasPrefix(c.Name, "__Host-") {
			t.Errorf("%s: %s", name, c.Raw)
		}
	}
}
