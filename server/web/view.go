package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
)

// view is one request, and what is known of who makes it.
type view struct {
	*Pages
	w       http.ResponseWriter
	r       *http.Request
	begin   time.Time
	session *api.Session // nil: nobody has logged in
	caller  *access.Caller
}

func (p *Pages) newView(w http.ResponseWriter, r *http.Request) *view {
	return &view{Pages: p, w: w, r: r, begin: time.Now()}
}

// open finds out who asks; false: the answer was given.
func (v *view) open() bool {
	if err := v.recognize(); err != nil {
		v.fail(err)
		return false
	}
	return true
}

// recognize asks the API whose session this is.
func (v *view) recognize() error {
	session, err := get[api.Session](v, "/v1/session", nil)
	if err != nil {
		return err
	}
	v.session = &session
	v.caller = &access.Caller{Name: session.Name, Kind: session.Kind, Grants: session.Grants, ID: session.ID}
	return nil
}

// askLogin sends a browser to where one logs in, and back afterwards.
func (v *view) askLogin() {
	target := "/login"
	if v.r.URL.Path != "/" && v.r.URL.Path != "/logout" { // an act has a page at its path
		target += "?next=" + url.QueryEscape(v.r.URL.RequestURI())
	}
	if v.isPart() { // a part of a page cannot show where one logs in
		v.expectAnswer(v.w)
		v.w.Header().Set("HX-Redirect", target)
		v.w.WriteHeader(http.StatusUnauthorized)
		return
	}
	v.redirect(target)
}

// redirect has no text, which would repeat the address.
func (v *view) redirect(target string) {
	v.expectAnswer(v.w)
	v.w.Header().Set("Location", target)
	v.w.WriteHeader(http.StatusSeeOther)
}

// isPart tells whether only what is within the frame is asked for.
func (v *view) isPart() bool { return v.r.Header.Get("HX-Request") != "" }

// frame is what templates work with.
type frame struct {
	*page
	view *view
	Main template.HTML // what is within the frame
	Tag  string        // names it
}

// Path is where the page is, with its filters.
func (f *frame) Path() string { return f.view.r.URL.RequestURI() }

// Version is that of the server.
func (f *frame) Version() string { return f.view.o.Version }

// Standby tells whether nothing can be done here.
func (f *frame) Standby() bool { return f.view.o.Standby }

// Person is who has logged in; empty: nobody.
func (f *frame) Person() string {
	if f.view.session == nil {
		return ""
	}
	return f.view.session.Name
}

// Token is for forms.
func (f *frame) Token() string { return f.view.token() }

// Notice is what the act before has come to.
func (f *frame) Notice() string { return f.view.takeNotice() }

// CanAct tells whether anything can be done here: where another server is the active one, things can be read alone.
func (f *frame) CanAct() bool { return f.view.caller != nil && !f.view.o.Standby }

// Sees tells whether the person has a grant for any host and site, whether or not anything can be done by it here.
func (f *frame) Sees(verb string) bool {
	return f.view.caller != nil && f.view.caller.MaySomewhere(access.Verb(verb))
}

// Administers tells whether the person sees what is for those alone who administer the server.
func (f *frame) Administers() bool {
	return f.view.caller != nil && f.view.caller.MayEverywhere(access.Admin)
}

// May tells whether the person may do something to any host for any site.
func (f *frame) May(verb string) bool {
	return f.CanAct() && f.view.caller.MaySomewhere(access.Verb(verb))
}

// MayEverywhere tells whether the person may do something to all hosts and sites.
func (f *frame) MayEverywhere(verb string) bool {
	return f.CanAct() && f.view.caller.MayEverywhere(access.Verb(verb))
}

// MayHost tells whether the person may do something to a host, whatever the site is.
func (f *frame) MayHost(verb, name string, labels map[string]string) bool {
	return f.CanAct() && f.view.caller.May(access.Verb(verb), access.Target{Name: name, Labels: labels}, "")
}

// MayHostSite tells whether the person may do something to a host for a site.
func (f *frame) MayHostSite(verb, name string, labels map[string]string, site string) bool {
	return f.CanAct() && f.view.caller.May(access.Verb(verb), access.Target{Name: name, Labels: labels}, site)
}

// MaySite tells whether the person may do something for a site.
func (f *frame) MaySite(verb, site string) bool {
	return f.CanAct() && f.view.caller.MaySite(access.Verb(verb), site)
}

// render shows a page, or what is within its frame.
func (v *view) render(p *page) {
	f := &frame{page: p, view: v}
	t, known := v.templates[p.Template]
	if !known {
		v.giveUp(fmt.Errorf("there is no template %q", p.Template))
		return
	}
	var main, out bytes.Buffer
	if err := t.ExecuteTemplate(&main, "content", f); err != nil {
		v.giveUp(err)
		return
	}
	f.Tag, f.Main = v.tagOf(main.Bytes()), template.HTML(main.String())
	v.expectAnswer(v.w)
	// What a page that is open costs stays below a hundredth of a core, with what is not measured here, also where nothing has come of it.
	v.w.Header().Set("Refresh-Wait", strconv.FormatInt((200*time.Since(v.begin)).Milliseconds(), 10))
	if v.r.Header.Get("If-None-Match") == f.Tag && p.Status == 0 {
		v.w.WriteHeader(http.StatusNotModified)
		return
	}
	name := "frame"
	if v.isPart() {
		name = "main"
	}
	if err := t.ExecuteTemplate(&out, name, f); err != nil {
		v.giveUp(err)
		return
	}
	h := v.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("ETag", f.Tag)
	h.Set("Vary", "HX-Request")
	if p.Status != 0 {
		v.w.WriteHeader(p.Status)
	}
	_, _ = out.WriteTo(v.w) // who does not read it gets none
}

// giveUp tells of a fault where not even a page can be shown.
func (v *view) giveUp(err error) {
	v.o.OnFault(err)
	v.expectAnswer(v.w)
	http.Error(v.w, "a fault of the server", http.StatusInternalServerError)
}

// tagOf names what a page says, whenever it says it: times as people say them go on by themselves.
func (p *Pages) tagOf(main []byte) string {
	sum := sha256.Sum256(p.times.ReplaceAll(main, []byte("$1")))
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}
