package identity

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
)

// RenewEvery is how often an agent renews, as far as the server does not say otherwise.
const RenewEvery = time.Hour

// Renew shows the server that this host is the one that has renewed before, and takes up what is new: trust documents, where brokers are, a
// credential, how the host stands. It is called each hour; what was not answered is repeated by the next call with the same values. An
// answer that the host is locked or revoked is no error: the host keeps what it has.
func (i *Identity) Renew(ctx context.Context) (Answer, error) {
	i.renewal.Lock()
	defer i.renewal.Unlock()
	request, err := i.prepare()
	if err != nil {
		return Answer{}, err
	}
	var answer Answer
	if err := i.ask(ctx, RenewPath, request, &answer); err != nil {
		return Answer{}, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.lack = answer.Lack
	next := i.kept
	heeded := next.heed(&answer)
	if heeded != nil {
		// Documents that the host does not accept must not keep it from renewing: nothing of the rest depends on them.
		next = i.kept
		rest := answer
		rest.Documents = nil
		if err := next.heed(&rest); err != nil {
			return Answer{}, err
		}
	}
	if err := i.save(next); err != nil {
		return Answer{}, err
	}
	return answer, heeded
}

// prepare makes the next value durable, unless one is under way.
func (i *Identity) prepare() (*RenewRequest, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.isMember() {
		return nil, &diag.HintError{Code: "not_joined", Message: "this host has not joined a server, or was not approved yet", Hint: "tenet agent join"}
	}
	if i.kept.Next == nil {
		next := i.kept
		next.Next = make([]byte, ValueSize)
		rand.Read(next.Next)
		if err := i.save(next); err != nil {
			return nil, err
		}
	}
	r := &RenewRequest{Value: i.kept.Value, Next: i.kept.Next, Keys: i.keys.certificate}
	if f := i.kept.Following; f != nil {
		r.Keys, r.Succession = f.Certificate, f.Succession
	}
	if d := i.chain.Newest(); d != nil {
		r.Generation, r.Number = d.Generation, d.Number
	}
	if i.lack != nil {
		r.Documents = fitting(i.chain.After(i.lack.Generation, i.lack.Number))
	}
	return r, nil
}

// maxDocumentBytes is how much of documents is sent at once: a request that is too large would be refused as a whole.
const maxDocumentBytes = 96 << 10

// fitting gives as many documents as can be sent at once.
func fitting(documents []*trust.Signed) []*trust.Signed {
	size := 0
	for n, d := range documents {
		if size += len(d.Content); size > maxDocumentBytes || n == MaxDocuments {
			return documents[:n]
		}
	}
	return documents
}
