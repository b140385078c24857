package packages_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/packages"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// A package whose dependencies cannot be installed fails in a plan already, alone; while
// all is well a plan asks once for all of them.
func TestPlanOfUnmetDependencies(t *testing.T) {
	h := fake.Host(t)
	fake.Apt(t, h)
	for _, name := range []string{"fine", "other", "broken-thing"} {
		fake.Offer(t, h, true, name, "1.0")
	}
	asked := &counted{Host: h}
	wanted := func(names ...string) (items []states.Item) {
		for _, name := range names {
			items = append(items, states.Item{Want: &packages.Package{Name: name}})
		}
		return items
	}
	for _, err := range packages.Module.Batch(t.Context(), host.NewShadow(asked), wanted("fine", "other")) {
		if !errors.Is(err, host.ErrUnforeseeable) {
			t.Errorf("what can be installed: %v", err)
		}
	}
	if asked.rehearsals != 1 {
		t.Errorf("it is asked for %d times", asked.rehearsals)
	}
	errs := packages.Module.Batch(t.Context(), host.NewShadow(asked), wanted("fine", "broken-thing"))
	if !errors.Is(errs[0], host.ErrUnforeseeable) {
		t.Errorf("the other one: %v", errs[0])
	}
	if errs[1] == nil || errors.Is(errs[1], host.ErrUnforeseeable) || !strings.Contains(errs[1].Error(), "broken-thing : Depends: lib-of-broken-thing but it is not installable") {
		t.Errorf("the broken one: %v", errs[1])
	}
	if log := fake.Text(h, fake.AptLog); log != "" {
		t.Errorf("apt-get did %q", log)
	}
	if errs := packages.Module.Batch(t.Context(), h, wanted("fine", "broken-thing")); errs[0] != nil || errs[1] == nil {
		t.Errorf("an apply says %v", errs)
	}
}

// While apt cannot be asked, nobody knows whether a package can be installed.
func TestPlanWhileAptCannotBeAsked(t *testing.T) {
	h := fake.Host(t)
	fake.Apt(t, h)
	fake.Offer(t, h, true, "fine", "1.0")
	asked := &counted{Host: h, deaf: true}
	err := packages.Module.Batch(t.Context(), host.NewShadow(asked), []states.Item{{Want: &packages.Package{Name: "fine"}}})[0]
	if maybe, ok := errors.AsType[*states.UncertainError](err); !ok || maybe.Reason != "whether its dependencies can be installed shows in the apply" {
		t.Errorf("a plan says %v", err)
	}
	if asked.rehearsals != 1 {
		t.Errorf("it is asked for %d times", asked.rehearsals)
	}
}

// counted counts how often apt is asked what it would do; deaf, it gives no answer.
type counted struct {
	host.Host
	rehearsals int
	deaf       bool
}

func (c *counted) Query(ctx context.Context, q host.Query) (host.Result, error) {
	if slices.Contains(q.Argv, "-s") {
		c.rehearsals++
		if c.deaf {
			return host.Result{}, errors.New("apt-get cannot be started")
		}
	}
	return c.Host.Query(ctx, q)
}
