package api

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/authority"
	"github.com/tenetcm/tenet/server/store"
)

// TrustedAuthority is a CA that hosts accept for the server's addresses.
type TrustedAuthority struct {
	Digest trust.Digest `json:"digest" doc:"The SHA-256 of its certificate, as tokens name it."`
	Name   string       `json:"name"`
	Ends   time.Time    `json:"ends"`
}

// Trusted is the newest trust document.
type Trusted struct {
	Generation  uint64             `json:"generation" doc:"Raised by the recovery key alone."`
	Number      uint64             `json:"number"`
	Issued      time.Time          `json:"issued"`
	Recovery    trust.PublicKey    `json:"recovery" doc:"The key that replaces any."`
	Authorities []TrustedAuthority `json:"authorities" nullable:"false"`
	Keys        []trust.Delegated  `json:"keys" nullable:"false" doc:"What each key may sign."`
	Expiring    []authority.Expiry `json:"expiring" nullable:"false" doc:"What ends soon, and does not renew by itself."`
}

type trustedOutput struct{ Body Trusted }

type trustKeyInput struct {
	Body struct {
		Key    trust.PublicKey `json:"key"`
		Name   string          `json:"name" maxLength:"200" doc:"For people: whose it is."`
		Verbs  []trust.Verb    `json:"verbs" minItems:"1" maxItems:"100" nullable:"false" doc:"All that it may sign from then on: trust, assign, release, or what hosts are asked for, such as exec."`
		Reason string          `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the audit."`
	}
}

type trustRemoveInput struct {
	Body struct {
		Key    trust.PublicKey `json:"key"`
		Reason string          `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the audit."`
	}
}

type trustDocumentInput struct {
	Body struct {
		Document trust.Signed `json:"document"`
		Reason   string       `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the audit."`
	}
}

type trustRotateInput struct {
	Body struct {
		What   string `json:"what" enum:"key,authority" doc:"The server's key, or its CA."`
		Reason string `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the audit."`
	}
}

type trustRetireInput struct {
	Body struct {
		Reason string `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the audit."`
	}
}

func (a *API) registerTrust() {
	op := func(id, method, path, summary, description string, codes ...string) Operation {
		o := Operation{ID: id, Method: method, Path: path, Tag: "trust", Summary: summary, Description: description, Scope: Everywhere, Verb: access.Admin, Codes: append(codes, access.CodeForbidden)}
		if method == http.MethodGet {
			o.Verb = access.Read
		}
		return o
	}
	Register(a, op("show-trust", http.MethodGet, "/v1/trust", "Show whom hosts trust.", "The newest trust document, and what of the server ends soon."),
		func(context.Context, *access.Caller, *struct{}) (*trustedOutput, error) { return a.trusted() })
	Register(a, op("list-trust-documents", http.MethodGet, "/v1/trust/documents", "List trust documents.", "All, as they were signed, the oldest first: for hosts to which they are brought by hand."),
		func(context.Context, *access.Caller, *struct{}) (*ListOutput[*trust.Signed], error) {
			if err := a.demandAuthority(); err != nil {
				return nil, err
			}
			return &ListOutput[*trust.Signed]{List[*trust.Signed]{Items: a.o.Authority.Chain().Signed()}}, nil
		})
	Register(a, op("add-trust-document", http.MethodPost, "/v1/trust/documents", "Add a trust document.", "One that was signed elsewhere, by a key that may, where the server's own may not.", access.CodeInvalid),
		func(ctx context.Context, c *access.Caller, in *trustDocumentInput) (*trustedOutput, error) {
			return a.changeTrust(ctx, c, "trust.document", in.Body.Reason, nil, func(also func(store.Tx) error) error {
				if err := a.namesServer(&in.Body.Document); err != nil {
					return err
				}
				return a.o.Authority.Accept(ctx, &in.Body.Document, also)
			})
		})
	Register(a, op("add-trust-key", http.MethodPost, "/v1/trust/keys", "Let a key sign something.", "An operator's, or that by which programs are released. One that is there already may sign this from then on, and nothing else.", access.CodeInvalid),
		func(ctx context.Context, c *access.Caller, in *trustKeyInput) (*trustedOutput, error) {
			return a.changeTrust(ctx, c, "trust.add-key", in.Body.Reason, map[string]string{"key": in.Body.Key.String(), "name": in.Body.Name}, func(also func(store.Tx) error) error {
				return a.o.Authority.Trust(ctx, authority.AddKey(in.Body.Key, in.Body.Name, in.Body.Verbs...), also)
			})
		})
	Register(a, op("remove-trust-key", http.MethodPost, "/v1/trust/keys/remove", "Take all rights from a key.", "Hosts that are away learn it when they come back.", access.CodeNotFound, access.CodeInvalid),
		func(ctx context.Context, c *access.Caller, in *trustRemoveInput) (*trustedOutput, error) {
			return a.changeTrust(ctx, c, "trust.remove-key", in.Body.Reason, map[string]string{"key": in.Body.Key.String()}, func(also func(store.Tx) error) error {
				return a.o.Authority.Trust(ctx, authority.RemoveKey(in.Body.Key), also)
			})
		})
	Register(a, op("rotate-trust", http.MethodPost, "/v1/trust/rotate", "Replace the server's key, or its CA.",
		"Hosts that are away find to the new CA by the former one. Standbys need a copy of the folder of keys after it.", access.CodeInvalid),
		func(ctx context.Context, c *access.Caller, in *trustRotateInput) (*trustedOutput, error) {
			return a.changeTrust(ctx, c, "trust.rotate", in.Body.Reason, map[string]string{"what": in.Body.What}, func(also func(store.Tx) error) error {
				if in.Body.What == "key" {
					return a.o.Authority.RotateKey(ctx, also)
				}
				return a.o.Authority.RotateAuthority(ctx, also)
			})
		})
	Register(a, op("retire-authorities", http.MethodPost, "/v1/trust/retire", "Trust the present CA alone.", "Former ones are taken from the trust document, once hosts have had the time to learn of the present one.", access.CodeInvalid),
		func(ctx context.Context, c *access.Caller, in *trustRetireInput) (*trustedOutput, error) {
			return a.changeTrust(ctx, c, "trust.retire", in.Body.Reason, nil, func(also func(store.Tx) error) error { return a.o.Authority.RetireAuthorities(ctx, also) })
		})
}

// namesServer refuses a document that does not name the server's own key: the server would not start with it any more.
func (a *API) namesServer(s *trust.Signed) error {
	var d trust.Document
	if err := json.Unmarshal(s.Content, &d); err != nil {
		return newProblem(access.CodeInvalid, "the trust document cannot be read: "+err.Error(), "sign it again")
	}
	if !slices.ContainsFunc(d.Keys, func(k trust.Delegated) bool { return a.o.Authority.Owns(k.Key) }) {
		return newProblem(access.CodeInvalid, "the trust document does not name the key of this server, which could not start with it", "let that key sign something harmless, such as ping")
	}
	return nil
}

func (a *API) demandAuthority() error {
	if a.o.Authority == nil {
		return &diag.HintError{Code: access.CodeNotSupported, Message: "this server has no keys that hosts could trust", Hint: "start it with its address"}
	}
	return nil
}

// changeTrust does something to the trust document, and audits it in the same transaction. Agents that are connected learn of it at once.
func (a *API) changeTrust(ctx context.Context, c *access.Caller, action, reason string, detail map[string]string, act func(also func(store.Tx) error) error) (*trustedOutput, error) {
	if err := a.demandAuthority(); err != nil {
		return nil, err
	}
	err := act(func(tx store.Tx) error {
		return access.Audit(tx, access.Entry{At: a.o.Clock(), Actor: c.Name, Action: action, Reason: reason, Detail: detail})
	})
	if err != nil {
		return nil, err
	}
	if a.o.Sessions != nil {
		a.o.Sessions.WakeAll(ctx)
	}
	return a.trusted()
}

func (a *API) trusted() (*trustedOutput, error) {
	if err := a.demandAuthority(); err != nil {
		return nil, err
	}
	d := a.o.Authority.Chain().Newest()
	out := Trusted{Generation: d.Generation, Number: d.Number, Issued: d.Issued, Recovery: d.Recovery, Keys: d.Keys, Authorities: []TrustedAuthority{}, Expiring: a.o.Authority.Expiring()}
	if out.Expiring == nil {
		out.Expiring = []authority.Expiry{}
	}
	for _, der := range d.Authorities {
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, err
		}
		out.Authorities = append(out.Authorities, TrustedAuthority{Digest: trust.DigestOf(der), Name: cert.Subject.CommonName, Ends: cert.NotAfter})
	}
	return &trustedOutput{out}, nil
}
