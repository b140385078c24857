package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/tenetcm/tenet/internal/child"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/source"
)

// reportProgram is a program that gets reports of revisions, one at a time and in their order, beside what goes on: however slow it is, it holds up no apply. What it has not taken
// waits in an outbox, also while no watch runs.
type reportProgram struct {
	path   string
	dir    string // where the report is, too
	outbox *source.Outbox
	limit  time.Duration                    // that it has for each; 0: programTime
	pause  func(failures int) time.Duration // after so many failures in a row; nil: growing, up to some minutes

	mu      sync.Mutex
	idle    chan struct{} // closed when nothing is handed over any more; nil: nothing is
	closing chan struct{} // closed when the watch ends
	ends    time.Time     // until when reports are handed over nevertheless; zero: it does not end
	failed  error
	told    string // the failure that was told last: for weeks it may be the same
}

const (
	programTime = 10 * time.Second
	// programTries is how often a report is tried that fails, before it gives way to a newer one.
	programTries = 10
	programSays  = 4096 // bytes of what it says that are shown
)

// openReportProgram takes up what a watch before has not handed over. The program can be used even with an error.
func openReportProgram(path, dir string) (*reportProgram, error) {
	outbox, err := source.OpenOutbox(dir)
	return &reportProgram{path: path, dir: dir, outbox: outbox, closing: make(chan struct{})}, err
}

// hand has the program get a report, after all that wait.
func (p *reportProgram) hand(address string, report source.Report) error {
	err := p.outbox.Add(address, report)
	p.begin()
	return err
}

// begin hands over what waits, unless that is under way.
func (p *reportProgram) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.idle != nil {
		return
	}
	p.idle = make(chan struct{})
	fault.Go(p.handOver)
}

// handOver gives the program what waits, until nothing does.
func (p *reportProgram) handOver() {
	for failures := 0; ; {
		number, data := p.next()
		if data == nil {
			return
		}
		err := p.run(data)
		if err == nil {
			failures = 0
			p.note(p.outbox.Remove(number))
			continue
		}
		failures++
		passed := false
		if failures >= programTries {
			var failed error
			if passed, failed = p.outbox.Pass(number); passed {
				failures = 0
			}
			err = errors.Join(err, failed)
		}
		p.note(err)
		if !passed && !p.wait(failures) {
			p.mu.Lock()
			p.setIdle()
			p.mu.Unlock()
			return
		}
	}
}

// next gives what is to be handed over next; nil: nothing waits, or the watch ends, and nothing is under way any more.
func (p *reportProgram) next() (number int64, data []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if number, data = p.outbox.First(); data != nil && (p.ends.IsZero() || time.Now().Before(p.ends)) {
		return number, data
	}
	p.setIdle()
	return 0, nil
}

// setIdle notes that nothing is under way.
func (p *reportProgram) setIdle() {
	close(p.idle)
	p.idle = nil
}

// wait lets some time go by after failures; false: the watch ends first.
func (p *reportProgram) wait(failures int) bool {
	pause := p.pause
	if pause == nil {
		pause = func(failures int) time.Duration {
			now := time.Now()
			return source.Options{}.Retry(now, failures, rand.Float64()).Sub(now)
		}
	}
	timer := time.NewTimer(pause(failures))
	defer timer.Stop()
	select {
	case <-p.closing:
		return false
	case <-timer.C:
		return true
	}
}

// note keeps what has gone wrong, unless that is what was told last; nil: the program has taken a report.
func (p *reportProgram) note(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		p.told = ""
	case err.Error() != p.told:
		p.failed, p.told = err, err.Error()
	}
}

// failure gives what has gone wrong since the last call.
func (p *reportProgram) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.failed
	p.failed = nil
	return err
}

// close waits until what waits is handed over, for no longer than the program has for two reports, or until one fails, and gives what has gone wrong. The next watch hands over the rest.
func (p *reportProgram) close() error {
	p.mu.Lock()
	idle := p.idle
	if idle != nil && p.ends.IsZero() {
		p.ends = time.Now().Add(p.programTime())
		close(p.closing)
	}
	p.mu.Unlock()
	if idle != nil {
		<-idle
	}
	return p.failure()
}

func (p *reportProgram) programTime() time.Duration { return cmp.Or(p.limit, programTime) }

// run gives the program one report, for which it has a short time.
func (p *reportProgram) run(report []byte) error {
	limit := p.programTime()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	said := &child.Output{Limit: programSays}
	command := exec.CommandContext(ctx, p.path)
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(report), said, said
	child.EndTogether(command, time.Second)
	err := command.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("it did not end within %v", limit)
	}
	if err != nil {
		return &diag.HintError{Message: fmt.Sprintf("--report %s: %v: %s", p.path, err, diag.Shorten(diag.Safe(strings.TrimSpace(said.String())))),
			Hint: "it is tried again; what became of the revision is in " + p.dir}
	}
	return nil
}
