package program

import (
	"errors"
	"sync"
)

// facts are those of the host, each gathered when it is first asked for, and once. Several
// goroutines may ask.
type facts struct {
	gather func(name string) (any, error) // nil: they are not known here

	mu     sync.Mutex
	values map[string]fact
}

type fact struct {
	value any
	err   error
}

func (f *facts) get(name string) fact {
	f.mu.Lock()
	defer f.mu.Unlock()
	if known, ok := f.values[name]; ok {
		return known
	}
	asked := fact{err: errors.New("facts are not known here")}
	if f.gather != nil {
		asked.value, asked.err = f.gather(name)
	}
	if f.values == nil {
		f.values = map[string]fact{}
	}
	f.values[name] = asked
	return asked
}
