package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
)

// TestFaultsOfTheAPI checks that what the API could not tell of a host is not shown as how the host stands, and that what is not for a
// person, or not on this server, is left out.
func TestFaultsOfTheAPI(t *testing.T) {
	at := "/v1/hosts/" + hostID
	for _, path := range []string{at + "/status", "/v1/sites/shop/pins", "/v1/clusters?host=web7&parts=none", at + "/runs/0008/lines"} {
		for status, wanted := range map[int]int{http.StatusServiceUnavailable: http.StatusServiceUnavailable, http.StatusTooManyRequests: http.StatusTooManyRequests,
			http.StatusForbidden: http.StatusOK, http.StatusNotFound: http.StatusOK, http.StatusNotImplemented: http.StatusOK} {
			p, f := newHost(t, access.AllGrants())
			f.answers[path] = &api.Problem{Status: status, Title: "Problem", Detail: "the API says why"}
			w := request(p, "GET", "/hosts/web7", nil)
			if body := w.Body.String(); w.Code != wanted || strings.Contains(body, "the API says why") != (wanted != http.StatusOK) {
				t.Errorf("%s answers %d: the page is %d\n%s", path, status, w.Code, body)
			}
		}
	}
}

// TestQuestionAboutUnknownHost checks that "no" for a host that one does not see is told to be one for a host without labels.
func TestQuestionAboutUnknownHost(t *testing.T) {
	p, f := newHost(t, access.AllGrants())
	f.answers["/v1/people/eve"], f.answers["/v1/sessions"] = api.Person{}, list()
	const unknown = "as of one without labels"
	if body := has(t, p, "/people/eve?verb=read&host=web9", unknown); !strings.Contains(body, "no</span>") {
		t.Errorf("the answer is not there:\n%s", body)
	}
	if body := has(t, p, "/people/eve?verb=read&host=web7"); strings.Contains(body, unknown) {
		t.Error("a host that one sees counts as unknown")
	}
	f.answers["/v1/hosts/web9"] = &api.Problem{Status: http.StatusServiceUnavailable, Detail: "not now"}
	if w := request(p, "GET", "/people/eve?verb=read&host=web9", nil); w.Code != http.StatusServiceUnavailable {
		t.Errorf("a fault is answered by %d", w.Code)
	}
}
