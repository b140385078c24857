package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
)

// tagged gives answers to GET an ETag, and answers 304 where the caller has the same already.
// An answer is held back until it is whole: none is larger than a page of a list.
func tagged(next http.Handler, w http.ResponseWriter, r *http.Request) {
	held := &heldAnswer{ResponseWriter: w, status: http.StatusOK}
	next.ServeHTTP(held, r)
	if held.status == http.StatusOK {
		sum := sha256.Sum256(held.body.Bytes())
		tag := `"` + hex.EncodeToString(sum[:16]) + `"`
		w.Header().Set("ETag", tag)
		if fitsTag(r.Header.Get("If-None-Match"), tag) {
			w.Header().Del("Content-Type")
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	w.WriteHeader(held.status)
	// Who does not read the answer gets none.
	_, _ = w.Write(held.body.Bytes())
}

// heldAnswer keeps the body.
type heldAnswer struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

// WriteHeader keeps the status.
func (h *heldAnswer) WriteHeader(status int) { h.status = status }

// Write keeps the body.
func (h *heldAnswer) Write(p []byte) (int, error) { return h.body.Write(p) }

// Unwrap is for http.ResponseController.
func (h *heldAnswer) Unwrap() http.ResponseWriter { return h.ResponseWriter }

func fitsTag(header, tag string) bool {
	for one := range strings.SplitSeq(header, ",") {
		one = strings.TrimSpace(one)
		if one == "*" || strings.TrimPrefix(one, "W/") == tag {
			return true
		}
	}
	return false
}
