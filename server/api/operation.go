package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/tenetcm/tenet/server/access"
)

// Scope says whom an operation is for.
type Scope string

// The scopes of operations.
const (
	// Open is for everybody, also who has not logged in.
	Open Scope = "open"
	// Self is for everybody who has logged in, and about themselves.
	Self Scope = "self"
	// Somewhere is for who has the verb for any host and site. The handler has to ask
	// access.Caller.May of each host and site that it shows or acts on.
	Somewhere Scope = "somewhere"
	// Everywhere is for who has the verb for all hosts and sites.
	Everywhere Scope = "everywhere"
)

// Operation is one operation of the API.
type Operation struct {
	ID          string // a few words with "-" between them, such as "list-people"
	Method      string
	Path        string // under /v1
	Tag         string // the resource
	Summary     string // one line
	Description string // whole sentences
	Scope       Scope
	Verb        access.Verb // for Somewhere and Everywhere
	// Codes are those of its own errors, the most usual first: which it has an example of. Those that the frame answers need not be named.
	Codes []string
	// Status of success; 0: 200, or 204 where there is no body.
	Status  int
	MaxBody int64         // bytes; 0: 1 MiB
	Limit   time.Duration // how long it may take; 0: 30 s; negative: as long as the caller wants
}

const (
	defaultBody  = 1 << 20
	defaultLimit = 30 * time.Second
)

// Register makes an operation part of the API. The input is a struct as huma has it: fields with the
// tags path, query and header, and Body. The caller is nil for Open operations only.
func Register[I, O any](a *API, op Operation, handler func(ctx context.Context, caller *access.Caller, in *I) (*O, error)) {
	a.add(&op)
	huma.Register(a.huma, a.document(op), func(ctx context.Context, in *I) (*O, error) {
		out, err := handler(ctx, callerOf(ctx), in)
		if err != nil {
			return nil, a.problem(err)
		}
		return out, nil
	})
}

// add notes an operation, so that the guard finds it.
func (a *API) add(op *Operation) {
	if op.MaxBody == 0 {
		op.MaxBody = defaultBody
	}
	if op.Limit == 0 {
		op.Limit = defaultLimit
	}
	a.operations = append(a.operations, *op)
	a.byPattern[op.Method+" "+op.Path] = *op
}

// registerRaw is for what no schema can describe: the answer is written by the handler.
func (a *API) registerRaw(op Operation, mediaType string, params []*huma.Param, handler http.HandlerFunc) {
	a.add(&op)
	described := a.document(op)
	described.Parameters = params
	described.Responses["200"] = &huma.Response{Description: "OK", Content: map[string]*huma.MediaType{mediaType: {Schema: &huma.Schema{Type: huma.TypeString}}}}
	a.huma.OpenAPI().AddOperation(&described)
	router{a}.HandleFunc(op.Method+" "+op.Path, handler)
}

// document describes an operation with an example of its errors and what it demands.
func (a *API) document(op Operation) huma.Operation {
	h := huma.Operation{OperationID: op.ID, Method: op.Method, Path: op.Path, Tags: []string{op.Tag}, Summary: op.Summary, Description: op.Description,
		DefaultStatus: op.Status, MaxBodyBytes: op.MaxBody, BodyReadTimeout: op.Limit, Responses: map[string]*huma.Response{}, Extensions: map[string]any{"x-tenet-scope": string(op.Scope)}}
	if op.Verb != "" {
		h.Extensions["x-tenet-verb"] = string(op.Verb)
	}
	if op.Scope != Open {
		h.Security = []map[string][]string{{"bearer": {}}, {"cookie": {}}}
	}
	examples := map[string]*huma.Example{}
	for _, code := range op.Codes {
		examples[code] = &huma.Example{Value: example(code)}
	}
	schema := a.huma.OpenAPI().Components.Schemas.Schema(problemType(), true, "Problem")
	h.Responses["default"] = &huma.Response{Description: "A problem", Content: map[string]*huma.MediaType{problemMediaType: {Schema: schema, Examples: examples}}}
	return h
}

// describe is the description of the API as a whole.
func describe(version string) huma.Config {
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	return huma.Config{
		OpenAPI: &huma.OpenAPI{OpenAPI: "3.1.0", Info: &huma.Info{Title: "tenet", Version: version,
			Description: "The server of tenet. Each operation says in x-tenet-scope and x-tenet-verb what it demands; all errors are problems (RFC 9457) whose code is for programs."},
			Components: &huma.Components{Schemas: registry, SecuritySchemes: map[string]*huma.SecurityScheme{
				"bearer": {Type: "http", Scheme: "bearer", Description: "The secret of a session, or of a program's token."},
				"cookie": {Type: "apiKey", In: "cookie", Name: SessionCookie, Description: "A session in a browser. What changes something needs the Origin of the server, too."},
			}}},
		Formats:       map[string]huma.Format{"application/json": jsonFormat(), "json": jsonFormat()},
		DefaultFormat: "application/json", RejectUnknownQueryParameters: true,
		Transformers: []huma.Transformer{toProblem},
	}
}
