package moduletest_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/tenetcm/tenet/modules/http"
	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

const httpSite = "http://example.test"

func newHTTPHost(t *testing.T) host.Host {
	h := fake.Host(t)
	fake.Network(h, []fake.Answer{
		{URL: httpSite + "/ok", Body: "all is well\n", Header: map[string]string{"X-Version": "3"}},
		{URL: httpSite + "/made", Method: "POST", Status: 201, Body: `{"id": 1}`},
		{URL: httpSite + "/made", Status: 404, Body: "no such thing\n"},
		{URL: httpSite + "/moved", Status: 302, Header: map[string]string{"Location": "http://other.test/x?token=1"}},
		{URL: httpSite + "/bytes", Body: "\xff\x00"},
	})
	return h
}

func observed(name string, want any) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, _ host.Host, out map[string]any) {
		if out[name] != want {
			t.Errorf("%s is %v, want %v", name, out[name], want)
		}
	}
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	ok := map[string]any{"url": httpSite + "/ok"}
	with := func(more map[string]any) map[string]any {
		values := map[string]any{"url": httpSite + "/ok"}
		for k, v := range more {
			values[k] = v
		}
		return values
	}
	statestest.Run(t, statestest.Suite{
		Module: http.Module, Host: newHTTPHost,
		Hostile: map[string]any{"url": httpSite + "/ok", "headers": map[string]string{"Accept": "*/*"}},
		Cases: []statestest.Case{
			{Name: "reads", Values: ok, Check: observed("body", "all is well\n")},
			{
				Name: "as expected", Values: with(map[string]any{"expect": []string{"404", "2xx"}, "matches": "^all"}),
				Check: func(t *testing.T, _ host.Host, out map[string]any) {
					if fields, _ := out["answer_headers"].(map[string]any); fields["x-version"] != "3" {
						t.Errorf("the fields are %v", out["answer_headers"])
					}
				},
			},
			{Name: "sends", Values: map[string]any{"url": httpSite + "/made", "method": "POST", "json": map[string]any{"a": "b"}, "expect": []string{"201"}},
				Acts: true, Repeats: true, Check: observed("body", `{"id": 1}`)},
			{Name: "sends to ask", Values: map[string]any{"url": httpSite + "/made", "method": "POST", "send": "x", "plan": true}},
			{Name: "bytes are no text", Values: map[string]any{"url": httpSite + "/bytes"}, Check: observed("body", nil)},
			{Name: "another status", Values: map[string]any{"url": httpSite + "/made"}, Fails: "GET http://example.test/made was answered by status 404, not 2xx:\nno such thing"},
			{Name: "another text", Values: with(map[string]any{"matches": "ill"}), Fails: `does not match "ill":` + "\nall is well"},
			{Name: "elsewhere", Values: map[string]any{"url": httpSite + "/moved", "expect": []string{"200", "204"}}, Fails: "status 302, not 200 or 204: it leads to http://other.test/x"},
			{Name: "nobody there", Values: map[string]any{"url": "http://none.test/?token=secret"}, Fails: "the simulated network has nobody there"},
			{Name: "no certificates", Values: with(map[string]any{"ca": "/etc/none.pem"}), Fails: "the trusted certificates"},
			{Name: "no URL", Values: map[string]any{}, Wrong: "required"},
			{Name: "another scheme", Values: map[string]any{"url": "file:///etc/passwd"}, Wrong: "no URL of http or https"},
			{Name: "a blank", Values: map[string]any{"url": httpSite + "/a b"}, Wrong: "is no URL"},
			{Name: "a password", Values: map[string]any{"url": "http://a:b@example.test/"}, Wrong: "password in it is refused"},
			{Name: "two lines", Values: with(map[string]any{"headers": map[string]string{"A": "b\r\nC: d"}}), Wrong: "line break"},
			{Name: "no field", Values: with(map[string]any{"headers": map[string]string{"A B": "c"}}), Wrong: "no name of a field"},
			{Name: "its own field", Values: with(map[string]any{"headers": map[string]string{"content-length": "1"}}), Wrong: "made from the request"},
			{Name: "two bodies", Values: with(map[string]any{"send": "x", "json": map[string]any{}}), Wrong: "beside send"},
			{Name: "no status", Values: with(map[string]any{"expect": []string{"ok"}}), Wrong: "is no status"},
			{Name: "no statuses", Values: with(map[string]any{"expect": []string{}}), Wrong: "no status would be right"},
			{Name: "no pattern", Values: with(map[string]any{"matches": "("}), Wrong: "missing closing"},
			{Name: "method", Values: with(map[string]any{"method": "get"}), Wrong: "is none of"},
		},
	})
}

// broken loses the answer to all that is sent.
type broken struct{}

func (broken) Fetch(context.Context, host.Request) (*host.Response, error) {
	return nil, &host.NetworkError{What: httpSite, Why: "the connection was reset", Err: io.ErrUnexpectedEOF}
}

func (broken) Dial(context.Context, string, string) (io.ReadWriteCloser, error) {
	return nil, errors.New("not asked")
}

// Of a request whose answer got lost nobody knows whether it was carried out; one
// that only reads can be made again.
func TestHTTPLostAnswer(t *testing.T) {
	t.Parallel()
	h := fake.Host(t)
	h.SetNetwork(broken{})
	for method, unknown := range map[string]bool{"GET": false, "POST": true} {
		want, err := http.Module.Decode(map[string]any{"url": httpSite, "method": method}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if changed, _, err := http.Module.Act(t.Context(), h, want); changed || err == nil || errors.Is(err, states.ErrUnknown) != unknown {
			t.Errorf("%s: changed %v, error %v", method, changed, err)
		}
	}
}
