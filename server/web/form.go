package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/tenetcm/tenet/server/api"
)

// Cookies of pages. Browsers take such names only over HTTPS, for this host alone.
const (
	formCookie   = "__Host-tenet-form"   // of who has not logged in yet: their forms have tokens, too
	noticeCookie = "__Host-tenet-notice" // what an act has come to, until the next page shows it
)

// tokenField is the field of a form that shows that it is one of the server's own pages.
const tokenField = "token"

// token is for the forms of whoever this browser is: of a session, or of one who logs in.
func (v *view) token() string {
	secret := ""
	if c, err := v.r.Cookie(api.SessionCookie); err == nil && v.session != nil {
		secret = "session " + c.Value
	} else if c, err := v.r.Cookie(formCookie); err == nil {
		secret = "form " + c.Value
	} else {
		random := make([]byte, 16)
		rand.Read(random)
		value := base64.RawURLEncoding.EncodeToString(random)
		c := cookie(formCookie, value, 0)
		v.r.AddCookie(c) // the next form of this page has the same
		http.SetCookie(v.w, c)
		secret = "form " + value
	}
	return v.sign(secret)
}

func (v *view) sign(secret string) string {
	mac := hmac.New(sha256.New, v.key)
	mac.Write([]byte(secret))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func cookie(name, value string, seconds int) *http.Cookie {
	return &http.Cookie{Name: name, Value: value, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode, MaxAge: seconds}
}

// parse refuses a form that is not of the server's own pages.
func (v *view) parse() error {
	if !hmac.Equal([]byte(v.r.PostForm.Get(tokenField)), []byte(v.token())) {
		return &api.Problem{Status: http.StatusForbidden, Title: "Not sent", Detail: "This form is not of a page that you were shown since you logged in: somebody else may have sent it, or the server was started again.",
			Hint: "Load the page anew, and send it again. Nothing was done."}
	}
	return nil
}

// note keeps what an act has come to for the page that comes next.
func (v *view) note(text string) {
	const enough = 500
	if len(text) > enough {
		text = strings.ToValidUTF8(text[:enough], "") + "…"
	}
	http.SetCookie(v.w, cookie(noticeCookie, base64.RawURLEncoding.EncodeToString([]byte(text)), 60))
}

// takeNotice gives it once.
func (v *view) takeNotice() string {
	c, err := v.r.Cookie(noticeCookie)
	if err != nil {
		return ""
	}
	http.SetCookie(v.w, cookie(noticeCookie, "", -1))
	text, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil { // it is none of ours
		return ""
	}
	return string(text)
}

// isLocal tells whether a target is a page of this server.
func isLocal(target string) bool {
	return strings.HasPrefix(target, "/") && !strings.HasPrefix(target, "//") && !strings.ContainsAny(target, "\\\r\n\t")
}
