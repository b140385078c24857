package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/trust"
)

// factsEvery is how often facts are looked at.
const factsEvery = 10 * time.Minute

// factsName is the file with the number of the newest report of facts or outputs.
const factsName = "facts.json"

// tellFacts tells the host's facts, and tells them again whenever they have changed, or a server may have lost them.
func (a *Agent) tellFacts(ctx context.Context) {
	var told trust.Digest
	for ctx.Err() == nil {
		digest, err := a.tellFactsOnce(ctx, told)
		if err != nil && ctx.Err() == nil {
			a.Log(fmt.Errorf("the facts of this host: %w", err))
		}
		if told != (trust.Digest{}) && told != digest {
			a.keeper.look() // the site may depend on them
		}
		told = digest
		timer := time.NewTimer(factsEvery)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-a.telling:
			told = trust.Digest{}
		}
		timer.Stop()
	}
}

// tellFactsOnce tells them unless they are those that were told.
func (a *Agent) tellFactsOnce(ctx context.Context, told trust.Digest) (trust.Digest, error) {
	gathered, err := a.Machine.Facts(ctx, []string{machine.AllFacts})
	if err != nil {
		return told, err
	}
	report := control.FactsReport{Host: a.Identity.ID(), At: a.Clock().UTC(), Facts: map[string]json.RawMessage{}, Errors: gathered.Errors}
	for name, value := range gathered.Values {
		if report.Facts[name], err = json.Marshal(value); err != nil {
			return told, fmt.Errorf("%s: %w", name, err)
		}
	}
	data, err := json.Marshal(report.Facts)
	if err != nil {
		return told, err
	}
	digest := trust.DigestOf(data)
	if digest == told {
		return told, nil
	}
	if report.Number, err = a.nextFacts(); err != nil {
		return told, err
	}
	signed, err := a.Identity.Sign(trust.KindReport, report)
	if err != nil {
		return told, err
	}
	a.teller.tell(control.Item{Facts: &control.Facts{Signed: signed}})
	return digest, nil
}

// nextFacts gives the number of the next report: it grows whatever the clock does, and is durable before anything has it.
func (a *Agent) nextFacts() (uint64, error) {
	a.numbers.Lock()
	defer a.numbers.Unlock()
	last := struct {
		Number uint64 `json:"number"`
	}{}
	in := a.folders[0]
	data, err := readFile(in, factsName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	if err == nil {
		// Where it is damaged the time of day counts, as for the first one.
		_ = json.Unmarshal(data, &last)
	}
	last.Number = max(last.Number+1, uint64(max(a.Clock().UnixMicro(), 1)))
	if data, err = json.Marshal(last); err != nil {
		return 0, err
	}
	return last.Number, in.Replace(factsName, data)
}
