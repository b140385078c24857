package fault

import (
	"fmt"
	"os"
	"sync"
)

// exitFault is the exit status of a program that a panic has ended.
const exitFault = 1

// Group is a sync.WaitGroup whose Wait panics with the first panic of its functions, once all
// have ended. The zero value is ready.
type Group struct {
	wait  sync.WaitGroup
	once  sync.Once
	fault *Error
}

// Go calls a function in a goroutine of its own.
func (g *Group) Go(f func()) {
	g.wait.Go(func() {
		defer func() {
			if e := Of(recover()); e != nil {
				g.once.Do(func() { g.fault = e })
			}
		}()
		f()
	})
}

// Wait waits until all functions have ended.
func (g *Group) Wait() {
	g.wait.Wait()
	if g.fault != nil {
		panic(g.fault)
	}
}

// Go calls a function in a goroutine of its own that nobody waits for: a panic ends the program,
// as one does, after one line on the standard error. What a run owes is on record by then.
func Go(f func()) { go Guard(f)() }

// Guard makes a function that ends the program where f panics, for who calls it in a goroutine
// that is not ours.
func Guard(f func()) func() {
	return func() {
		defer func() {
			if e := Of(recover()); e != nil {
				fmt.Fprintln(os.Stderr, "tenet:", e)
				os.Exit(exitFault)
			}
		}()
		f()
	}
}
