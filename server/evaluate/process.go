package evaluate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/tenetcm/tenet/internal/child"
	"github.com/tenetcm/tenet/lang/diag"
)

// Codes of errors.
const (
	CodeSite  = "invalid_site" // the site is wrong
	CodeLimit = "limit"        // it takes too much time or memory
)

// The default limits.
const (
	DefaultTime   = time.Minute
	DefaultMemory = 1 << 30
)

// maxAnswer is how many bytes an answer may have.
const maxAnswer = 512 << 20

// Evaluator asks processes.
type Evaluator struct {
	Command []string      // a program that calls Serve, and its arguments
	Environ []string      // NAME=VALUE that it may see; none of the caller's besides
	Time    time.Duration // for a question; 0: DefaultTime
	Memory  uint64        // 0: DefaultMemory
	Program string        // the version of the program
}

// Ask has a question answered. An error with CodeSite says that the site is wrong.
func (e *Evaluator) Ask(ctx context.Context, q Question) (*Answer, error) {
	q.Program, q.Time, q.Memory = e.Program, e.Time, e.Memory
	if q.Time == 0 {
		q.Time = DefaultTime
	}
	if q.Memory == 0 {
		q.Memory = DefaultMemory
	}
	in, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	// A process that does not end itself is ended; the watch within it lets one take longer that gets no time.
	ctx, cancel := context.WithTimeout(ctx, 7*q.Time)
	defer cancel()
	cmd := exec.CommandContext(ctx, e.Command[0], e.Command[1:]...)
	cmd.Env = append([]string{}, e.Environ...)
	cmd.Dir = "/"
	cmd.Stdin = bytes.NewReader(in)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it is in no terminal's group
	child.EndTogether(cmd, time.Second)
	said := &child.Output{Limit: 64 << 10}
	out := &child.Output{Limit: maxAnswer, Refusal: io.ErrShortBuffer} // which ends the process
	cmd.Stdout, cmd.Stderr = out, said
	ran := cmd.Run()
	if out.IsOver() {
		return nil, &diag.HintError{Code: CodeLimit, Message: fmt.Sprintf("the evaluation of the site gives more than %d MiB", maxAnswer>>20), Hint: "look for text or a list that grows too large"}
	}
	var a Answer
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		if ctx.Err() != nil {
			return nil, &diag.HintError{Code: CodeLimit, Message: "the evaluation of the site was ended: " + context.Cause(ctx).Error(), Hint: "look for a loop, or a function that is called too often"}
		}
		return nil, fmt.Errorf("the process that evaluates gave no answer (%w): %.500s", errors.Join(ran, err), strings.TrimSpace(said.String()))
	}
	switch {
	case a.IsLimit:
		return nil, &diag.HintError{Code: CodeLimit, Message: a.Error, Hint: "look for a loop, or for text or a list that grows too large"}
	case a.Error != "":
		return nil, wrongSite(a.Error)
	case ran != nil:
		return nil, fmt.Errorf("the process that evaluates has failed: %w", ran)
	case len(a.Results) != len(q.Hosts):
		return nil, fmt.Errorf("the process that evaluates answered for %d hosts of %d", len(a.Results), len(q.Hosts))
	}
	return &a, nil
}
