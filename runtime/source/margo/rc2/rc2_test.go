package rc2_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/source/margo/rc2"
)

// document is one with all that a deployment may have.
const document = `
apiVersion: margo.org/v1
kind: ApplicationDeployment
id: a3e2f5dc-912e-494f-8395-52cf3769bc06
metadata:
  name: orchestrator
  namespace: poc
  deviceId: edge-01
  labels: {a: b}
spec:
  applicationId: com-example-orchestrator
  x-example-extensions: {any: [1, 2]}
  deploymentProfile:
    type: compose
    components:
    - name: database
      properties: {repository: oci://registry.test/charts/database, revision: 2.3.7-rc.1_build.5, timeout: 8m30s, wait: false}
    - name: web
      properties: {repository: oci://registry.test/charts/web, revision: 1.0.9}
    deviceConstraints:
      capacityRequirements: {cpu: {cores: 1.5, architectures: [amd64]}, memory: 1024Mi}
      eligibilityRules:
      - labelSelector: {matchExpressions: [{key: line, operator: In, values: [a]}]}
  parameters:
    port: {value: 8080, targets: [{pointer: PORT, components: [web]}]}
    name: {value: "Some One", targets: [{pointer: NAME, components: [web, database]}]}
    debug: {value: true, targets: [{pointer: DEBUG, components: [web]}]}
`

func TestReadDeployment(t *testing.T) {
	d, err := rc2.ReadDeployment([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	if d.ID != "a3e2f5dc-912e-494f-8395-52cf3769bc06" || d.Name != "orchestrator" || d.Device != "edge-01" || d.Application != "com-example-orchestrator" || d.Type != rc2.TypeCompose {
		t.Errorf("%+v", d)
	}
	want := []rc2.Component{
		{Name: "database", Repository: "oci://registry.test/charts/database", Revision: "2.3.7-rc.1_build.5", Timeout: 8*time.Minute + 30*time.Second},
		{Name: "web", Repository: "oci://registry.test/charts/web", Revision: "1.0.9", Wait: true, Timeout: rc2.DefaultTimeout},
	}
	if len(d.Components) != 2 || d.Components[0] != want[0] || d.Components[1] != want[1] {
		t.Errorf("components %+v", d.Components)
	}
	values := ""
	for _, p := range d.Parameters {
		values += p.Name + "=" + p.Value + " "
	}
	if values != "debug=true name=Some One port=8080 " || len(d.Rules) != 1 {
		t.Errorf("parameters %q, rules %+v", values, d.Rules)
	}
}

func TestDeploymentsThatAreWrong(t *testing.T) {
	for name, change := range map[string][2]string{
		"no id":                {"id: a3e2", "identity: a3e2"},
		"no device":            {"deviceId:", "device:"},
		"name of a component":  {"name: database", "name: ../database"},
		"component twice":      {"name: web\n", "name: database\n"},
		"not OCI":              {"oci://registry.test/charts/web", "https://registry.test/web"},
		"leading v":            {"1.0.9", "v1.0.9"},
		"timeout without end":  {"8m30s", "99999m0s"},
		"timeout of nothing":   {"8m30s", "0m0s"},
		"timeout in hours":     {"8m30s", "8h"},
		"member of a profile":  {"    type: compose", "    kind: compose\n    type: compose"},
		"operator":             {"operator: In", "operator: Like"},
		"values missing":       {"operator: In, values: [a]", "operator: In"},
		"value of a parameter": {"value: 8080", "value: [1]"},
		"id is no name":        {"id: a3e2f5dc-912e-494f-8395-52cf3769bc06", "id: a/../b"},
	} {
		text := strings.Replace(document, change[0], change[1], 1)
		if text == document {
			t.Fatalf("%s: nothing changed", name)
		}
		if _, err := rc2.ReadDeployment([]byte(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestRules(t *testing.T) {
	c, err := rc2.ReadCapabilities("c.yaml", []byte(`
properties:
  id: edge-01
  vendor: Acme
  modelNumber: M
  serialNumber: "1"
  memory: 4Gi
  cpus: [{cores: 4, architecture: amd64}, {cores: 2, architecture: arm64}]
  supportedRuntimes: [oci]
  otelCollector: true
labels:
  line: a
  slots: 3
  zones: [x, y]
  text: "12"
`))
	if err != nil {
		t.Fatal(err)
	}
	for rule, want := range map[string]bool{
		`[]`:   true,
		`[{}]`: false,
		`[{labelSelector: {matchExpressions: [{key: line, operator: In, values: [b, a]}]}}]`:                                                                                                                                 true,
		`[{labelSelector: {matchExpressions: [{key: line, operator: In, values: [A]}]}}]`:                                                                                                                                    false,
		`[{labelSelector: {matchExpressions: [{key: zones, operator: In, values: [y]}]}}]`:                                                                                                                                   true,
		`[{labelSelector: {matchExpressions: [{key: zones, operator: NotIn, values: [y]}]}}]`:                                                                                                                                false,
		`[{labelSelector: {matchExpressions: [{key: zones, operator: NotIn, values: [z]}]}}]`:                                                                                                                                true,
		`[{labelSelector: {matchExpressions: [{key: none, operator: NotIn, values: [z]}]}}]`:                                                                                                                                 false,
		`[{labelSelector: {matchExpressions: [{key: none, operator: DoesNotExist}]}}]`:                                                                                                                                       true,
		`[{labelSelector: {matchExpressions: [{key: line, operator: Exists}]}}]`:                                                                                                                                             true,
		`[{labelSelector: {matchExpressions: [{key: slots, operator: Gt, values: [2.5]}]}}]`:                                                                                                                                 true,
		`[{labelSelector: {matchExpressions: [{key: slots, operator: Lt, values: [3]}]}}]`:                                                                                                                                   false,
		`[{labelSelector: {matchExpressions: [{key: slots, operator: In, values: [3.0]}]}}]`:                                                                                                                                 true,
		`[{labelSelector: {matchExpressions: [{key: text, operator: Gt, values: ["9"]}]}}]`:                                                                                                                                  true,
		`[{labelSelector: {matchExpressions: [{key: line, operator: Gt, values: [1]}]}}]`:                                                                                                                                    false,
		`[{labelSelector: {matchExpressions: [{key: line, operator: Exists}, {key: slots, operator: Gt, values: [9]}]}}]`:                                                                                                    false,
		`[{labelSelector: {matchExpressions: [{key: none, operator: Exists}]}}, {labelSelector: {matchExpressions: [{key: line, operator: Exists}]}}]`:                                                                       true,
		`[{propertySelector: {matchExpressions: [{key: /vendor, operator: In, values: [Acme]}]}, labelSelector: {matchExpressions: [{key: line, operator: In, values: [b]}]}}]`:                                              false,
		`[{propertySelector: {matchExpressions: [{key: vendor, operator: In, values: [Acme]}]}}]`:                                                                                                                            false,
		`[{propertySelector: {matchExpressions: [{key: /cpus, operator: In, values: [amd64]}]}}]`:                                                                                                                            false,
		`[{propertySelector: {matchExpressions: [{key: /cpus, operator: NotIn, values: [amd64]}]}}]`:                                                                                                                         false,
		`[{propertySelector: {matchExpressions: [{key: /cpus/1/architecture, operator: In, values: [arm64]}]}}]`:                                                                                                             true,
		`[{propertySelector: {matchExpressions: [{key: /cpus/01/architecture, operator: In, values: [arm64]}]}}]`:                                                                                                            false,
		`[{propertySelector: {matchExpressions: [{key: /otelCollector, operator: In, values: [true]}]}}]`:                                                                                                                    true,
		`[{propertySelector: {matchExpressions: [{key: /supportedRuntimes, operator: In, values: [oci]}]}}]`:                                                                                                                 true,
		`[{propertySelector: {matchExpressions: [{key: /cpus, operator: ContainsAll, itemSelector: {matchExpressions: [{key: /cores, operator: Gt, values: [3]}, {key: /architecture, operator: In, values: [arm64]}]}}]}}]`: false,
		`[{propertySelector: {matchExpressions: [{key: /cpus, operator: ContainsAll, itemSelector: {matchExpressions: [{key: /cores, operator: Gt, values: [3]}, {key: /architecture, operator: In, values: [amd64]}]}}]}}]`: true,
		`[{propertySelector: {matchExpressions: [{key: /cpus, operator: ContainsAny, itemSelector: {matchExpressions: [{key: /cores, operator: Gt, values: [9]}, {key: /architecture, operator: In, values: [arm64]}]}}]}}]`: true,
	} {
		text := strings.Replace(document, "      - labelSelector: {matchExpressions: [{key: line, operator: In, values: [a]}]}", "        "+rule, 1)
		d, err := rc2.ReadDeployment([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", rule, err)
		}
		if got := c.Fits(d.Rules); got != want {
			t.Errorf("%s: %t", rule, got)
		}
	}
}

type entry struct {
	name string
	kind byte
	data string
}

func archive(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Size: int64(len(e.data)), Linkname: "/etc/passwd"}
		if e.kind != tar.TypeReg {
			h.Size = 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.data)[:h.Size]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestReadBundle(t *testing.T) {
	wanted := []rc2.Reference{{ID: "a", Digest: rc2.DigestOf([]byte("one"))}, {ID: "b", Digest: rc2.DigestOf([]byte("two"))}}
	one, two := entry{"x.yaml", tar.TypeReg, "one"}, entry{"../../y.yaml", tar.TypeReg, "two"}
	got, err := rc2.ReadBundle(archive(t, entry{"./", tar.TypeDir, ""}, one, two), wanted)
	if err != nil || string(got["a"]) != "one" || string(got["b"]) != "two" {
		t.Errorf("%q, %v", got, err)
	}
	for name, data := range map[string][]byte{
		"one is missing": archive(t, one),
		"one too many":   archive(t, one, two, entry{"z.yaml", tar.TypeReg, "three"}),
		"link":           archive(t, one, two, entry{"z.yaml", tar.TypeSymlink, ""}),
		"device":         archive(t, one, two, entry{"z.yaml", tar.TypeBlock, ""}),
		"large":          archive(t, one, two, entry{"z.yaml", tar.TypeReg, strings.Repeat("x", rc2.MaxDeployment+1)}),
		"no gzip":        []byte("hello"),
		"half":           archive(t, one, two)[:40],
	} {
		if got, err := rc2.ReadBundle(data, wanted); err == nil {
			t.Errorf("%s: %d documents, and no error", name, len(got))
		}
	}
}

func TestReadProblem(t *testing.T) {
	p, err := rc2.ReadProblem([]byte(`{"type": "https://docs.margo.org/specification/problem-types#not-authorized", "title": "No", "status": 403, "retryable": false, "vendor_word": [1]}`))
	if err != nil || p.Kind() != rc2.KindNotAuthorized || p.Retryable == nil || *p.Retryable {
		t.Errorf("%+v, %v", p, err)
	}
	p, err = rc2.ReadProblem([]byte(`{"type": "https://docs.margo.org/specification/margo-management-interface/problem-types#not-authorized", "retryAfterSeconds": 99999999999999999999}`))
	if err != nil || p.Kind() != rc2.KindNotAuthorized || p.After != 24*time.Hour || p.Retryable != nil {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := rc2.ReadProblem([]byte(`{"retryAfterSeconds": -1}`)); err == nil {
		t.Errorf("%+v", p)
	}
}

func TestGravest(t *testing.T) {
	for states, want := range map[string]rc2.State{
		"installed failed removing":  rc2.Failed,
		"installed removing pending": rc2.Removing,
		"pending installing":         rc2.Installing,
		"installed pending":          rc2.Pending,
		"installed removed":          rc2.Installed,
		"removed removed":            rc2.Removed,
	} {
		var all []rc2.ComponentStatus
		for s := range strings.FieldsSeq(states) {
			all = append(all, rc2.ComponentStatus{State: rc2.State(s)})
		}
		if got := rc2.Gravest(all); got != want {
			t.Errorf("%s: %s", states, got)
		}
	}
}
