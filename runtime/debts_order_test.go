package runtime_test

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
)

// Handlers that are owed from another run come in the order that follows gives, whether anything notifies them now
// or not, and by way of one that is excluded.
func TestOwedHandlersFollowEachOther(t *testing.T) {
	handler := func(name, follows string) string {
		return "handler \"" + name + "\" {\n follows = [" + follows + "]\n command \"log\" {\n argv = [\"log\", \"" + name + "\"]\n }\n}\n"
	}
	handlers := handler("late", "handler.mid") + handler("mid", "handler.early") + handler("early", "")
	notifier := "file \"/conf\" {\n notify = [handler.late, handler.mid, handler.early]\n}\n"
	follower := "command \"after\" {\n argv = [\"log\", \"after\"]\n follows = [handler.late]\n}\n"
	for name, c := range map[string]struct {
		site         string
		exclude, ran []string
	}{
		"owed alone":     {handlers, nil, []string{"early", "mid", "late"}},
		"notified again": {follower + strings.Replace(notifier, "{", "{\n content = \"new\"", 1) + handlers, nil, []string{"early", "mid", "late", "after"}},
		"one excluded":   {handlers, []string{"state.mid"}, []string{"early", "late"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPast(t)
			write(t, p, "/broken", "")
			p.apply(t, notifier+handlers)
			p.didRun(t)
			if err := p.Remove("/broken"); err != nil {
				t.Fatal(err)
			}
			run, diags := compile(t, modules.Standard(), c.site).Select(graph.Selection{Exclude: c.exclude})
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			p.carry(t, runtime.Apply, run)
			p.didRun(t, c.ran...)
		})
	}
}
