package runner

import (
	"github.com/tenetcm/tenet/runtime/machine"
)

// call is one request on its way.
type call struct {
	*Runner
	caller   machine.Caller
	observer machine.Observer
	about    subject // Runner.mu is held for it
}

// subject is the run that a call is about, once that is known.
type subject struct {
	run, execution, host string
	follows              bool // another call carries it out, or another process
}

// register has Cancel call cancel for a call, until done is called.
func (c *call) register(cancel func()) (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil {
		c.calls = map[*call]func(){}
	}
	c.calls[c] = cancel
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.calls, c)
	}
}

// isAbout notes which run the call is about.
func (c *call) isAbout(what subject) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.about = what
}

// cancelNamed cancels the calls that are about a run. It reports whether there were any.
func (r *Runner) cancelNamed(run machine.RunRef) bool {
	return r.cancelCalls(func(is subject) bool {
		named := is.execution == run.ID && (run.Host == "" || is.host == "" || is.host == run.Host)
		return named || is.run == run.ID
	})
}

// cancelRun cancels the call that carries a run out, and reports whether there was one.
func (r *Runner) cancelRun(run string) bool {
	return r.cancelCalls(func(is subject) bool { return is.run == run && !is.follows })
}

// cancelCalls cancels calls, and reports whether there were any.
func (r *Runner) cancelCalls(which func(subject) bool) bool {
	r.mu.Lock()
	var found []func()
	for c, cancel := range r.calls {
		if which(c.about) {
			found = append(found, cancel)
		}
	}
	r.mu.Unlock()
	for _, cancel := range found {
		cancel()
	}
	return len(found) > 0
}
