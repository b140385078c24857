package managertest

import (
	"fmt"
	"strings"
)

// Document gives the document of a deployment of type compose with components in their order, each as NAME or NAME:REVISION; more is
// put at the end of spec.
func Document(id string, components []string, more ...string) string {
	return DocumentOf("compose", id, DeviceID, components, more...)
}

// DocumentOf gives one of any type for any device.
func DocumentOf(kind, id, device string, components []string, more ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "id: %s\nmetadata:\n  name: name-of-%s\n  namespace: margo\n  deviceId: %q\nspec:\n  applicationId: com-example-app\n  deploymentProfile:\n    type: %s\n    components:\n", id, id, device, kind)
	for _, c := range components {
		name, revision, ok := strings.Cut(c, ":")
		if !ok {
			revision = "1.0.0"
		}
		fmt.Fprintf(&b, "    - name: %s\n      properties:\n        repository: oci://registry.test/apps/%s\n        revision: %s\n", name, name, revision)
	}
	for _, m := range more {
		b.WriteString(m + "\n")
	}
	return b.String()
}
