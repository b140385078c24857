package site

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
)

// Rollout says in which order hosts take their turns, and how many at a time.
type Rollout struct {
	Batch       []Amount      `json:"batch,omitempty"`        // the last one is repeated; none: all at once
	MaxFailures *Amount       `json:"max_failures,omitempty"` // that do not stop it; nil: none
	Pause       time.Duration `json:"pause,omitempty"`        // between batches, in nanoseconds
	Order       string        `json:"order"`                  // OrderInventory, which "" stands for as well, or OrderShuffle
	BeforeEach  []Hook        `json:"before_each,omitempty"`  // around each batch of hosts in no stage
	AfterEach   []Hook        `json:"after_each,omitempty"`
	Stages      []Stage       `json:"stages,omitempty"` // in this order; hosts in none of them come last
	Range       diag.Range    `json:"range,omitzero"`
}

// Stage is a part of a rollout, which begins when the one before has ended well.
type Stage struct {
	Name        string     `json:"name"`
	Hosts       []string   `json:"hosts"`           // in the order of the inventory
	Batch       []Amount   `json:"batch,omitempty"` // its own, or that of the rollout
	MaxFailures *Amount    `json:"max_failures,omitempty"`
	BeforeEach  []Hook     `json:"before_each,omitempty"` // its own, or those of the rollout
	AfterEach   []Hook     `json:"after_each,omitempty"`  // likewise
	Range       diag.Range `json:"range,omitzero"`
}

// HasHooks reports whether anything runs around its batches.
func (r *Rollout) HasHooks() bool {
	if r == nil {
		return false
	}
	any := len(r.BeforeEach)+len(r.AfterEach) > 0
	for _, s := range r.Stages {
		any = any || len(s.BeforeEach)+len(s.AfterEach) > 0
	}
	return any
}

// The orders in which hosts may take their turns.
const (
	OrderInventory = "inventory"
	OrderShuffle   = "shuffle"
)

// Orders lists them.
func Orders() []string { return []string{OrderInventory, OrderShuffle} }

// Amount is a number of hosts, or a share of them.
type Amount struct {
	N       int
	Percent bool
}

// String writes it as the language does.
func (a Amount) String() string {
	if a.Percent {
		return strconv.Itoa(a.N) + "%"
	}
	return strconv.Itoa(a.N)
}

// BatchSize is how many of so many hosts a batch of the amount has: a share is rounded up.
func (a Amount) BatchSize(total int) int {
	if a.Percent {
		return max(1, (total*a.N+99)/100)
	}
	return a.N
}

// IsExceeded reports whether n of so many hosts are more than the amount.
func (a Amount) IsExceeded(n, total int) bool {
	if a.Percent {
		return n*100 > total*a.N
	}
	return n > a.N
}

// MarshalText is that of String.
func (a Amount) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText is ParseAmount.
func (a *Amount) UnmarshalText(text []byte) (err error) {
	*a, err = ParseAmount(string(text))
	return err
}

// ParseAmount reads "3" or "20%".
func ParseAmount(text string) (Amount, error) {
	digits, percent := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(digits)
	switch {
	case err != nil || strings.HasPrefix(digits, "+"):
		return Amount{}, fmt.Errorf("%q is no number of hosts, and no share of them", text)
	case n < 0:
		return Amount{}, fmt.Errorf("%s is below zero", text)
	case percent && n > 100:
		return Amount{}, fmt.Errorf("%s is more than all hosts", text)
	}
	return Amount{n, percent}, nil
}

// ParseBatch reads batches with commas between them, such as "1,10%,100%".
func ParseBatch(text string) ([]Amount, error) {
	var out []Amount
	for part := range strings.SplitSeq(text, ",") {
		a, err := ParseAmount(strings.TrimSpace(part))
		if err == nil {
			err = a.CheckBatch()
		}
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// CheckBatch says why a batch cannot have that size.
func (a Amount) CheckBatch() error {
	if a.N == 0 {
		return errors.New("a batch has one host at least")
	}
	return nil
}
