package ssh

import (
	"fmt"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
)

// sendProgram begins to send the runner that fits to a host that lacks it. What the host
// says of it is its next answer.
func (a *attempt) sendProgram(answer string) error {
	var uname, packing string
	if n, err := fmt.Sscan(answer, &uname, &packing); n != 2 || err != nil || a.upload != nil {
		return errAnswer
	}
	a.alarm.Stop() // it is not the host that takes its time
	e, err := a.runners.forUname(a.ctx, uname, func() {
		a.client.note(a.host, "building the runner for such machines, which is done once, and takes a minute or two")
	})
	a.alarm.Reset(a.client.timeout())
	if err != nil {
		return err
	}
	var data []byte
	if packing == "gzip" {
		data, err = e.compress()
	} else {
		data, err = e.read()
	}
	if err != nil {
		return err
	}
	a.client.note(a.host, "copying the runner (%.1f MB)", float64(len(data))/1e6)
	a.upload = make(chan struct{})
	fault.Go(func() { a.send(e.runner, data) })
	return nil
}

// send goes on as long as the other side takes it: where that ends early, the host
// says why, or the client does.
func (a *attempt) send(r *Runner, data []byte) {
	defer close(a.upload)
	began := time.Now()
	piece := fmt.Appendf(nil, "%s %d %d\n", r.SHA256, len(data), r.Size)
	for {
		// What is on its way still goes as slowly as the rest has gone.
		a.alarm.Reset(a.client.timeout() + time.Since(began))
		if _, err := a.p.stdin.Write(piece); err != nil || len(data) == 0 {
			return
		}
		piece = data[:min(len(data), 32<<10)]
		data = data[len(piece):]
	}
}
