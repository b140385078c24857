package lang_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
)

// telemetryOf gives the address of the collector of a site, or what is wrong.
func telemetryOf(t *testing.T, file, src string) string {
	t.Helper()
	s, list := lang.Load(fstest.MapFS{file: {Data: []byte(src)}}, lang.Options{Registry: modules.Standard()})
	if !list.HasErrors() {
		d, found := s.Evaluate(t.Context(), lang.Target{})
		if list = append(list, found...); !list.HasErrors() {
			if d.Telemetry == nil {
				return "nobody"
			}
			return d.Telemetry.OTLP
		}
	}
	return list.Err().Error()
}

func TestTelemetry(t *testing.T) {
	for file, src := range map[string]string{
		"site.hcl":  `telemetry { otlp = "https://otel.example.com:4318/tenet" }`,
		"site.star": `telemetry(otlp = "https://otel.example.com:4318/tenet")`,
	} {
		if got := telemetryOf(t, file, src); got != "https://otel.example.com:4318/tenet" {
			t.Errorf("%s: %s", file, got)
		}
	}
	if got := telemetryOf(t, "site.hcl", `telemetry {}`); got != "nobody" {
		t.Errorf("without an address: %s", got)
	}
	for src, want := range map[string]string{
		`telemetry { otlp = "otel.example.com:4318" }`:          "otlp is no address",
		`telemetry { otlp = "grpc://otel.example.com" }`:        "otlp is no address",
		`telemetry { otlp = "http://me:pw@localhost:4318" }`:    "otlp has a login in it",
		`telemetry { otlp = "http://localhost:4318/?a=b" }`:     "more than an address and a path",
		`telemetry { otlp = "http://localhost/v1/traces" }`:     "the address of one signal",
		`telemetry { otlp = fact.hostname }`:                    "otlp",
		`telemetry { otlp = 3 }`:                                "otlp",
		`telemetry { url = "http://localhost:4318" }`:           "url",
		"telemetry {}\ntelemetry {}":                            "telemetry is described twice",
		"role \"a\" {\n  telemetry {}\n}":                       "telemetry",
		`site { telemetry { otlp = "http://localhost:4318" } }`: "telemetry",
	} {
		got := telemetryOf(t, "site.hcl", src)
		if !strings.Contains(got, want) || !strings.Contains(got, "site.hcl:") || strings.Contains(got, "me:pw") {
			t.Errorf("%s: %s, want %q at its line", src, got, want)
		}
	}
}
