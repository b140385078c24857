package rc2

import (
	"encoding/json"
	"strings"
	"time"
)

// Problem is why a manager refuses a request (RFC 9457), as far as a device makes use of it.
type Problem struct {
	Type      string
	Title     string
	Detail    string
	Retryable *bool // nil: it does not say
	After     time.Duration
	Backoff   Backoff
}

// Backoff is how a manager wants a request to be tried again.
type Backoff string

// The ways of it.
const (
	BackoffNone        Backoff = "none"
	BackoffFixed       Backoff = "fixed"
	BackoffExponential Backoff = "exponential"
)

// maxAfter bounds how long a manager can make a device wait: for longer it is not sent away by a mistake.
const maxAfter = 24 * time.Hour

// ReadProblem reads a problem.
func ReadProblem(data []byte) (Problem, error) {
	node, err := read("problem", "problem.json", data, MaxProblem)
	if err != nil {
		return Problem{}, err
	}
	p := Problem{Type: text(node, "type"), Title: text(node, "title"), Detail: text(node, "detail"), Backoff: Backoff(text(node, "backoffStrategy"))}
	if retryable, ok := below(node, "retryable").Value.(bool); ok {
		p.Retryable = &retryable
	}
	if seconds, ok := below(node, "retryAfterSeconds").Value.(json.Number); ok {
		p.After = maxAfter
		if n, err := seconds.Int64(); err == nil && n < int64(maxAfter/time.Second) {
			p.After = time.Duration(n) * time.Second
		}
	}
	return p, nil
}

// The addresses below which the types of problems stand; texts of one version name both.
const (
	problemTypes      = "https://docs.margo.org/specification/problem-types#"
	problemTypesOther = "https://docs.margo.org/specification/margo-management-interface/problem-types#"
)

// Kind gives the word for a problem of the specification, such as "not-authorized"; "": it is none.
func (p Problem) Kind() string {
	for _, prefix := range []string{problemTypes, problemTypesOther} {
		if kind, ok := strings.CutPrefix(p.Type, prefix); ok {
			return kind
		}
	}
	return ""
}

// KindNotAuthorized says that the manager's policy does not let the client in: it may be retired.
const KindNotAuthorized = "not-authorized"
