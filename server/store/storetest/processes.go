package storetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/server/store"
)

const writerOf = "TENET_TEST_WRITER"

// Writer is for the TestMain of an engine: in a process that Kills or Stopped has begun, it
// writes until that ends, and does not return.
func Writer(open func(context.Context, string) (store.Engine, error)) {
	name := os.Getenv(writerOf)
	if name == "" {
		return
	}
	err := writeNumbers(Place{Open: func(ctx context.Context) (store.Engine, error) { return open(ctx, name) }})
	if _, ok := errors.AsType[*store.DeposedError](err); ok {
		fmt.Println("deposed")
		os.Exit(0)
	}
	fmt.Println("failed:", err)
	os.Exit(1)
}

// writeNumbers writes rows with rising numbers, each together with another row, and tells each
// number once it is durable.
func writeNumbers(p Place) error {
	s, err := open(p, store.Options{})
	if err != nil {
		return err
	}
	if _, err := s.Campaign(context.Background()); err != nil {
		return err
	}
	failed := make(chan error)
	for range 8 {
		fault.Go(func() {
			for {
				id := 0
				err := s.Write(context.Background(), func(tx store.Tx) (err error) { id, err = writeNext(tx); return err })
				if err != nil {
					failed <- err
					return
				}
				fmt.Println(id)
			}
		})
	}
	return <-failed
}

func writeNext(tx store.Tx) (id int, err error) {
	if _, err = store.One(tx, "SELECT COALESCE(MAX(id), 0) + 1 FROM kinds", nil, &id); err != nil {
		return 0, err
	}
	if _, err = tx.Exec("INSERT INTO kinds (id, b) VALUES ($1, $2)", id, make([]byte, id%7*1000)); err == nil {
		_, err = tx.Exec("INSERT INTO parts VALUES ($1, 'x')", id)
	}
	return id, err
}

// process is one that writes.
type process struct {
	*exec.Cmd
	lines chan string // what it says; closed with its end
}

func begin(t testing.TB, p Place) *process {
	t.Helper()
	c := exec.Command("/proc/self/exe", "-test.run=^$")
	c.Env = append(os.Environ(), writerOf+"="+p.Name)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	lines := make(chan string, 1<<16)
	fault.Go(func() {
		defer close(lines)
		for all := bufio.NewReader(out); ; {
			line, err := all.ReadString('\n')
			if err != nil { // a line that was cut off says nothing
				io.Copy(io.Discard, out)
				return
			}
			lines <- line[:len(line)-1]
		}
	})
	return &process{c, lines}
}

// Kills begins a process that writes, and kills it after a random while, n times: all that it
// has told is there, and nothing by half.
func Kills(t *testing.T, p Place, n int) {
	last := 0
	for range n {
		c := begin(t, p)
		lines, pause := rand.IntN(100), rand.N(5*time.Millisecond)
		for range lines {
			last = max(last, number(t, <-c.lines))
		}
		time.Sleep(pause) // so that it is killed at any point of a write
		must(t, c.Process.Kill())
		c.Wait()
		for line := range c.lines {
			last = max(last, number(t, line))
		}
		s := Open(t, p, store.Options{})
		if highest := whole(t, s); highest < last {
			t.Fatalf("%d was told to be there, and the highest is %d", last, highest)
		}
		must(t, s.Close())
	}
	t.Logf("after %d kills there are %d rows", n, last)
}

func number(t testing.TB, line string) int {
	t.Helper()
	n, err := strconv.Atoi(line)
	if err != nil {
		t.Fatalf("the process says %q", line)
	}
	return n
}

// whole is the highest number, when none is missing and each has its other row.
func whole(t testing.TB, s *store.Store) (highest int) {
	t.Helper()
	var count, parts int
	must(t, s.Read(context.Background(), func(r store.Reader) error {
		_, err := store.One(r, "SELECT COUNT(*), COALESCE(MAX(id), 0), (SELECT COUNT(*) FROM parts) FROM kinds", nil, &count, &highest, &parts)
		return err
	}))
	if count != highest || parts != highest {
		t.Fatalf("up to %d there are %d rows, and %d others", highest, count, parts)
	}
	return highest
}

// Stopped stops an active process, takes over, and lets it go on: it writes no more, and is told.
func Stopped(t *testing.T, p Place) {
	c := begin(t, p)
	number(t, <-c.lines)
	s := Open(t, p, store.Options{})
	take := func() error { // fails where it was stopped within a transaction
		must(t, c.Process.Signal(syscall.SIGSTOP))
		p.Steal(t)
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_, err := s.Campaign(ctx)
		return err
	}
	for take() != nil {
		must(t, c.Process.Signal(syscall.SIGCONT))
	}
	before := whole(t, s)
	must(t, add(s, context.Background(), "mine", 1))
	must(t, c.Process.Signal(syscall.SIGCONT))
	isDeposed := false // other writers may still tell after that what was durable before
	for line := range c.lines {
		if line == "deposed" {
			isDeposed = true
		} else if number(t, line) > before {
			t.Errorf("%s was told to be there, after %d", line, before)
		}
	}
	must(t, c.Wait())
	if after := whole(t, s); !isDeposed || after != before {
		t.Errorf("it was told: %t, with %d rows after %d", isDeposed, after, before)
	}
	want(t, s, "mine=1")
}
