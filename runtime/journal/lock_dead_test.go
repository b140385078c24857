package journal_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/runtime/journal"
)

// TestMain lets the test binary be a process that applies, and is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("TENET_TEST_DIES_IN"); dir != "" {
		if err := applyUntilKilled(dir, os.Getenv("TENET_TEST_SLEEP")); err != nil {
			panic(err)
		}
	}
	rapidtest.Main(m, "")
}

// applyUntilKilled begins a run, and then a program that has all that is open, as between
// fork and exec.
func applyUntilKilled(dir, seconds string) error {
	f, err := journal.Open(dir)
	if err != nil {
		return err
	}
	m := meta()
	m.Command = "tenet apply"
	r, err := f.Start(context.Background(), m)
	if err != nil {
		return err
	}
	sleep := exec.Command("sleep", seconds)
	sleep.ExtraFiles = []*os.File{r.LockFile()}
	if err := sleep.Start(); err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(sleep.Process.Pid); err != nil {
		return err
	}
	select {}
}

// killed gives a folder whose run was killed while something that it was starting has its
// lock for some seconds more.
func killed(t *testing.T, seconds string) (f *journal.Folder, left int) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TENET_TEST_DIES_IN="+dir, "TENET_TEST_SLEEP="+seconds)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &left)
	}
	if err != nil {
		t.Fatal(err)
	}
	if f = open(t, dir); f.Holder() == nil {
		t.Error("nobody applies while it lives")
	}
	// One that ends without being waited for is dead, too.
	if err := errors.Join(cmd.Process.Kill(), waitForZombie(cmd.Process.Pid)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	return f, left
}

func waitForZombie(pid int) error {
	for range 500 {
		stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errors.New("it lives")
}

// Who was killed while it was starting a program does not apply any more, and the next
// one waits until that has let go of the lock: never before.
func TestKilledBetweenForkAndExec(t *testing.T) {
	f, left := killed(t, "1")
	if s, err := f.Status(""); err != nil || s.State != journal.Interrupted {
		t.Errorf("the status is %s, %v", s.State, err)
	}
	if h := f.Holder(); h != nil {
		t.Errorf("%v", h)
	}
	r, err := f.Start(t.Context(), meta())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/" + strconv.Itoa(left) + "/fd/3"); err == nil {
		t.Error("it did not wait for the lock")
	}
	if _, err := f.Start(t.Context(), meta()); !errors.As(err, new(*journal.LockedError)) {
		t.Errorf("there are two who apply: %v", err)
	}
	finish(t, r, journal.End{State: journal.Done})
}

// What never lets go is not waited for without end, and told as what it is.
func TestLockHeldByWhatADeadOneStarted(t *testing.T) {
	t.Parallel()
	f, left := killed(t, "60")
	_, err := f.Start(t.Context(), meta())
	if err == nil || !strings.Contains(err.Error(), "(tenet apply) was killed while it was starting a program") {
		t.Error(err)
	}
	p, err := os.FindProcess(left)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Error(err)
	}
}

// A run that has ended has given up its lock, even if a program that was being started
// then has not become one yet.
func TestEndedBetweenForkAndExec(t *testing.T) {
	f := open(t, t.TempDir())
	r := start(t, f, meta())
	sleep := exec.Command("sleep", "60")
	sleep.ExtraFiles = []*os.File{r.LockFile()}
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = sleep.Process.Kill()
		_ = sleep.Wait()
	}()
	finish(t, r, journal.End{State: journal.Done})
	finish(t, start(t, f, meta()), journal.End{State: journal.Done})
}
