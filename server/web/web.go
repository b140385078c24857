// Package web is the pages of a server, for people with a browser.
//
// The pages are one more client of the API, which they call within the process by the session of
// the browser: rights, filters, the audit and errors are those of the API, and a page can show and do
// nothing that a program could not. Each page can be read without a script, and has the same URL for
// everybody; what a script adds is that it is renewed when something happens, and faster ways to do things.
package web

import (
	"crypto/rand"
	"errors"
	"html/template"
	"io"
	"net/http"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/tenetcm/tenet/server/api"
)

// Options of the pages.
type Options struct {
	API     http.Handler     // required
	Clock   func() time.Time // nil: time.Now
	Version string           // of the server, for people
	// HasIdentity tells that people can log in by a provider of identity.
	HasIdentity bool
	// Standby tells that another server is the active one: nothing can be done here.
	Standby bool
	// OnFault is told of what went wrong inside; nil: nobody is.
	OnFault func(err error)
}

// Pages are all pages.
type Pages struct {
	o         Options
	key       []byte // of the tokens in forms
	mux       *http.ServeMux
	templates map[string]*template.Template
	assets    *assets
	times     *regexp.Regexp // what changes on a page when nothing has happened
	patience  time.Duration  // how long a browser may take to send a form; twice that to take an answer
}

// New makes the pages.
func New(o Options) (*Pages, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.OnFault == nil {
		o.OnFault = func(error) {}
	}
	p := &Pages{o: o, key: make([]byte, 32), mux: http.NewServeMux(), times: regexp.MustCompile(`(<time [^>]*>)[^<]*`), patience: 30 * time.Second}
	rand.Read(p.key)
	var err error
	if p.assets, err = loadAssets(); err != nil {
		return nil, err
	}
	if p.templates, err = p.loadTemplates(); err != nil {
		return nil, err
	}
	p.mux.Handle("GET /assets/{name}", p.assets)
	p.registerLogin()
	p.registerOverview()
	p.registerHosts()
	p.registerDeployments()
	p.registerPins()
	p.registerHost()
	p.registerRuns()
	p.registerRun()
	p.registerHostGraph()
	p.registerSites()
	p.registerSources()
	p.registerClusters()
	p.registerEnrolment()
	p.registerPeople()
	p.registerAudit()
	p.registerServer()
	p.registerAccount()
	return p, nil
}

// isOfAPI tells whether a path is one of the API.
func isOfAPI(name string) bool {
	return strings.HasPrefix(name, "/v1/") || name == "/healthz" || name == "/metrics"
}

// ServeHTTP serves the pages, and has the API serve what is its own.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A path that is not clean is nobody's, of which the API tells.
	if isOfAPI(r.URL.Path) || path.Clean(r.URL.Path) != r.URL.Path {
		p.o.API.ServeHTTP(w, r)
		return
	}
	secure(w.Header())
	if err := p.read(w, r); err != nil {
		v := p.newView(w, r)
		_ = v.recognize()
		v.fail(err)
		return
	}
	if _, pattern := p.mux.Handler(r); pattern == "" {
		v := p.newView(w, r)
		_ = v.recognize() // who has not logged in is told the same, and nothing else
		v.fail(&api.Problem{Status: http.StatusNotFound, Title: "Not found", Detail: "There is no such page.", Hint: "Follow one of the links at the side."})
		return
	}
	p.mux.ServeHTTP(w, r)
}

// read reads a form, as far as that is sent in time. What the API does for it may take as long as the API lets it: while it works
// there is no deadline, which would end the request.
func (p *Pages) read(w http.ResponseWriter, r *http.Request) error {
	p.expectAnswer(w)
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(p.patience)) // not every writer can do this
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	var err error
	if r.Method == http.MethodPost {
		err = r.ParseForm()
	}
	if _, rest := io.Copy(io.Discard, r.Body); err != nil || rest != nil { // the deadline stays for what still comes
		return &api.Problem{Status: http.StatusBadRequest, Title: "Bad request", Detail: "The form cannot be read.", Hint: "Load the page anew, and send it again."}
	}
	_ = control.SetReadDeadline(time.Time{})
	return nil
}

// expectAnswer gives a browser its time to take what is written from now on.
func (p *Pages) expectAnswer(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(2 * p.patience)) // not every writer can do this
}

// maxForm is how many bytes a form may have.
const maxForm = 1 << 20

// secure says to browsers what pages may do: load what is the server's own, and nothing else.
func secure(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Strict-Transport-Security", "max-age=31536000")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
}

// page is what a handler gives to be shown.
type page struct {
	Template string // its file, without the ending
	Title    string
	Section  string // of the navigation
	Status   int    // 0: 200
	Data     any
	// Live are the types of events after which the page is renewed; LiveHost, an id, and LiveSite restrict them to those about one.
	Live               []string
	LiveHost, LiveSite string
	// Plan is the digest of the plan to which the person may consent here.
	Plan string
}

// show registers a page.
func (p *Pages) show(pattern string, f func(*view) (*page, error)) {
	p.mux.HandleFunc("GET "+pattern, p.serve(f))
}

// answer registers a page that a form of another page is sent for: it has what was asked for by the form, which nothing keeps.
func (p *Pages) answer(pattern string, f func(*view) (*page, error)) {
	p.mux.HandleFunc("POST "+pattern, p.serve(func(v *view) (*page, error) {
		if err := v.parse(); err != nil {
			return nil, err
		}
		return f(v)
	}))
}

// serve makes a page for who has logged in.
func (p *Pages) serve(f func(*view) (*page, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := p.newView(w, r)
		if !v.open() {
			return
		}
		shown, err := f(v)
		if err != nil {
			v.fail(err)
			return
		}
		v.render(shown)
	}
}

// fail shows why there is no page. Who has not logged in does so first.
func (v *view) fail(err error) {
	var problem *api.Problem
	if !errors.As(err, &problem) {
		v.o.OnFault(err)
		problem = &api.Problem{Status: http.StatusInternalServerError, Title: "A fault of the server", Detail: "Something went wrong within the server.", Hint: "Its log says what. Try again."}
	}
	if problem.Status == http.StatusUnauthorized {
		v.askLogin()
		return
	}
	v.render(&page{Template: "problem", Title: problem.Title, Status: problem.Status, Data: problem})
}
