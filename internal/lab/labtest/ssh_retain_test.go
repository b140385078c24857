//go:build lab

package labtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// retainSite has releases of many files, of which two stay, and a link to the one that is wanted. It takes its time, so that there
// is some for deaths.
const retainSite = `
site {
  name = "retained"
}

variable "release" {}

directory "release" {
  path    = "/srv/app/${var.release}"
  parents = true
  retain  = 2
}

state "slow" {
  for_each = toset([for i in range(20) : tostring(i)])
  require  = [directory.release]
  command "pause" {
    shell = "sleep 0.1"
  }
  file "content" {
    path    = "/srv/app/${var.release}/${each.key}"
    content = "${var.release}\n"
  }
}

file "content" {
  for_each = toset([for i in range(20, 400) : tostring(i)])
  path     = "/srv/app/${var.release}/${each.key}"
  content  = "${var.release}\n"
  require  = [state.slow]
}

symlink "current" {
  path    = "/srv/current"
  target  = "/srv/app/${var.release}"
  require = [file.content]
}
`

// Releases over SSH, on a host whose runner is killed, or that loses power, at random points: what is wanted, or among
// the last two that were, is never lost, and the next apply leaves nothing else.
func TestSSHRetain(t *testing.T) {
	t.Parallel()
	f := lasting(t, "retained")
	h := f.hosts[0]
	f.on(h, "mkdir -p /srv")
	site := f.site("retained", f.asRoot()+retainSite)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var order []string // as they were wanted: the last comes last
	deaths := 0
	for round := range 16 {
		release := fmt.Sprint(round)
		if len(order) > 1 && random.IntN(3) == 0 {
			release = order[len(order)-2] // a rollback
		}
		order = append(slices.DeleteFunc(order, func(r string) bool { return r == release }), release)
		order = order[max(0, len(order)-2):]
		before := f.wholeReleases()
		parts := 400
		if len(before) == 2 && !slices.Contains(before, release) { // then one goes
			parts = 800
		}
		if f.dies(site, release, random, parts, round%5 == 4) {
			deaths++
		}
		after := f.wholeReleases()
		for _, r := range order {
			if slices.Contains(before, r) && !slices.Contains(after, r) {
				t.Errorf("round %d: the release %s is lost: %v were there, and %v are", round, r, before, after)
			}
		}
		f.applies(0, "--var", "release="+release, site)
		if got, want := f.wholeReleases(), slices.Sorted(slices.Values(order)); !slices.Equal(got, want) {
			t.Errorf("round %d: there are %v, want %v", round, got, want)
		}
		if all := strings.Fields(f.on(h, "ls /srv/app")); len(all) != len(order) {
			t.Errorf("round %d: there are %v, want %v", round, all, order)
		}
		if got := f.on(h, "readlink /srv/current"); got != "/srv/app/"+release {
			t.Errorf("round %d: %s is current, not %s", round, got, release)
		}
	}
	if t.Logf("%d of 16 applies have died", deaths); deaths < 4 {
		t.Error("too few applies have died: the test shows little")
	}
}

// dies applies a release and, at a random point of so many parts, ends the runner or takes the power away. It reports
// whether the apply has not ended well.
func (f *fleet) dies(site, release string, random *rand.Rand, parts int, powerless bool) bool {
	f.Helper()
	h := f.hosts[0]
	p := f.start("apply", "--yes", "--json", "--parallel", "1", "--var", "release="+release, site)
	if random.IntN(2) == 0 { // while it is made
		f.await(p, random.IntN(40))
	} else { // while others go, if there are any
		f.await(p, 50+random.IntN(parts-50))
	}
	if powerless {
		if err := h.LosePower(); err != nil {
			f.Fatal(err)
		}
		if err := h.AwaitReboot(f.Context()); err != nil {
			f.Fatal(err)
		}
	} else {
		f.on(h, "pkill -KILL -f 'runner [s]erve' || true")
	}
	r, err := p.Wait(f.within(3 * time.Minute))
	if err != nil {
		f.Fatal(err)
	}
	return r.ExitCode != 0
}

// wholeReleases lists the releases that are there with all of their files, sorted.
func (f *fleet) wholeReleases() []string {
	f.Helper()
	found := strings.Fields(f.on(f.hosts[0], `cd /srv/app 2>/dev/null || exit 0
for r in *; do
  test -d "$r" || continue
  n=$(cat "$r"/* 2>/dev/null | grep -cx "$r" || true)
  if [ "$n" = 400 ]; then echo "$r"; fi
done`))
	slices.Sort(found)
	return found
}
