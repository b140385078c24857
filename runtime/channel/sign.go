package channel

import (
	"encoding/json"
	"slices"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/runtime/wire"
)

// Demand is a request as whoever passes packets on sees it, and decides about.
type Demand struct {
	// Opening is asked for by the first request of a connection, and Request by the second: without its secrets. One of them is there.
	Opening *wire.Opening
	Request *wire.Request
	// Unsigned is what is to be signed, but for the name of who asks and the ID.
	Unsigned trust.Request
	Signed   *trust.Signed // by the dialer itself; nil: nobody has
}

// Inspect looks at a packet that a dialer sends to a host in a session. Of what is no request it gives nil.
func Inspect(host trust.ID, session string, data []byte) (*Demand, error) {
	if len(data) == 0 || !slices.Contains([]kind{kindOpen, kindRequest, kindData, kindCredit, kindClose}, kind(data[0])) {
		return nil, refused("what is sent to the host is nothing that is known here")
	}
	if kind(data[0]) != kindRequest {
		return nil, nil
	}
	var r request
	if err := json.Unmarshal(data[1:], &r); err != nil {
		return nil, refused("a request cannot be read: %v", err)
	}
	d := &Demand{Unsigned: trust.Request{Host: host, Nonce: r.Nonce, Verb: r.Verb, Body: r.body(session)}, Signed: r.Signed}
	var err error
	if r.Verb == Open {
		d.Opening = &wire.Opening{}
		err = json.Unmarshal(r.Clear, d.Opening)
	} else {
		d.Request = &wire.Request{}
		if err = json.Unmarshal(r.Clear, d.Request); err == nil && VerbOf(d.Request.Op) != r.Verb {
			err = refused("the request says %.40q and %.40q", r.Verb, d.Request.Op)
		}
	}
	if err != nil {
		return nil, refused("what is asked for cannot be read: %v", err)
	}
	return d, nil
}

// WithSignature gives a packet that Inspect has looked at with a signature in it.
func WithSignature(data []byte, s *trust.Signed) ([]byte, error) {
	var r request
	if err := json.Unmarshal(data[1:], &r); err != nil {
		return nil, err
	}
	r.Signed = s
	return jsonPacket(kindRequest, &r)
}

// Closing is a packet that ends a connection, with the reason.
func Closing(err error) []byte { return closing(err) }
