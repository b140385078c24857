package client

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// HostEvent is one thing that a host has told its server.
type HostEvent struct {
	ID       string          `json:"id"` // by which a stream is taken up after it
	Kind     string          `json:"kind"`
	Host     string          `json:"host,omitempty"`
	Name     string          `json:"name,omitempty"`
	Stream   string          `json:"stream,omitempty"`   // of the host
	Sequence uint64          `json:"sequence,omitempty"` // in that
	Site     string          `json:"site,omitempty"`
	At       time.Time       `json:"at,omitzero"`
	Data     json.RawMessage `json:"data,omitempty"`
	// Reason is, of KindMissing, why something before it is not there.
	Reason string `json:"reason,omitempty"`
}

// KindMissing is the kind of what says that something is missing.
const KindMissing = "missing"

// Stream gives what hosts have told after the event with an ID, "0" being the beginning of what is kept, each once. With follow it goes on with what
// comes until the context ends, or with an error that stays.
func (c *Client) Stream(ctx context.Context, after string, follow bool) iter.Seq2[HostEvent, error] {
	path := "/v1/stream"
	if !follow {
		path += "?follow=false"
	}
	return func(yield func(HostEvent, error) bool) {
		known := map[[2]string]uint64{} // the last of each host and stream: a server that was restored tells all that it has
		err := c.follow(ctx, path, &after, func(id, kind string, data []byte) (more bool, err error) {
			switch kind {
			case "ready":
				return true, nil
			case "end":
				return false, nil
			}
			e := HostEvent{}
			if err := json.Unmarshal(data, &e); err != nil {
				return false, err
			}
			e.ID, e.Kind = id, kind
			if kind != KindMissing {
				of := [2]string{e.Host, e.Stream}
				if e.Sequence <= known[of] {
					return true, nil
				}
				known[of] = e.Sequence
			}
			return yield(e, nil), nil
		})
		if err != nil {
			yield(HostEvent{}, err)
		}
	}
}
