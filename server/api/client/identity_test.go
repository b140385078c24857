package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"testing"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/api/client"
)

// browse does what a browser does with the URL of a login, and gives where the server sends it in
// the end: to the program that has begun.
func (w *world) browse(address string) (*url.URL, error) {
	code, state := w.provider.Visit(address)
	h := *w.server.Client()
	h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, err := h.Get(w.server.URL + api.IdentityCallback + "?" + url.Values{"code": {code}, "state": {state}}.Encode())
	if err != nil {
		return nil, err
	}
	return answer.Location()
}

func visit(address string) (status int, err error) {
	answer, err := http.Get(address)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

func TestLoginByIdentity(t *testing.T) {
	ctx, w, dir := context.Background(), start(t), t.TempDir()
	must(t, w.people.PutRole(ctx, w.root, access.Role{Name: "ops", Groups: []string{"ops"}, Grants: access.AllGrants()[:1]}, ""))
	w.provider.Set(map[string]any{"sub": "s1", "preferred_username": "bob", "groups": []string{"ops"}}, nil)
	with := client.Credentials{URL: w.server.URL, Authority: w.authority()}
	c, err := client.LoginByIdentity(ctx, dir, with, func(address string) error {
		back, err := w.browse(address)
		if err != nil {
			return err
		}
		// Who does not know the path, or has no code, ends no login.
		other := *back
		other.Path = "/"
		for text, want := range map[string]int{other.String(): 404, back.Scheme + "://" + back.Host + back.Path: 400, back.String(): 200} {
			if status, err := visit(text); err != nil || status != want {
				t.Error(text, status, err)
			}
		}
		return nil
	})
	if err != nil || c.Saved().Person != "bob" {
		t.Fatal(c, err)
	}
	again, err := client.Open(dir)
	must(t, err)
	s, err := again.Session(ctx)
	if err != nil || s.Name != "bob" {
		t.Error(s, err)
	}
}

// A code of somebody else's login is of no use: the browser of a victim cannot be made to log the program in as another one.
func TestForeignCode(t *testing.T) {
	ctx, w := context.Background(), start(t)
	must(t, w.people.PutRole(ctx, w.root, access.Role{Name: "ops", Groups: []string{"ops"}, Grants: access.AllGrants()[:1]}, ""))
	w.provider.Set(map[string]any{"sub": "s1", "preferred_username": "bob", "groups": []string{"ops"}}, nil)
	with := client.Credentials{URL: w.server.URL, Authority: w.authority()}
	var foreign string
	stop := errors.New("stop")
	_, err := client.LoginByIdentity(ctx, t.TempDir(), with, func(address string) error {
		back, err := w.browse(address)
		must(t, err)
		foreign = back.Query().Get("code")
		return stop
	})
	if !errors.Is(err, stop) {
		t.Fatal(err)
	}
	_, err = client.LoginByIdentity(ctx, t.TempDir(), with, func(address string) error {
		back, err := w.browse(address)
		must(t, err)
		back.RawQuery = url.Values{"code": {foreign}}.Encode()
		_, err = visit(back.String())
		return err
	})
	wantCode(t, err, "unauthorized")
}

// Who gives up is not kept waiting.
func TestIdentityGivenUp(t *testing.T) {
	w := start(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	_, err := client.LoginByIdentity(ctx, t.TempDir(), client.Credentials{URL: w.server.URL, Authority: w.authority()}, func(string) error {
		cancel(errors.New("enough"))
		return nil
	})
	wantCode(t, err, client.CodeCancelled)
}
