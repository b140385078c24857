package web

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/server/access"
)

// TestFactGroups checks that facts are grouped by the first word of their names, large groups folded until somebody searches, and that nothing is cut silently.
func TestFactGroups(t *testing.T) {
	p, f := newHost(t, access.AllGrants())
	disks := map[string]any{}
	for i := range maxUnfolded + 1 {
		disks[fmt.Sprintf("sd%03d", i)] = i
	}
	f.answers["/v1/hosts/web7/facts"] = map[string]any{"at": noon(), "facts": map[string]any{"cpus": 2, "disks": disks, "os": map[string]any{"id": "debian", "name": "a\u001b[31mb\u202e" + hostile}, "none": map[string]any{}, `"><i>`: map[string]any{"a": 1}}}
	body := has(t, p, "/hosts/web7?tab=facts", `<details class="group fact" id="fact-disks"><summary>`, "31 values", `<details class="group fact" id="fact-os" open>`, "2 values", ">os.id<", "a^[[31mb", "&#34;&gt;&lt;i&gt;.a")
	alone, grouped, _ := strings.Cut(body, `<details class="group fact"`)
	if !strings.Contains(alone, ">cpus<") || !strings.Contains(alone, ">none<") || strings.Contains(alone, "os.id") || strings.Contains(grouped, ">cpus<") {
		t.Errorf("what has one value does not stand by itself:\n%s", body)
	}
	if strings.ContainsAny(body, "\u001b\u202e") {
		t.Error("a control character is on the page")
	}
	found := has(t, p, "/hosts/web7?tab=facts&words=disks", `<details class="group fact" id="fact-disks" open>`)
	if strings.Contains(found, "os.id") || strings.Contains(found, ">cpus<") {
		t.Error("facts are not filtered")
	}
	has(t, p, "/hosts/web7?tab=facts&words=nothing", "No fact fits")
	many := map[string]any{}
	for i := range maxFacts + 5 {
		many[fmt.Sprintf("k%05d", i)] = i
	}
	f.answers["/v1/hosts/web7/facts"] = map[string]any{"at": noon(), "facts": map[string]any{"many": many, "zone": "UTC"}}
	has(t, p, "/hosts/web7?tab=facts", "6 more are not shown: filter by words", "2,000 values")
	has(t, p, "/hosts/web7?tab=facts&words=zone", ">zone<")
}
