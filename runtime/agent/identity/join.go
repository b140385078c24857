package identity

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"slices"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
)

// Joining says how a host wants to be taken in.
type Joining struct {
	Name   string
	Labels map[string]string
	Once   bool // ask once: while a person has yet to approve the host, Join answers with State Pending
	// Asked is told each answer; nil: nobody.
	Asked func(Answer)
	// Wait waits between two requests; nil: as long as it says, or until the context is done.
	Wait func(context.Context, time.Duration) error
}

// Join asks the server of a token to take the host in, and waits until it has: while a person has yet to approve it, the state is Pending. The folder
// is durable before anything is sent, so that whoever repeats Join after it was interrupted asks for the same. A host that has joined this server is left as it is.
func Join(ctx context.Context, dir, text string, j Joining, o Options) (*Identity, error) {
	token, err := trust.ParseToken(text)
	if err != nil {
		return nil, &diag.HintError{Code: "token", Err: err, Hint: "copy the line that the server has printed, or make another token"}
	}
	i, err := Open(dir, o)
	if err != nil {
		return nil, err
	}
	err = i.begin(token, j)
	if err == nil {
		err = i.await(ctx, j)
	}
	if err != nil {
		return nil, errors.Join(err, i.Close())
	}
	return i, nil
}

// Resume waits on for a host that is pending, as after a restart of its agent.
func (i *Identity) Resume(ctx context.Context, j Joining) error { return i.await(ctx, j) }

// begin makes durable what is asked for.
func (i *Identity) begin(token *trust.Token, j Joining) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.isMember() {
		if i.kept.State == Revoked {
			return &diag.HintError{Code: "revoked", Message: "the server has revoked this host: " + i.kept.Reason, Hint: "tenet agent leave, which removes its identity, then join with a new one"}
		}
		if slices.Contains(i.kept.Addresses, token.URL) {
			return nil
		}
		return &diag.HintError{Code: "joined", Message: "this host has joined the server " + i.kept.Addresses[0] + " already", Hint: "tenet agent leave, then join the other one"}
	}
	next := i.kept
	if !isOfSameServer(next.Token, token) { // nothing of what the former one has said counts
		next.Documents, next.Brokers, next.BrokerAuthorities, next.Credential, next.State, next.Reason, next.Value = nil, nil, nil, "", "", "", nil
	}
	if next.Value == nil {
		next.Value = make([]byte, ValueSize)
		rand.Read(next.Value)
	}
	next.Token, next.Addresses, next.Name, next.Labels = token.String(), []string{token.URL}, j.Name, maps.Clone(j.Labels)
	return i.save(next)
}

// isOfSameServer tells whether a host that is pending goes on with another token: then the value stays that the server may know.
func isOfSameServer(held string, token *trust.Token) bool {
	t, err := trust.ParseToken(held)
	return err == nil && t.URL == token.URL && t.Authority == token.Authority
}

// isMember tells whether the host was taken in. The caller holds mu.
func (i *Identity) isMember() bool {
	return i.kept.Token == "" && i.kept.Value != nil && len(i.kept.Addresses) > 0
}

// Times between two requests of a host that is pending.
const (
	firstPoll = 2 * time.Second
	lastPoll  = 5 * time.Minute
)

// await asks until the host is taken in, or it is certain that it will not be.
func (i *Identity) await(ctx context.Context, j Joining) error {
	wait := j.Wait
	if wait == nil {
		wait = sleep
	}
	for pause := firstPoll; ; pause = min(pause*3/2, lastPoll) {
		if locked(i, i.isMember) {
			return nil
		}
		answer, err := i.askToJoin(ctx)
		switch {
		case err != nil && !mayHelp(err):
			return err
		case err != nil && j.Once:
			return err
		case err == nil && j.Asked != nil:
			j.Asked(answer)
		}
		if err == nil && (answer.State != Pending || j.Once) {
			if answer.State == Revoked {
				return &diag.HintError{Code: "rejected", Message: "the server does not take this host in: " + answer.Reason, Hint: "ask who runs the server"}
			}
			return nil
		}
		next := max(pause, time.Duration(answer.RetryAfter)*time.Second)
		var refused *ServerError
		if errors.As(err, &refused) {
			next = max(next, refused.After)
		}
		if waited := wait(ctx, jitter(next)); waited != nil {
			return errors.Join(err, waited)
		}
	}
}

// mayHelp tells whether asking again may help.
func mayHelp(err error) bool {
	var refused *ServerError
	var other *trust.ServerError
	return !errors.As(err, &other) && (!errors.As(err, &refused) || refused.Retryable)
}

// askToJoin asks once.
func (i *Identity) askToJoin(ctx context.Context) (Answer, error) {
	i.renewal.Lock()
	defer i.renewal.Unlock()
	i.mu.Lock()
	token, err := trust.ParseToken(i.kept.Token)
	request := JoinRequest{Keys: i.keys.certificate, Name: i.kept.Name, Labels: i.kept.Labels, Value: i.kept.Value}
	i.mu.Unlock()
	if err != nil {
		return Answer{}, err
	}
	request.Secret = token.Secret
	var answer Answer
	if err := i.ask(ctx, JoinPath, &request, &answer); err != nil {
		return Answer{}, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	next := i.kept
	if err := next.heed(&answer); err != nil {
		return Answer{}, err
	}
	switch {
	case len(next.Documents) == 0:
		return Answer{}, errors.New("the server does not say whom to trust")
	case answer.State == Approved, answer.State == Active, answer.State == Locked:
		next.Token = ""
	}
	return answer, i.save(next)
}

// heed takes up what a server says. Documents that are there already are passed over.
func (k *record) heed(a *Answer) error {
	switch a.State {
	case Pending, Approved, Active, Locked, Revoked:
	default:
		return fmt.Errorf("the server names a state of this host that this program does not know: %.40q", string(a.State))
	}
	k.State, k.Reason = a.State, diag.Safe(diag.Shorten(a.Reason))
	if a.Renewed && k.Next != nil {
		k.Value, k.Next = k.Next, nil
		k.follow()
	}
	if a.State == Pending || a.State == Revoked {
		return k.addDocuments(a.Documents)
	}
	if a.Name != "" {
		k.Name, k.Labels = a.Name, a.Labels
	}
	if len(a.Addresses) > 0 {
		k.Addresses = a.Addresses
	}
	if len(a.Brokers) > 0 {
		// Where the same brokers come without a credential, the server has none to give now, and the former one may still do.
		if a.Credential != "" || !slices.Equal(k.Brokers, a.Brokers) {
			k.Credential = a.Credential
		}
		k.Brokers, k.BrokerAuthorities = a.Brokers, a.BrokerAuthorities
	}
	return k.addDocuments(a.Documents)
}

// addDocuments takes up those that come after what is held.
func (k *record) addDocuments(documents []*trust.Signed) error {
	chain, err := trust.ParseChain(k.Documents)
	if err != nil {
		return err
	}
	held := map[trust.Digest]bool{}
	for _, s := range k.Documents {
		held[trust.DigestOf(s.Content)] = true
	}
	for _, s := range documents {
		if s == nil || held[trust.DigestOf(s.Content)] {
			continue
		}
		if err := chain.Add(s); err != nil {
			return err
		}
	}
	k.Documents = chain.Signed()
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// jitter spreads the requests of many hosts.
func jitter(d time.Duration) time.Duration { return d/2 + mathrand.N(d/2+1) }
