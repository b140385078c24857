package site

import (
	"net/url"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
)

// Telemetry says who is told what runs do. The zero value is nobody.
type Telemetry struct {
	// OTLP is the address of a collector of OpenTelemetry that takes OTLP over HTTP: signals go to /v1/traces and /v1/metrics below it.
	OTLP string `json:"otlp,omitempty"`
}

// Check says what is wrong with it. The error is a *diag.HintError.
func (t Telemetry) Check() error {
	wrong := func(message, hint string) error { return &diag.HintError{Message: message, Hint: hint} }
	u, err := url.Parse(t.OTLP)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return wrong("otlp is no address", `write otlp = "http://localhost:4318"`)
	case u.User != nil:
		return wrong("otlp has a login in it", "everybody who sees the site would see it: give headers by the environment, OTEL_EXPORTER_OTLP_HEADERS")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return wrong("otlp has more than an address and a path", `write otlp = "http://localhost:4318"`)
	case strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), "/v1/traces") || strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), "/v1/metrics"):
		return wrong("otlp names the address of one signal", "leave out /v1/traces and /v1/metrics, which are added")
	}
	return nil
}
