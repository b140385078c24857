package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fault"
)

// reportProgram is a program that gets reports of revisions, one at a time, beside what goes on: however slow it is, it holds up no apply. What comes while it runs takes the
// place of what waited.
type reportProgram struct {
	path  string
	dir   string        // where the report is, too
	limit time.Duration // that it has for each; 0: programTime

	mu     sync.Mutex
	next   []byte        // the report that waits; nil: none
	idle   chan struct{} // closed when all is handed over; nil: nothing is under way
	failed error
}

const programTime = 10 * time.Second

// hand has the program get a report.
func (p *reportProgram) hand(report []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next = report; p.idle != nil {
		return
	}
	p.idle = make(chan struct{})
	fault.Go(p.handOver)
}

// handOver gives the program what waits, until nothing does.
func (p *reportProgram) handOver() {
	for {
		p.mu.Lock()
		report := p.next
		if p.next = nil; report == nil {
			close(p.idle)
			p.idle = nil
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
		err := p.run(report)
		p.mu.Lock()
		p.failed = cmp.Or(err, p.failed) // of many that fail alike one says enough
		p.mu.Unlock()
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

// close waits until the last report is handed over, which takes no longer than the program has for two of them, and gives what has gone wrong.
func (p *reportProgram) close() error {
	p.mu.Lock()
	idle := p.idle
	p.mu.Unlock()
	if idle != nil {
		<-idle
	}
	return p.failure()
}

// run gives the program one report, for which it has a short time.
func (p *reportProgram) run(report []byte) error {
	limit := cmp.Or(p.limit, programTime)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var said firstBytes
	command := exec.CommandContext(ctx, p.path)
	command.Stdin, command.Stdout, command.Stderr, command.WaitDelay = bytes.NewReader(report), &said, &said, time.Second
	// What it has begun ends with it.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	err := command.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("it did not end within %v", limit)
	}
	if err != nil {
		return &diag.HintError{Message: fmt.Sprintf("--report %s: %v: %s", p.path, err, diag.Shorten(diag.Safe(strings.TrimSpace(string(said.kept))))), Hint: "what became of the revision is in " + p.dir}
	}
	return nil
}

// firstBytes keeps what a program says first, and takes the rest, however much that is.
type firstBytes struct{ kept []byte }

// Write takes all.
func (f *firstBytes) Write(p []byte) (int, error) {
	f.kept = append(f.kept, p[:min(len(p), 4096-len(f.kept))]...)
	return len(p), nil
}
