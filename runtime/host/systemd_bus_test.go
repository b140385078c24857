package host_test

import (
	"bufio"
	"errors"
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
	go welcome(theirs)
	if err := host.GreetSystemd(ours, time.Minute); err != nil {
		t.Error(err)
	}
}

// welcome lets somebody in, as systemd does, who then begins to ask.
func welcome(stream *os.File) (*bufio.Reader, error) {
	r := bufio.NewReader(stream)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, err
		}
		switch line = strings.TrimLeft(line, "\x00"); {
		case strings.HasPrefix(line, "AUTH EXTERNAL"):
			_, err = stream.WriteString("OK 0123456789abcdef0123456789abcdef\r\n")
		case strings.HasPrefix(line, "AUTH"):
			_, err = stream.WriteString("REJECTED EXTERNAL\r\n")
		case strings.HasPrefix(line, "NEGOTIATE_UNIX_FD"):
			_, err = stream.WriteString("ERROR\r\n")
		case strings.HasPrefix(line, "BEGIN"):
			return r, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// Where systemd starts itself anew before it has answered, nobody knows what it did,
// however the end of the connection shows.
func TestSystemdThatIsLost(t *testing.T) {
	for name, read := range map[string]int{"before it is asked": 0, "in the middle of the question": 1, "behind the question": 4096} {
		ours, theirs := pair(t)
		go func() {
			if r, err := welcome(theirs); err == nil && read > 0 {
				_, _ = r.Read(make([]byte, read))
			}
			theirs.Close()
		}()
		if err := host.AskSystemd(ours, time.Minute); !errors.Is(err, host.ErrLost) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
