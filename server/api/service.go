package api

import (
	"bytes"
	"net/http"

	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/internal/telemetry"
	"github.com/tenetcm/tenet/server/access"
)

// registerService is what is about the server itself.
func (a *API) registerService() {
	a.registerRaw(Operation{ID: "openapi", Method: http.MethodGet, Path: "/v1/openapi.json", Tag: "server", Scope: Open,
		Summary: "Describe the API.", Description: "As OpenAPI 3.1. It holds nothing of this server but its version.", Codes: []string{codeFault}}, "application/openapi+json", nil,
		func(w http.ResponseWriter, _ *http.Request) {
			spec, err := a.spec()
			if err != nil {
				a.fault(err).write(w)
				return
			}
			w.Header().Set("Content-Type", "application/openapi+json")
			_, _ = w.Write(spec) // who does not read it gets none
		})
	a.registerRaw(Operation{ID: "health", Method: http.MethodGet, Path: "/healthz", Tag: "server", Scope: Open,
		Summary: "Tell whether the server is to get requests.", Description: "For load balancers: 200, or 503 with a problem that does not say what is wrong inside.", Codes: []string{codeUnhealthy}}, "text/plain", nil,
		func(w http.ResponseWriter, _ *http.Request) {
			if a.o.Healthy != nil && a.o.Healthy() != nil {
				newProblem(codeUnhealthy, "the server is to get no requests now", "ask another one, or try again").write(w)
				return
			}
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = w.Write([]byte("ok\n"))
		})
	a.registerRaw(Operation{ID: "metrics", Method: http.MethodGet, Path: "/metrics", Tag: "server", Scope: Everywhere, Verb: access.Read,
		Summary: "Give numbers for Prometheus.", Description: "In its text format. Prometheus shows the token of a program with the grant read.", Codes: []string{access.CodeForbidden}}, telemetry.MediaType, nil,
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", telemetry.MediaType)
			_, _ = w.Write(telemetry.Text(a.Metrics()))
		})
}

// writeSpec gives the description, in lines that can be compared.
func (a *API) writeSpec() ([]byte, error) {
	var b bytes.Buffer
	err := plainjson.WriteIndented(&b, a.huma.OpenAPI())
	return b.Bytes(), err
}
