package packages_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/packages"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// What needs a package goes with it. A plan names that, an apply does before it
// acts, and what the site declares is not taken along.
func TestRemovalTakesAlong(t *testing.T) {
	newHost := func() host.Host {
		h := fake.Host(t)
		fake.Apt(t, h)
		for _, name := range []string{"lib", "curl", "wget"} {
			fake.Installed(t, h, name, "1.0", "install")
		}
		fake.Needed(t, h, "lib", "curl", "wget")
		return h
	}
	lib := states.Item{Have: &packages.Package{Name: "lib", Version: new("1.0")}}

	h := newHost()
	err := packages.Module.Batch(t.Context(), host.NewShadow(h), []states.Item{lib})[0]
	uncertain, ok := errors.AsType[*states.UncertainError](err)
	if !ok || !strings.Contains(uncertain.Reason, "removed, too: curl, wget") {
		t.Errorf("a plan says %v", err)
	}
	var said []string
	ctx := states.WithSay(t.Context(), func(text string) { said = append(said, text) })
	if err := packages.Module.Batch(ctx, h, []states.Item{lib})[0]; err != nil {
		t.Error(err)
	}
	if len(said) != 1 || !strings.Contains(said[0], "removed, too: curl, wget") {
		t.Errorf("an apply says %q", said)
	}

	h = newHost()
	ctx = states.WithPeers(t.Context(), func(string) []any { return []any{&packages.Package{Name: "curl"}} })
	for name, on := range map[string]host.Host{"plan": host.NewShadow(h), "apply": h} {
		err := packages.Module.Batch(ctx, on, []states.Item{lib})[0]
		if err == nil || !strings.Contains(err.Error(), "curl would be removed, too, which this site declares") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if log := fake.Text(h, fake.AptLog); log != "" {
		t.Errorf("apt-get did %q", log)
	}
	if have, err := packages.Module.Read(context.WithoutCancel(ctx), h, &packages.Package{Name: "lib"}); have == nil || err != nil {
		t.Errorf("it is gone, or %v", err)
	}
}
