package remote

import (
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// A machine may say so much about one request, beside what programs print: more comes of no run,
// however large, and would fill this machine's memory, or the output of all.
const (
	planBytes  = 64 << 20  // of a plan, whose rows are kept until all have theirs
	runBytes   = 256 << 20 // of anything else
	partBytes  = 64 << 10  // beside that, for each part that the machine was sent
	frameBytes = 64        // that a frame counts for beside what is in it
	noteBytes  = 1 << 10   // the same of a note

	unknownParts = 100_000 // of a run that began at another time

	mostNotes = 200     // that are shown
	longNote  = 4 << 10 // bytes of one
)

// budget is what a machine has said so far.
type budget struct {
	parts int // that it was sent
	spent int64
	notes int
}

// partsOf counts the parts that a job has to tell of.
func partsOf(j *machine.Job) (n int) {
	for _, list := range [][]states.Invocation{j.Run.Invocations, j.Run.Handlers} {
		for i := range list {
			n += len(list[i].Parts)
		}
	}
	return n
}

// spend counts a frame. The error is for a machine that says too much.
func (b *budget) spend(f wire.Frame, op wire.Op) error {
	if f.Kind == wire.KindStdout || f.Kind == wire.KindStderr { // as much as the program prints
		return nil
	}
	limit := int64(runBytes)
	if op == wire.OpPlan {
		limit = planBytes
	}
	limit += int64(b.parts) * partBytes
	if b.spent += int64(len(f.Data)) + frameBytes; f.Kind == wire.KindNote {
		b.spent += noteBytes
	}
	if b.spent > limit {
		return &wire.ProtocolError{Message: fmt.Sprintf("it has said more than %d MiB, and there is not so much to tell", limit>>20)}
	}
	return nil
}

// noteOf gives what is shown of a note; empty: nothing, since there were too many.
func (b *budget) noteOf(data []byte) string {
	switch b.notes++; {
	case b.notes == mostNotes+1:
		return "it has more to say, which is left out"
	case b.notes > mostNotes:
		return ""
	case len(data) > longNote:
		return strings.ToValidUTF8(string(data[:longNote]), "") + " …"
	}
	return string(data)
}

// plausible reports whether numbers can be those of a run.
func plausible(c *states.Counts) bool {
	const most = 100_000_000
	for _, n := range []int{
		c.Changed, c.Unchanged, c.Failed, c.Blocked, c.Skipped, c.Idle, c.Unknown, c.Retried,
		c.Create, c.Update, c.Remove, c.Execute, c.Maybe, c.AsThingsAre,
	} {
		if n < 0 || n > most {
			return false
		}
	}
	return true
}
