package client

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fault"
)

// identityLimit is how long somebody may take in the browser.
const identityLimit = 10 * time.Minute

// LoginByIdentity logs in by the server's provider of identity: show gets a URL that a person
// opens in a browser on this machine, which comes back here in the end. The code with which it
// comes is of use to nobody else.
func LoginByIdentity(ctx context.Context, dir string, with Credentials, show func(address string) error) (*Client, error) {
	c, err := New(Saved{URL: with.URL, Authority: with.Authority, Sign: with.Sign})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, identityLimit, errors.New("nobody has logged in by the browser in time"))
	defer cancel()
	back, err := listen()
	if err != nil {
		return nil, err
	}
	defer back.close()
	verifier := randomText()
	sum := sha256.Sum256([]byte(verifier))
	begun, err := Call[struct{ URL string }](ctx, c, http.MethodPost, "/v1/login/identity", nil,
		map[string]string{"redirect": back.url, "challenge": base64.RawURLEncoding.EncodeToString(sum[:])})
	if err != nil {
		return nil, err
	}
	if err := show(begun.URL); err != nil {
		return nil, err
	}
	var code string
	select {
	case code = <-back.codes:
	case <-ctx.Done():
		return nil, &diag.HintError{Code: CodeCancelled, Message: context.Cause(ctx).Error(), Err: context.Cause(ctx), Hint: "begin again: tenet login URL --browser"}
	}
	started, err := Call[start](ctx, c, http.MethodPost, "/v1/login/identity/finish", nil, map[string]string{"code": code, "verifier": verifier})
	if err != nil {
		return nil, err
	}
	return c.keep(dir, started)
}

func randomText() string {
	random := make([]byte, 32)
	rand.Read(random)
	return base64.RawURLEncoding.EncodeToString(random)
}

// loopback is where the browser comes back.
type loopback struct {
	url    string
	codes  chan string
	server *http.Server
}

// listen waits on loopback, at a path that nobody else knows.
func listen() (*loopback, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	path := "/" + randomText()
	b := &loopback{url: "http://" + l.Addr().String() + path, codes: make(chan string, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		code := r.URL.Query().Get("code")
		if code == "" {
			http.Error(w, "This is not how a login comes back. Begin again: tenet login URL --browser", http.StatusBadRequest)
			return
		}
		select {
		case b.codes <- code:
		default: // the browser has come before
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Referrer-Policy", "no-referrer")
		fmt.Fprintln(w, "You can close this page, and go on in the terminal.")
	})
	const patience = 10 * time.Second
	b.server = &http.Server{Handler: mux, ReadTimeout: patience, WriteTimeout: patience}
	fault.Go(func() {
		_ = b.server.Serve(l) // it ends by close
	})
	return b, nil
}

// close lets the page reach the browser, for a moment.
func (b *loopback) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if b.server.Shutdown(ctx) != nil {
		_ = b.server.Close() // nobody reads the page
	}
}
