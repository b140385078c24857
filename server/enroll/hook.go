package enroll

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/tenetcm/tenet/internal/child"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// Question is what the hook reads from its standard input, as JSON. All of it but the source was said by the host.
type Question struct {
	Format string `json:"format"`
	Host   *Host  `json:"host"`
}

// QuestionFormat is the version of questions.
const QuestionFormat = "tenet.enroll/1"

// Decision is what the hook writes to its standard output, as JSON.
type Decision struct {
	Decision string            `json:"decision"` // approve, reject, or wait: for a person
	Reason   string            `json:"reason,omitempty"`
	Name     string            `json:"name,omitempty"`   // in place of what the host asks for
	Labels   map[string]string `json:"labels,omitempty"` // in place of what the host claims
}

// Limits of hooks.
const (
	hooksAtOnce   = 4
	maxHookAnswer = 64 << 10
	maxHookError  = 2 << 10
	hookAgain     = time.Minute // until a hook is asked again about a host on which it has not decided
	maxHookHosts  = 10_000
)

// hookActor is what the audit calls the hook: no person can be called so.
const hookActor = server + "/hook"

// hook remembers whom it was asked about.
type hook struct {
	places chan struct{}
	mu     sync.Mutex
	asked  map[trust.ID]time.Time
}

func newHook() hook {
	return hook{places: make(chan struct{}, hooksAtOnce), asked: map[trust.ID]time.Time{}}
}

// take says whether it is to be asked about a host now.
func (k *hook) take(id trust.ID, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if at, ok := k.asked[id]; ok && !at.After(now) && now.Sub(at) < hookAgain { // a clock may have been put back
		return false
	}
	if len(k.asked) >= maxHookHosts {
		clear(k.asked)
	}
	k.asked[id] = now
	return true
}

// askHook has the hook decide on a host that is pending. What it cannot decide waits for a person, and says why.
func (r *Registry) askHook(ctx context.Context, h *Host) (*Host, error) {
	if !r.hook.take(h.ID, r.now()) {
		return h, nil
	}
	h, err := r.Get(ctx, h.ID) // with the host whose name it asks for
	if err != nil || h.State != identity.Pending {
		return h, err
	}
	select {
	case r.hook.places <- struct{}{}:
		defer func() { <-r.hook.places }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	d, err := r.runHook(ctx, h)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err == nil {
		var decided *Host
		if decided, err = r.heedHook(ctx, h, d); err == nil {
			return decided, nil
		}
	}
	return r.notDecided(ctx, h.ID, err)
}

// heedHook does what the hook has decided.
func (r *Registry) heedHook(ctx context.Context, h *Host, d *Decision) (*Host, error) {
	by := By{Actor: hookActor, Reason: d.Reason}
	switch d.Decision {
	case "approve":
		return r.Approve(ctx, by, h.ID, Approval{Name: d.Name, Labels: d.Labels})
	case "reject":
		return r.Reject(ctx, by, h.ID)
	case "wait":
		return r.waits(ctx, h.ID, or(cleanReason(d.Reason), "a person has yet to approve it"))
	}
	return nil, fmt.Errorf("its decision is %.40q, not approve, reject or wait", d.Decision)
}

// notDecided keeps why the hook has not decided.
func (r *Registry) notDecided(ctx context.Context, id trust.ID, why error) (*Host, error) {
	if diag.CodeOf(why) == CodeState { // a person has decided meanwhile
		return r.Get(ctx, id)
	}
	return r.waits(ctx, id, cleanReason("a person has yet to approve it: the approval hook has not decided: "+why.Error()))
}

// waits keeps why a host is pending.
func (r *Registry) waits(ctx context.Context, id trust.ID, reason string) (h *Host, err error) {
	err = r.change(ctx, func(tx store.Tx) ([]*Host, error) {
		if h, err = readHost(tx, id); err != nil || h == nil || h.State != identity.Pending || h.Reason == reason {
			return nil, err
		}
		h.Reason = reason
		return []*Host{h}, writeHost(tx, h)
	})
	if err == nil && h == nil {
		err = unknownHost(id)
	}
	return h, err
}

// runHook runs the program.
func (r *Registry) runHook(ctx context.Context, h *Host) (*Decision, error) {
	question, err := json.Marshal(Question{Format: QuestionFormat, Host: h})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.options.HookLimit, fmt.Errorf("it took longer than %v", r.options.HookLimit))
	defer cancel()
	c := exec.CommandContext(ctx, r.options.Hook[0], r.options.Hook[1:]...)
	c.Stdin = bytes.NewReader(question)
	out, told := &child.Output{Limit: maxHookAnswer}, &child.Output{Limit: maxHookError}
	c.Stdout, c.Stderr = out, told
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"} // the server's environment may hold secrets
	child.EndTogether(c, 5*time.Second)
	err = c.Run()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, syscall.EPIPE), err == nil: // it need not read the question
	default:
		return nil, fmt.Errorf("%w: %s", err, diag.Safe(told.String()))
	}
	if out.IsOver() {
		return nil, fmt.Errorf("it answers with more than %d bytes", maxHookAnswer)
	}
	d := &Decision{}
	decoder := json.NewDecoder(bytes.NewReader(out.Bytes()))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(d); err != nil {
		return nil, fmt.Errorf("its answer cannot be read: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("its answer is followed by something else")
	}
	return d, nil
}
