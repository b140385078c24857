// Package client calls a server's API for an operator.
//
// A login is kept in a file that its owner alone can read: the URL of the server, the digest of its
// CA, and the secret of a session or a program. Open reads it. Errors of the server come back as
// diag.HintError with its code and hint; what the server says is cleaned before it is shown to anybody.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
)

// fileName is that of the login in its folder.
const fileName = "server.json"

// Codes of errors that are the client's own.
const (
	CodeNoLogin     = "no_login"     // nobody is logged in here
	CodeUnreachable = "unreachable"  // the server was not asked
	CodeUncertain   = "uncertain"    // the server was asked, and has not answered
	CodeNoAnswer    = "no_answer"    // what it answered is not what it should be
	CodeAuthority   = "authority"    // the server is not the one that is known
	CodeInvalid     = "invalid"      // what was given is not well-formed
	CodeCancelled   = "interrupted"  // the context has ended
	codeUnknown     = "unauthorized" // the server's: nobody is logged in by this
	codeForbidden   = "forbidden"    // the server's: it takes a grant
)

// Saved is a login as it is kept.
type Saved struct {
	URL string `json:"url"` // https://HOST:PORT
	// Authority is the digest of the server's CA; zero: those that this machine trusts.
	Authority trust.Digest `json:"authority,omitzero"`
	Person    string       `json:"person"` // who is logged in; PERSON/PROGRAM for a program
	Secret    string       `json:"secret"`
	Ends      time.Time    `json:"ends,omitzero"` // zero: not known
	// Sign is the file of the private key that signs what hosts are asked for; empty: the server signs it.
	Sign string `json:"sign,omitempty"`
}

// Client calls one server as one caller. It may be used by many goroutines.
type Client struct {
	saved Saved
	base  *url.URL
	http  *http.Client
	known known
	key   *trust.PrivateKey // of Saved.Sign, once SignBy was called
	// patience is how long a call waits because the server asks for it.
	patience time.Duration
	// sleep waits between attempts, and random is from 0 to 1. Tests replace them.
	sleep  func(ctx context.Context, d time.Duration) error
	random func() float64
}

// New makes a client of a login, wherever it was kept.
func New(s Saved) (*Client, error) {
	base, err := parseURL(s.URL)
	if err != nil {
		return nil, err
	}
	s.URL = base.String()
	return &Client{saved: s, base: base, http: newHTTP(base, s.Authority), patience: longWait, sleep: sleep, random: rand.Float64}, nil
}

// Open reads the login of a folder.
func Open(dir string) (*Client, error) {
	name := filepath.Join(dir, fileName)
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &diag.HintError{Code: CodeNoLogin, Message: "nobody is logged in to a server here", Hint: "tenet login URL"}
	}
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, &diag.HintError{Code: CodeInvalid, Message: fmt.Sprintf("others can read %s, which has a secret", name),
			Hint: "chmod 600 it; if others were here, log out and in: tenet logout"}
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var s Saved
	if json.Unmarshal(text, &s) != nil || s.Secret == "" {
		return nil, &diag.HintError{Code: CodeInvalid, Message: name + " is damaged", Hint: "log in again: tenet login URL"}
	}
	c, err := New(s)
	if err == nil {
		c.known.file, c.known.server = filepath.Join(dir, knownName), c.base.Host
	}
	return c, err
}

// save keeps the login in a folder.
func (c *Client) save(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	var text bytes.Buffer
	if err := plainjson.WriteIndented(&text, c.saved); err != nil {
		return err
	}
	return atomicfile.Replace(filepath.Join(dir, fileName), atomicfile.Options{Mode: 0o600, Durable: true}, atomicfile.Data(text.Bytes()))
}

// SignBy has a key sign what hosts are asked for from then on, in place of the server's. It is called before Dial.
func (c *Client) SignBy(key trust.PrivateKey) { c.key = &key }

// Saved gives the login, with its secret.
func (c *Client) Saved() Saved { return c.saved }

// parseURL takes the address of a server with or without https://, and nothing besides.
func parseURL(text string) (*url.URL, error) {
	wrong := &diag.HintError{Code: CodeInvalid, Message: fmt.Sprintf("%.200q is no address of a server", text), Hint: "write https://HOST or https://HOST:PORT"}
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return nil, wrong
	}
	return &url.URL{Scheme: "https", Host: u.Host}, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
