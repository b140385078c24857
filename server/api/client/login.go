package client

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
)

// Credentials say how to log in.
type Credentials struct {
	URL string
	// Authority is the digest of the server's CA; zero: this machine trusts it already.
	Authority trust.Digest
	// Name and Password are a person's.
	Name, Password string
	// Token is that of a program, in place of a name and a password.
	Token string
	// Sign is Saved.Sign.
	Sign string
}

// Session is who calls, and what they may do.
type Session struct {
	Name   string  `json:"name"`
	Kind   string  `json:"kind"` // person or program
	ID     string  `json:"id"`
	Grants []Grant `json:"grants"`
}

// Grant lets one do something to hosts for a site.
type Grant struct {
	Verb  string `json:"verb"`
	Hosts string `json:"hosts"`
	Site  string `json:"site"`
}

// Login logs in, and keeps that in a folder in place of a former login. It is not kept where it fails.
func Login(ctx context.Context, dir string, with Credentials) (*Client, error) {
	c, err := New(Saved{URL: with.URL, Authority: with.Authority, Secret: with.Token, Sign: with.Sign})
	if err != nil {
		return nil, err
	}
	if with.Token != "" {
		s, err := c.Session(ctx)
		if err != nil {
			return nil, err
		}
		c.saved.Person = s.Name
		return c, c.save(dir)
	}
	c.patience = shortWait
	defer func() { c.patience = longWait }()
	begun, err := Call[start](ctx, c, http.MethodPost, "/v1/login", nil, map[string]string{"name": with.Name, "password": with.Password})
	if err != nil {
		return nil, err
	}
	return c.keep(dir, begun)
}

// start is a session that has begun.
type start struct {
	Person string    `json:"person"`
	Secret string    `json:"secret"`
	Ends   time.Time `json:"ends"`
}

func (c *Client) keep(dir string, begun start) (*Client, error) {
	if begun.Secret == "" {
		return nil, &diag.HintError{Code: CodeNoAnswer, Message: "the server gave no session", Hint: "is there another program at this address?"}
	}
	c.saved.Person, c.saved.Secret, c.saved.Ends = begun.Person, begun.Secret, begun.Ends
	return c, c.save(dir)
}

// Logout ends the session at the server, and forgets it in the folder in any case. That of a
// program is only forgotten: its token goes on.
func Logout(ctx context.Context, dir string) error {
	c, err := Open(dir)
	if diag.CodeOf(err) == CodeNoLogin {
		return err
	}
	if err == nil {
		err = c.end(ctx)
	}
	gone := os.Remove(filepath.Join(dir, fileName))
	if errors.Is(gone, fs.ErrNotExist) {
		gone = nil
	}
	return errors.Join(err, gone)
}

func (c *Client) end(ctx context.Context) error {
	s, err := c.Session(ctx)
	if err == nil && s.Kind == "person" {
		_, err = Call[struct{}](ctx, c, http.MethodDelete, "/v1/session", nil, nil)
	}
	if diag.CodeOf(err) == codeUnknown {
		return nil // it has ended already
	}
	return err
}

// Session tells who calls, and what they may do.
func (c *Client) Session(ctx context.Context) (Session, error) {
	return Call[Session](ctx, c, http.MethodGet, "/v1/session", nil, nil)
}
