package cli

import (
	"strings"
	"testing"

	api "github.com/tenetcm/tenet/server/api/client"
)

// A failure that is of no component is told once.
func TestSourceDetail(t *testing.T) {
	failed := api.SourceText{Message: "there is no room"}
	s := &api.Source{Name: "shop", Phase: "failed", SourceText: failed, Components: []api.SourceComponent{{Phase: "failed", SourceText: failed}}}
	if text := sourceDetail(s); strings.Count(text, "there is no room") != 1 {
		t.Errorf("it tells\n%s", text)
	}
	s.Components = append(s.Components, api.SourceComponent{Name: "web", Phase: "installed"})
	if text := sourceDetail(s); !strings.Contains(text, "in no component  failed") || !strings.Contains(text, "component web  installed") {
		t.Errorf("it tells\n%s", text)
	}
}
