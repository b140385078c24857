package cli

import (
	"cmp"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/internal/watchdog"
	"github.com/tenetcm/tenet/lang/diag"
)

// limitEvaluation limits the time and memory of what follows, until the result is called:
// the evaluation of a site cannot be cancelled everywhere. It ends the program,
// with a diagnostic.
func (s *client) limitEvaluation() (stop func()) {
	memory, _ := parseSize(s.globals.EvalMemory) // checkLimits has looked at it
	if s.forMany {                               // what other hosts are sent is not this one's
		memory = cmp.Or(memory, watchdog.DefaultMemory) + watchdog.InUse()
	}
	dog := watchdog.Watch(watchdog.Limits{Time: s.globals.EvalTimeout, Memory: memory}, func(a watchdog.Alarm) {
		flag, what := "--eval-timeout", "a loop, or a function that is called too often"
		if a.Memory > 0 {
			flag, what = "--eval-memory", "text or a list that grows too large"
		}
		// A site that does this is wrong, whatever printing says.
		_ = s.show(diag.List{{Severity: diag.Error, Summary: "the evaluation of the site " + a.String(),
			Detail: "The program was ended.", Hint: "look for " + what + "; " + flag + " raises the limit"}}, nil)
		exit := s.Exit
		if exit == nil {
			exit = os.Exit
		}
		exit(exitSite)
	})
	s.dogs.mu.Lock()
	s.dogs.list = append(s.dogs.list, dog)
	s.dogs.mu.Unlock()
	return func() {
		dog.Stop()
		s.dogs.mu.Lock()
		defer s.dogs.mu.Unlock()
		s.dogs.list = slices.DeleteFunc(slices.Clone(s.dogs.list), func(d *watchdog.Dog) bool { return d == dog })
	}
}

// dogs watch the evaluations that go on, of several hosts at a time.
type dogs struct {
	mu   sync.Mutex
	list []*watchdog.Dog
}

// outsideEvaluation calls f, which waits for a person or a program: that is no evaluation. Who waits for another
// one's f is not evaluating either.
func (s *client) outsideEvaluation(f func()) {
	s.dogs.mu.Lock()
	list := s.dogs.list
	s.dogs.mu.Unlock()
	for _, dog := range list {
		inner := f
		f = func() { dog.Pause(inner) }
	}
	f()
}

// checkLimits refuses limits that are none.
func (s *client) checkLimits() error {
	if s.globals.EvalTimeout < 0 {
		return usage("write a duration such as 30s", "--eval-timeout cannot be %s", s.globals.EvalTimeout)
	}
	if _, ok := parseSize(s.globals.EvalMemory); !ok {
		return usage("write a size such as 2GiB or 512MiB", "--eval-memory cannot be %q", s.globals.EvalMemory)
	}
	return nil
}

// parseSize reads a number of bytes, with a unit or without.
func parseSize(text string) (uint64, bool) {
	number, factor := text, uint64(1)
	for i, units := range [][]string{{"KiB", "K"}, {"MiB", "M"}, {"GiB", "G"}} {
		for _, unit := range units {
			if rest, ok := strings.CutSuffix(text, unit); ok {
				number, factor = rest, 1<<(10*(i+1))
			}
		}
	}
	n, err := strconv.ParseUint(strings.TrimSpace(number), 10, 64)
	return n * factor, cmp.Or(text == "", err == nil && n > 0 && n <= math.MaxInt64/factor)
}
