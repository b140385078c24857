package trust

import (
	"bytes"
	"fmt"
	"slices"
)

// Chain is the documents that somebody has accepted, oldest first. All are kept: they show later why the newest is trusted.
// Its zero value has none, and accepts a first one, of which the caller knows that it is the right one.
type Chain struct {
	signed    []*Signed
	positions []Position // of signed: generation and number
	newest    *Document
}

// GapError says that a document comes after one that is not there.
type GapError struct {
	Generation uint64
	Next       uint64 // the number that is to come next
	Got        uint64
}

// Error says what is missing.
func (e *GapError) Error() string {
	return fmt.Sprintf("the trust document %d cannot be followed: %d comes next, and is missing", e.Got, e.Next)
}

// ParseChain accepts documents in their order, as they were kept.
func ParseChain(signed []*Signed) (*Chain, error) {
	c := &Chain{}
	for _, s := range signed {
		if err := c.Add(s); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Newest gives the document that counts; nil: there is none.
func (c *Chain) Newest() *Document { return c.newest }

// Clone gives a chain of the same documents, to which others can be added while somebody reads this one.
func (c *Chain) Clone() *Chain {
	return &Chain{signed: slices.Clip(c.signed), positions: slices.Clip(c.positions), newest: c.newest}
}

// IsBehind tells whether the newest document comes before that of another chain.
func (c *Chain) IsBehind(other *Chain) bool { return c.position().Compare(other.position()) < 0 }

// position is that of the newest document; zero: there is none.
func (c *Chain) position() Position {
	if len(c.positions) == 0 {
		return Position{}
	}
	return c.positions[len(c.positions)-1]
}

// Signed lists the documents as they were signed.
func (c *Chain) Signed() []*Signed { return c.signed }

// After lists the documents that come after one of a generation and a number, oldest first.
func (c *Chain) After(generation, number uint64) []*Signed {
	for i, p := range c.positions {
		if p.Compare(Position{generation, number}) > 0 {
			return c.signed[i:]
		}
	}
	return nil
}

// Add accepts the next document, if it is signed as the newest wants it. The newest itself is accepted again, and
// changes nothing. Where one before the next is missing, the error is a *GapError. After an error the chain is as it was.
func (c *Chain) Add(s *Signed) error {
	next, err := peek[Document](s, KindDocument)
	if err != nil {
		return err
	}
	if c.newest != nil && bytes.Equal(s.Content, c.signed[len(c.signed)-1].Content) {
		return nil
	}
	if err := next.Check(); err != nil {
		return refuse(KindDocument, "%v", err)
	}
	if err := c.checkOrder(next); err != nil {
		return err
	}
	if err := c.checkSignatures(s, next); err != nil {
		return err
	}
	c.signed, c.positions, c.newest = append(c.signed, s), append(c.positions, Position{next.Generation, next.Number}), next
	return nil
}

// checkOrder says why a document cannot be the next one, whoever has signed it.
func (c *Chain) checkOrder(next *Document) error {
	if c.newest == nil || next.Generation > c.newest.Generation {
		if next.Number != 1 {
			return &GapError{Generation: next.Generation, Next: 1, Got: next.Number}
		}
		return nil
	}
	held := c.newest
	switch {
	case next.Generation < held.Generation, next.Number < held.Number:
		return refuse(KindDocument, "%d.%d is older than %d.%d, which is held", next.Generation, next.Number, held.Generation, held.Number)
	case next.Number == held.Number:
		return refuse(KindDocument, "there are two of number %d.%d that differ", next.Generation, next.Number)
	case next.Number > held.Number+1:
		return &GapError{Generation: next.Generation, Next: held.Number + 1, Got: next.Number}
	case next.Recovery != held.Recovery:
		return refuse(KindDocument, "it changes the recovery key, which only that key itself may do, in a new generation")
	}
	return nil
}

// checkSignatures says whose signature a document lacks: of a key that has the right to it, and of one that has it
// from then on, so that nobody names a key that is not there.
func (c *Chain) checkSignatures(s *Signed, next *Document) error {
	if next.Signer(s, VerbTrust) == nil {
		return refuse(KindDocument, "no key that may sign the document after it has signed it")
	}
	switch {
	case c.newest == nil || next.Generation > c.newest.Generation:
		recovery := next.Recovery
		if c.newest != nil {
			recovery = c.newest.Recovery
		}
		if !s.IsSignedBy(KindDocument, recovery) || !s.IsSignedBy(KindDocument, next.Recovery) {
			return refuse(KindDocument, "a new generation is signed by the recovery key, and by a new one, if it names one")
		}
	case c.newest.Signer(s, VerbTrust) == nil:
		return refuse(KindDocument, "no key that number %d.%d names for it has signed it", c.newest.Generation, c.newest.Number)
	}
	return nil
}

// open gives the content of what a key that has the verb has signed, and that key.
func open[T any](c *Chain, s *Signed, kind Kind, verb Verb) (*T, *Delegated, error) {
	if s.Kind != kind {
		return nil, nil, refuse(kind, "it is signed as %.40q", string(s.Kind))
	}
	if c.newest == nil {
		return nil, nil, refuseFor(CauseSigner, kind, "there is no trust document yet")
	}
	signer := c.newest.Signer(s, verb)
	if signer == nil {
		return nil, nil, refuseFor(CauseSigner, kind, "no key that may %s has signed it, as trust document %d.%d says", verb, c.newest.Generation, c.newest.Number)
	}
	content, err := peek[T](s, kind)
	return content, signer, err
}
