package enroll

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/limit"
	"github.com/tenetcm/tenet/server/store"
)

const (
	maxBody       = 256 << 10
	nonceValidity = 5 * time.Minute
	readLimit     = 30 * time.Second
)

// Handler serves what agents ask for over HTTPS: to join, to renew, and contents. It trusts no header about where a request comes from.
func (r *Registry) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+identity.JoinPath, r.serve(r.limited(r.serveJoin)))
	mux.HandleFunc("POST "+identity.RenewPath, r.serve(r.limited(r.serveRenew)))
	// Contents take a ticket, which bounds who asks for them.
	mux.HandleFunc("GET "+identity.ContentsPath+"{digest}", r.serve(r.serveContent))
	mux.HandleFunc("/", r.serve(r.limited(func(http.ResponseWriter, *http.Request) error {
		return &diag.HintError{Code: CodeNotFound, Message: "agents are served nothing here", Hint: "is the agent's version far from the server's?"}
	})))
	return mux
}

// limited bounds what comes from one address before anything of it is verified.
func (r *Registry) limited(f func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, q *http.Request) error {
		if wait := r.limits.sources.Take(limit.Source(q.RemoteAddr)); wait > 0 {
			return &limitError{wait}
		}
		return f(w, q)
	}
}

// limitError says that somebody asks too often.
type limitError struct{ after time.Duration }

// Error says so.
func (e *limitError) Error() string { return "this was asked too often" }

// serve answers errors as problems, and gives a nonce with each answer.
func (r *Registry) serve(f func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set(identity.NonceHeader, makeCode(r.codes.nonces, r.now().Add(nonceValidity), ""))
		if err := f(w, q); err != nil {
			r.writeProblem(w, err)
		}
	}
}

// readBody reads a request with its proof: the nonce is the server's, and the proof covers the rest once the key is known.
func (r *Registry) readBody(w http.ResponseWriter, q *http.Request, into any) (*trust.Signed, trust.ID, identity.Proof, error) {
	var want identity.Proof
	// Who sends a byte a minute is dropped, whatever deadlines the server has.
	connection := http.NewResponseController(w)
	if err := connection.SetReadDeadline(time.Now().Add(readLimit)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, "", want, err
	}
	signed, by, nonce, err := identity.ParseProof(q.Header.Get(identity.ProofHeader))
	if err != nil {
		return nil, "", want, &diag.HintError{Code: CodeProof, Err: err}
	}
	if !holds(r.codes.nonces, nonce, r.now(), "") {
		return nil, "", want, &diag.HintError{Code: identity.CodeNonce, Message: "the nonce of the proof is none, or too old"}
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, q.Body, maxBody))
	if err != nil {
		return nil, "", want, invalid("the request cannot be read: %v", err)
	}
	if err := connection.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, "", want, err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return nil, "", want, invalid("the request is no JSON that is known here: %v", err)
	}
	return signed, by, identity.Proof{Method: q.Method, Path: q.URL.RequestURI(), Nonce: nonce, Body: trust.DigestOf(data)}, nil
}

func (r *Registry) serveJoin(w http.ResponseWriter, q *http.Request) error {
	from := limit.Source(q.RemoteAddr)
	if wait := r.limits.joins.Take(from); wait > 0 {
		return &limitError{wait}
	}
	var request identity.JoinRequest
	proof, _, want, err := r.readBody(w, q, &request)
	if err != nil {
		return err
	}
	if request.Keys == nil {
		return &diag.HintError{Code: CodeProof, Message: "the request has no keys of a host"}
	}
	keys, err := trust.OpenHostKeys(request.Keys, nil)
	if err == nil {
		err = identity.CheckProof(proof, keys.Identity, want)
	}
	if err != nil {
		return &diag.HintError{Code: CodeProof, Err: err}
	}
	answer, err := r.Join(q.Context(), &request, keys, from)
	if err != nil {
		return err
	}
	return writeAnswer(w, answer)
}

func (r *Registry) serveRenew(w http.ResponseWriter, q *http.Request) error {
	var request identity.RenewRequest
	proof, by, want, err := r.readBody(w, q, &request)
	if err != nil {
		return err
	}
	key, err := r.identityOf(q.Context(), by)
	if err != nil {
		return err
	}
	if err := identity.CheckProof(proof, key, want); err != nil {
		return &diag.HintError{Code: CodeProof, Err: err}
	}
	if wait := r.limits.renewal.Take(string(by)); wait > 0 {
		return &limitError{wait}
	}
	r.regain(q.Context(), request.Documents)
	answer, err := r.Renew(q.Context(), by, &request)
	if err != nil {
		return err
	}
	return writeAnswer(w, answer)
}

// identityOf gives the key of a host, from the store if memory is behind, as on a standby.
func (r *Registry) identityOf(ctx context.Context, id trust.ID) (trust.PublicKey, error) {
	r.mu.RLock()
	h, ok := r.known[id]
	r.mu.RUnlock()
	if ok {
		return h.Identity, nil
	}
	kept, err := r.Get(ctx, id)
	if diag.CodeOf(err) == CodeNotFound {
		former, failed := r.endedBefore(ctx, id)
		if former != nil {
			err = &diag.HintError{Code: CodeState, Message: former.Reason}
		} else if failed != nil {
			err = failed
		}
	}
	if err != nil {
		return trust.PublicKey{}, err
	}
	return kept.Keys.Identity, nil
}

func (r *Registry) serveContent(w http.ResponseWriter, q *http.Request) error {
	var digest trust.Digest
	if err := digest.UnmarshalText([]byte(q.PathValue("digest"))); err != nil {
		return invalid("%v", err)
	}
	proof, by, _, err := identity.ParseProof(q.Header.Get(identity.ProofHeader))
	if err != nil {
		return &diag.HintError{Code: CodeProof, Err: err}
	}
	ticket := q.Header.Get(identity.TicketHeader)
	if !holds(r.codes.tickets, ticket, r.now(), aboutContent(by, digest)) {
		return &diag.HintError{Code: CodeTicket, Message: "the ticket is not for this host and content, or it has expired", Hint: "it goes on by itself"}
	}
	key, err := r.identityOf(q.Context(), by)
	if err != nil {
		return err
	}
	want := identity.Proof{Method: q.Method, Path: q.URL.RequestURI(), Nonce: ticket, Body: trust.DigestOf(nil)}
	if err := identity.CheckProof(proof, key, want); err != nil {
		return &diag.HintError{Code: CodeProof, Err: err}
	}
	if !r.MayReceive(by) {
		return &diag.HintError{Code: CodeState, Message: "this host gets nothing new", Hint: "it is locked or revoked: ask who runs the server"}
	}
	offset, err := parseRange(q.Header.Get("Range"))
	if err != nil {
		return err
	}
	if !r.fetches.begin(by) {
		return &limitError{time.Second}
	}
	defer r.fetches.end(by)
	return r.writeContent(w, q, digest, offset)
}

// parseRange reads from where on a content is wanted. Of ranges there is this one form: the agent asks for no other.
func parseRange(header string) (int64, error) {
	if header == "" {
		return 0, nil
	}
	text, ok := strings.CutPrefix(header, "bytes=")
	text, isOpen := strings.CutSuffix(text, "-")
	offset, err := strconv.ParseUint(text, 10, 62)
	if !ok || !isOpen || err != nil {
		return 0, invalid("%.80q is no range that is served here", header)
	}
	return int64(offset), nil
}

func (r *Registry) writeContent(w http.ResponseWriter, q *http.Request, digest trust.Digest, offset int64) error {
	d, err := contents.ParseDigest(digest.String())
	if err != nil {
		return err
	}
	content, size, err := r.contents.Open(q.Context(), d, offset)
	switch {
	case errors.Is(err, contents.ErrNone):
		return &diag.HintError{Code: CodeNotFound, Message: "the server does not have this content", Err: err}
	case err != nil && offset > 0:
		return r.explainOffset(q.Context(), d, offset, err)
	case err != nil:
		return err
	}
	defer content.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(size-offset, 10))
	if q.Header.Get("Range") != "" {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", offset, size-1, size))
		w.WriteHeader(http.StatusPartialContent)
	}
	if _, err := io.Copy(&steady{w, http.NewResponseController(w), r.patience}, content); err != nil {
		panic(http.ErrAbortHandler) // the answer has begun: it is cut off, and the agent asks for the rest
	}
	return nil
}

// explainOffset tells an offset behind the end from what is wrong with the store.
func (r *Registry) explainOffset(ctx context.Context, d contents.Digest, offset int64, err error) error {
	content, size, again := r.contents.Open(ctx, d, 0)
	if again != nil {
		return again
	}
	if closed := content.Close(); closed != nil {
		return closed
	}
	if offset > size {
		return invalid("the content ends before %d", offset)
	}
	return err
}

func writeAnswer(w http.ResponseWriter, answer *identity.Answer) error {
	data, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	send(w, data)
	return nil
}

// send sends an answer that has begun. Where the connection breaks there is nobody to tell: the agent asks again.
func send(w http.ResponseWriter, data []byte) {
	if _, err := w.Write(data); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// writeProblem says why there is no answer. What went wrong within the server is not told to who may be anybody.
func (r *Registry) writeProblem(w http.ResponseWriter, err error) {
	p := identity.Problem{Detail: err.Error(), Code: diag.CodeOf(err), Hint: diag.HintOf(err), Status: statusOf(diag.CodeOf(err))}
	var often *limitError
	var deposed *store.DeposedError
	switch {
	case errors.As(err, &often):
		p.Code, p.Status, p.Retryable, p.RetryAfter = CodeTooMany, http.StatusTooManyRequests, true, int(math.Ceil(often.after.Seconds()))
	case errors.Is(err, store.ErrStandby), errors.As(err, &deposed), errors.Is(err, store.ErrClosed):
		p = identity.Problem{Detail: "this server stands by", Code: identity.CodeStandby, Status: http.StatusServiceUnavailable, Retryable: true, RetryAfter: 5}
	case p.Code == identity.CodeNonce:
		p.Retryable = true
	case p.Code == "" || p.Status == 0:
		if r.options.Failed != nil {
			r.options.Failed(err)
		}
		p = identity.Problem{Detail: "the server has failed to answer", Code: "internal", Status: http.StatusInternalServerError, Retryable: true, RetryAfter: 30}
	}
	p.Title = http.StatusText(p.Status)
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	w.Header().Set("Content-Type", "application/problem+json")
	data, err := json.Marshal(p)
	if err != nil {
		http.Error(w, "", http.StatusInternalServerError)
		return
	}
	w.WriteHeader(p.Status)
	send(w, data)
}

func statusOf(code string) int {
	switch code {
	case CodeInvalid:
		return http.StatusBadRequest
	case CodeProof, identity.CodeNonce:
		return http.StatusUnauthorized
	case CodeToken, CodeExpired, CodeUsed, CodeClaim, CodeTicket, CodeState:
		return http.StatusForbidden
	case CodeNotFound:
		return http.StatusNotFound
	case CodeNameTaken:
		return http.StatusConflict
	case CodeTooMany, CodeBusy:
		return http.StatusTooManyRequests
	}
	return 0
}
