package fleet

import "fmt"

// ending is the end of a machine that others need.
type ending struct {
	over   chan struct{} // closed: it has come
	status Status        // from then on
}

// awaitEnds makes ready for noticing the ends of machines that others need.
func (d *drive) awaitEnds(names []string) {
	if len(d.options.Needs) == 0 {
		return
	}
	d.ended = make(map[string]*ending, len(names))
	for _, name := range names {
		d.ended[name] = &ending{over: make(chan struct{})}
	}
}

// noteEnd notes how it ended with a machine.
func (d *drive) noteEnd(name string, status Status) {
	if e := d.ended[name]; e != nil {
		e.status = status
		close(e.over)
	}
}

// awaitNeeds waits for the machines that one needs, which have their turns before it. The error says
// why its own does not come.
func (d *drive) awaitNeeds(name string) error {
	if d.ended == nil {
		return nil
	}
	for _, other := range d.options.Needs[name] {
		e := d.ended[other]
		if e == nil {
			continue
		}
		<-e.over
		if e.status != Done {
			return fmt.Errorf("not begun: it reads an output of %s, which did not end well", other)
		}
	}
	return nil
}
