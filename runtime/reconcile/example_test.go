package reconcile_test

import (
	"context"
	"fmt"
	"time"

	"github.com/tenetcm/tenet/runtime/reconcile"
)

// lamp is a machine with one resource. Its first apply fails.
type lamp struct {
	isLit   bool
	applies int
}

// Plan finds something to do while the lamp is out.
func (l *lamp) Plan(context.Context, reconcile.Target) reconcile.Found {
	return reconcile.Found{Something: !l.isLit}
}

// Check finds nothing wrong.
func (l *lamp) Check(context.Context, reconcile.Target) reconcile.Checked {
	return reconcile.Checked{}
}

// Apply lights it.
func (l *lamp) Apply(context.Context, reconcile.Action) (reconcile.Ended, bool) {
	if l.applies++; l.applies == 1 {
		return reconcile.Ended{Failure: reconcile.Failure{Cause: reconcile.Unsuccess, Reason: "no matches"}}, true
	}
	l.isLit = true
	return reconcile.Ended{}, true
}

// A program that keeps something as it is wanted.
func ExampleLoop() {
	loop, err := reconcile.Open(reconcile.Config{
		Site: "tower", Work: &lamp{},
		Tell: func(t reconcile.Transition) { fmt.Println(t.On, "->", t.State.Phase) },
	})
	if err != nil {
		panic(err)
	}
	if err := loop.Want(reconcile.Target{Digest: "lit"}, reconcile.Options{Backoff: time.Millisecond}); err != nil {
		panic(err)
	}
	for loop.State().Condition != reconcile.Converged {
		time.Sleep(time.Until(loop.Next()))
		if err := loop.Turn(context.Background()); err != nil {
			panic(err)
		}
	}
	// Output:
	// wanted -> discovering
	// something -> applying
	// failed -> retrying
	// due -> discovering
	// something -> applying
	// done -> discovering
	// nothing -> validating
	// sound -> waiting
}
