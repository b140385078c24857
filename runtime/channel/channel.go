// Package channel is a connection to a host by way of its agent: what the wire package says, in packets of the link, encrypted between
// those at its ends. Whoever passes the packets on learns what is asked for, since that is signed after it was allowed, and neither
// secrets nor answers.
//
// The dialer asks for a nonce, and gets it with a key that the host has made for this connection, signed by its identity. It answers with
// a request: what it asks for in clear, and its secrets sealed to that key (HPKE, RFC 9180, with X25519 and ML-KEM-768). The first request opens
// the connection, and the second, with a nonce of its own, says what is to be done. All that follows is sealed in the same context, and
// what comes back with a key that it exports (RFC 9180, section 9.8).
package channel

import (
	"crypto/hpke"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/runtime/wire"
)

// Open is the verb of requests that open a connection: facts are told by that.
const Open trust.Verb = "open"

// ServerKey is what trust documents call the key of the server, which signs for operators.
const ServerKey = "server"

// VerbOf gives the verb of requests for an operation: its name, but for the end of a hold, whose name in the wire package is that of the
// verb of programs. Being a member of a cluster is a part of applying what that declares.
func VerbOf(op wire.Op) trust.Verb {
	switch op {
	case wire.OpRelease:
		return "unhold"
	case wire.OpMember:
		op = wire.OpApply // of which it is a part
	}
	return trust.Verb(op)
}

// Verbs lists the verbs of all requests.
func Verbs() []trust.Verb {
	verbs := []trust.Verb{Open}
	for _, op := range []wire.Op{wire.OpPlan, wire.OpApply, wire.OpResume, wire.OpAttach, wire.OpCancel, wire.OpPing, wire.OpExec, wire.OpStatus, wire.OpManaged,
		wire.OpHistory, wire.OpLogs, wire.OpClean, wire.OpHold, wire.OpRelease, wire.OpForget, wire.OpRetry, wire.OpImport} {
		verbs = append(verbs, VerbOf(op))
	}
	return verbs
}

// Codes of errors.
const (
	CodeRefused = "refused" // the host, or who passes packets on, does not do what is asked
	CodeBusy    = "busy"    // there are too many connections
	CodeBroken  = "broken"  // the way to the host
	// CodeTooLarge is of requests that no packet holds.
	CodeTooLarge = "too_large"
)

// MaxRequest is how many bytes the packet of a request may have. The rest of what a packet may have is for the signature that the server adds.
const MaxRequest = link.MaxPacket - 64<<10

// kind is the first byte of a packet.
type kind byte

const (
	kindOpen    kind = 'o' // dialer: a nonce is wanted; nothing
	kindNonce   kind = 'n' // host: a trust.Signed of a greeting
	kindRequest kind = 'r' // dialer: a request
	kindData    kind = 'd' // both: sealed bytes of frames
	kindCredit  kind = 'c' // both: how many bytes more may come, as 4 bytes, big-endian
	kindClose   kind = 'x' // both: a reason
)

func packet(k kind, data []byte) []byte { return append([]byte{byte(k)}, data...) }

func jsonPacket(k kind, v any) ([]byte, error) {
	data, err := json.Marshal(v)
	return packet(k, data), err
}

// greeting is what a host signs: whoever sees it knows who will read what is sealed to the key.
type greeting struct {
	Host    trust.ID `json:"host"`
	Session string   `json:"session"`
	Key     []byte   `json:"key"`
	Nonce   []byte   `json:"nonce"`
}

// request is what a dialer asks for.
type request struct {
	Signed *trust.Signed `json:"signed,omitempty"` // a trust.Request; the server adds its own where there is none
	Nonce  []byte        `json:"nonce"`
	Verb   trust.Verb    `json:"verb"`
	Clear  []byte        `json:"clear"`         // a wire.Opening or a wire.Request without its secrets, as JSON
	Key    []byte        `json:"key,omitempty"` // of the first one: the encapsulated key
	Sealed []byte        `json:"sealed"`        // its secrets
}

// body is what a signature covers: all that is sent with the request, and the session, so that it fits into no other one.
func (r *request) body(session string) trust.Digest {
	sum := sha256.New()
	for _, part := range [][]byte{[]byte(session), []byte(r.Verb), r.Clear, r.Key, r.Sealed} {
		addLength(sum, len(part))
		sum.Write(part)
	}
	return trust.Digest(sum.Sum(nil))
}

func addLength(sum hash.Hash, n int) {
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(n))
	sum.Write(size[:])
}

// secrets are what of a request only its host may read.
type secrets struct {
	BecomePassword string `json:"become_password,omitempty"`
	Stdin          []byte `json:"stdin,omitempty"`
}

// reason is why a connection ends.
type reason struct {
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// Refused says that nothing was begun of the second request.
	Refused bool `json:"refused,omitempty"`
}

// RefusalError says that nothing was begun of what a host was asked for on an open connection.
type RefusalError struct{ Err error }

// Error says why.
func (e *RefusalError) Error() string { return e.Err.Error() }

// Unwrap gives why.
func (e *RefusalError) Unwrap() error { return e.Err }

func reasonOf(err error) reason {
	_, isRefusal := errors.AsType[*RefusalError](err)
	return reason{Code: diag.CodeOf(err), Message: err.Error(), Hint: diag.HintOf(err), Refused: isRefusal}
}

// err gives the reason as an error: a wire.FailedError, as a runner says of what it does not begin, where nothing was.
func (r reason) err() error {
	err := &diag.HintError{Code: r.Code, Err: fmt.Errorf("%.2000s", diag.Clean(r.Message, "\n", '�')), Hint: diag.Clean(r.Hint, "\n", '�')}
	if r.Refused {
		return wire.NewFailedError(err)
	}
	return err
}

// closing is a packet that ends a connection.
func closing(err error) []byte {
	data, _ := jsonPacket(kindClose, reasonOf(err)) // three texts are always JSON
	return data
}

func refused(format string, args ...any) error {
	return &diag.HintError{Code: CodeRefused, Err: fmt.Errorf(format, args...)}
}

// The suite of HPKE.
func kem() hpke.KEM   { return hpke.MLKEM768X25519() }
func kdf() hpke.KDF   { return hpke.HKDFSHA256() }
func aead() hpke.AEAD { return hpke.AES256GCM() }

// info binds what is sealed to its purpose, host and session.
func info(host trust.ID, session string) []byte {
	return []byte("tenet/1 channel\x00" + string(host) + "\x00" + session)
}
