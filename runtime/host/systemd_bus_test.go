package host_test

import (
	"bufio"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/host"
)

// pair gives both ends of a socket.
func pair(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs = os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return ours, theirs
}

// A systemd that has crashed holds its socket and says nothing: nobody waits for it.
func TestSilentSystemd(t *testing.T) {
	ours, _ := pair(t)
	if err := host.GreetSystemd(ours, 20*time.Millisecond); err == nil || err.Error() != "systemd does not answer" {
		t.Error(err)
	}
}

func TestSystemdThatAnswers(t *testing.T) {
	ours, theirs := pair(t)
	go func() {
		r := bufio.NewReader(theirs)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			switch {
			case strings.HasPrefix(strings.TrimLeft(line, "\x00"), "AUTH EXTERNAL"):
				_, err = theirs.WriteString("OK 0123456789abcdef0123456789abcdef\r\n")
			case strings.HasPrefix(strings.TrimLeft(line, "\x00"), "AUTH"):
				_, err = theirs.WriteString("REJECTED EXTERNAL\r\n")
			case strings.HasPrefix(line, "NEGOTIATE_UNIX_FD"):
				_, err = theirs.WriteString("ERROR\r\n")
			}
			if err != nil {
				return
			}
		}
	}()
	if err := host.GreetSystemd(ours, time.Minute); err != nil {
		t.Error(err)
	}
}
