package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
)

// TestSlowAPI checks that a page waits for what the API does, longer than a browser may take to send its form.
func TestSlowAPI(t *testing.T) {
	p, f := newTest(t, access.AllGrants(), map[string]any{"/v1/audit/verify": access.Head{N: 7}})
	token := tokenOf(t, request(p, "GET", "/audit/verify", nil).Body.String())
	p.patience = 200 * time.Millisecond
	p.o.API = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/hosts" || r.Method == http.MethodPost {
			select {
			case <-r.Context().Done():
				t.Errorf("%s %s: %v", r.Method, r.URL.Path, context.Cause(r.Context()))
			case <-time.After(3 * p.patience):
			}
		}
		f.ServeHTTP(w, r)
	})
	server := httptest.NewServer(p)
	defer server.Close()
	client := server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, c := range []struct {
		method, path string
		form         url.Values
		status       int
	}{{"GET", "/hosts", nil, http.StatusOK}, {"POST", "/audit/verify", url.Values{"token": {token}}, http.StatusSeeOther}} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, server.URL+c.path, strings.NewReader(c.form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.AddCookie(&http.Cookie{Name: api.SessionCookie, Value: "secret"})
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != c.status {
			t.Errorf("%s %s: %d, %v\n%s", c.method, c.path, answer.StatusCode, err, body)
		}
	}
}

// deadlineNotes is a writer that notes what deadlines are set, and whether there was time to write.
type deadlineNotes struct {
	*httptest.ResponseRecorder
	read  []time.Time
	write time.Time
	late  bool // something was written after the deadline
}

func (d *deadlineNotes) SetReadDeadline(at time.Time) error {
	d.read = append(d.read, at)
	return nil
}

func (d *deadlineNotes) SetWriteDeadline(at time.Time) error {
	d.write = at
	return nil
}

func (d *deadlineNotes) WriteHeader(status int) {
	d.late = d.late || !time.Now().Before(d.write)
	d.ResponseRecorder.WriteHeader(status)
}

func (d *deadlineNotes) Write(data []byte) (int, error) {
	d.late = d.late || !time.Now().Before(d.write)
	return d.ResponseRecorder.Write(data)
}

// slowBody is a form of which nothing comes.
type slowBody struct{}

func (slowBody) Read([]byte) (int, error) { return 0, errors.New("i/o timeout") }

// TestDeadlines checks that who sends nothing and who takes nothing is not waited for, and that the time for an answer begins with it.
func TestDeadlines(t *testing.T) {
	p, f := newTest(t, access.AllGrants(), nil)
	p.patience = 20 * time.Millisecond
	p.o.API = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(5 * p.patience)
		f.ServeHTTP(w, r)
	})
	for _, c := range []struct {
		method, path string
		body         io.Reader
		status       int
		isRead       bool // the form was
	}{
		{"GET", "/hosts", http.NoBody, http.StatusOK, true}, {"GET", "/nowhere", http.NoBody, http.StatusNotFound, true}, {"POST", "/hosts/web1/hold", strings.NewReader("token=x"), http.StatusForbidden, true},
		{"GET", "/hosts", slowBody{}, http.StatusBadRequest, false}, {"POST", "/audit/verify", slowBody{}, http.StatusBadRequest, false},
		{"POST", "/audit/verify", strings.NewReader("reason=" + strings.Repeat("x", maxForm)), http.StatusBadRequest, false},
	} {
		w := &deadlineNotes{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequest(c.method, "https://tenet.test"+c.path, c.body)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.AddCookie(&http.Cookie{Name: api.SessionCookie, Value: "secret"})
		begin := time.Now()
		p.ServeHTTP(w, r)
		if len(w.read) == 0 || w.read[0].IsZero() || w.read[0].After(begin.Add(time.Minute)) || w.read[len(w.read)-1].IsZero() != c.isRead {
			t.Errorf("%s %s has the deadlines %v to be read", c.method, c.path, w.read)
		}
		if w.Code != c.status || w.late || w.write.After(time.Now().Add(time.Minute)) {
			t.Errorf("%s %s: %d, with the deadline %v: late %t\n%s", c.method, c.path, w.Code, w.write, w.late, w.Body)
		}
	}
}
