package identity

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
)

// Paths of a server that are for agents.
const (
	JoinPath     = "/v1/agent/join"
	RenewPath    = "/v1/agent/renew"
	ContentsPath = "/v1/agent/contents/" // and a digest
)

// Headers of requests and answers.
const (
	ProofHeader  = "Tenet-Proof"
	NonceHeader  = "Tenet-Nonce"  // of an answer: for the next request
	TicketHeader = "Tenet-Ticket" // of a request for a content
)

// State is how a host stands with its server.
type State string

// The states of a host. A locked one gets nothing new; it keeps what it has, and reports. A revoked one is not served at all.
const (
	Pending  State = "pending"
	Approved State = "approved" // and not seen since
	Active   State = "active"
	Locked   State = "locked"
	Revoked  State = "revoked"
)

// JoinRequest asks a server to take a host in. It is repeated unchanged until there is an answer, and after that to learn what became of it.
type JoinRequest struct {
	Secret []byte            `json:"secret"` // Token.Secret
	Keys   *trust.Signed     `json:"keys"`   // trust.HostKeys
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
	Value  []byte            `json:"value"` // the first that is renewed
}

// RenewRequest shows that a host is the one that has renewed before: it knows the value that it has given then. Next is what it will know next time; it
// is durable before it is sent, and sent until it is answered.
type RenewRequest struct {
	Value      []byte        `json:"value"`
	Next       []byte        `json:"next"`
	Keys       *trust.Signed `json:"keys"`
	Succession *trust.Signed `json:"succession,omitempty"` // then Keys are those of the identity that follows
	Generation uint64        `json:"generation"`           // of the newest trust document that the host has, and its number
	Number     uint64        `json:"number"`
	// Documents are those that the server has said it lacks.
	Documents []*trust.Signed `json:"documents,omitempty"`
}

// MaxDocuments is how many documents a host sends at most that the server lacks.
const MaxDocuments = 32

// Lack says which trust document is the newest of a server that was put back from a backup: it lacks those that come after it.
type Lack struct {
	Generation uint64 `json:"generation"`
	Number     uint64 `json:"number"`
}

// Answer is a server's to either.
type Answer struct {
	State  State  `json:"state"`
	Reason string `json:"reason,omitempty"` // why it is pending, locked or revoked
	// Renewed says that Next is from now on the value that counts.
	Renewed    bool              `json:"renewed,omitempty"`
	Name       string            `json:"name,omitempty"` // as it was approved
	Labels     map[string]string `json:"labels,omitempty"`
	Documents  []*trust.Signed   `json:"documents,omitempty"`  // after the newest that the host has
	Addresses  []string          `json:"addresses,omitempty"`  // of the server: https://…
	Brokers    []string          `json:"brokers,omitempty"`    // where agents connect
	Credential string            `json:"credential,omitempty"` // for brokers that want one besides the connection key
	// BrokerAuthorities are CAs, as DER, that brokers show besides those of the trust document. They count for brokers alone, which prove nothing.
	BrokerAuthorities [][]byte `json:"broker_authorities,omitempty"`
	RetryAfter        int      `json:"retry_after,omitempty"` // seconds
	// Lack asks for documents that the host has and the server has lost, with the next renewal.
	Lack *Lack `json:"lack,omitempty"`
}

// Problem is the answer where there is none, as application/problem+json (RFC 9457).
type Problem struct {
	Title      string `json:"title"` // what the status means
	Detail     string `json:"detail"`
	Status     int    `json:"status"`
	Code       string `json:"code"`
	Hint       string `json:"hint,omitempty"`
	Retryable  bool   `json:"retryable,omitempty"`
	RetryAfter int    `json:"retry_after,omitempty"` // seconds
}

// CodeNonce is the code of the answer to a request whose proof has no nonce, or one that is too old: it is repeated with the one in NonceHeader.
const CodeNonce = "nonce"

// ValueSize is how many bytes the values of renewals have.
const ValueSize = 16

// Proof shows which host has made a request. Its nonce, or ticket, is the server's and short-lived, so neither clock has to be right.
type Proof struct {
	Method string       `json:"method"`
	Path   string       `json:"path"`
	Nonce  string       `json:"nonce"` // from NonceHeader, or the ticket
	Body   trust.Digest `json:"body"`
}

// maxProof bounds the header.
const maxProof = 4096

// encodeProof writes a proof as a header.
func encodeProof(p *Proof, key trust.PrivateKey) (string, error) {
	signed, err := trust.Sign(trust.KindProof, p, key)
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(signed)
	return base64.RawURLEncoding.EncodeToString(data), err
}

// ParseProof reads the header. It says who claims to have signed it, and which nonce it holds: whether that is true is told by CheckProof.
func ParseProof(header string) (signed *trust.Signed, by trust.ID, nonce string, err error) {
	bad := errors.New("the request has no proof of who makes it, or one that cannot be read")
	if len(header) > maxProof {
		return nil, "", "", bad
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(header)
	if err != nil {
		return nil, "", "", bad
	}
	signed, p := &trust.Signed{}, Proof{}
	if json.Unmarshal(data, signed) != nil || len(signed.Signatures) != 1 || json.Unmarshal(signed.Content, &p) != nil {
		return nil, "", "", bad
	}
	return signed, signed.Signatures[0].Key, p.Nonce, nil
}

// CheckProof demands that a key has signed exactly this.
func CheckProof(signed *trust.Signed, key trust.PublicKey, want Proof) error {
	p, err := trust.Open[Proof](signed, trust.KindProof, key)
	if err != nil {
		return err
	}
	if *p != want {
		return errors.New("the proof is for another request")
	}
	return nil
}

// ServerError is what a server has answered in place of what it was asked for.
type ServerError struct {
	Problem
	After time.Duration // when it makes sense to ask again; 0: unknown
}

// Error says what the server says.
func (e *ServerError) Error() string {
	if e.Detail == "" {
		return "the server refuses it, and does not say why"
	}
	return "the server refuses it: " + strings.TrimSpace(e.Detail)
}
