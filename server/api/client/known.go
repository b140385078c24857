package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
)

// CodeIdentity says that a host is not the one that had its name before.
const CodeIdentity = "identity"

// knownName is that of the file with the hosts that are known, in the folder of the login.
const knownName = "known_hosts"

// known is which host a name stood for when it was reached first, by server: whoever takes a server over later cannot put themselves in
// between. The file has a line for each, "SERVER NAME ID"; the last one for a name counts. It is only ever added to.
type known struct {
	file   string // empty: nothing is known, and nothing kept
	server string // its address

	mu   sync.Mutex
	ids  map[string]trust.ID
	read int64 // how much of the file is in ids
}

// check notes the identity of a host that is reached first, and refuses another one from then on.
func (k *known) check(name string, id trust.ID) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.file == "" || k.ids[name] == id {
		return nil
	}
	return k.locked(func(f *os.File) error {
		switch former := k.ids[name]; former {
		case id:
			return nil
		case "":
			return k.add(f, name, id)
		default:
			return &diag.HintError{Code: CodeIdentity,
				Message: fmt.Sprintf("%s is another host than before: its identity was %s, and the server says that it is %s", diag.Clean(name, "", '�'), former, id),
				Hint: fmt.Sprintf("if it was enrolled anew, compare the identity with what the machine itself says (tenet agent join prints it), then: tenet host trust %s %s; if it was not, somebody may have taken the server over",
					diag.Clean(name, "", '�'), id)}
		}
	})
}

// trust notes an identity, whatever is known.
func (k *known) trust(name string, id trust.ID) (former trust.ID, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	err = k.locked(func(f *os.File) error {
		if former = k.ids[name]; former == id {
			return nil
		}
		return k.add(f, name, id)
	})
	return former, err
}

// locked calls a function with the file, which nobody else changes meanwhile, after reading what was added to it.
func (k *known) locked(do func(*os.File) error) (err error) {
	if err := os.MkdirAll(filepath.Dir(k.file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(k.file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err == nil {
		err = k.catchUp(f)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", k.file, err)
	}
	return do(f)
}

// catchUp reads what was added. A last line without an end was being written when somebody was killed: it never counted.
func (k *known) catchUp(f *os.File) error {
	if info, err := f.Stat(); err != nil || info.Size() < k.read { // somebody has written another one
		k.ids, k.read = nil, 0
		if err != nil {
			return err
		}
	}
	if k.ids == nil {
		k.ids = map[string]trust.ID{}
	}
	data, err := io.ReadAll(io.NewSectionReader(f, k.read, 1<<40))
	if err != nil {
		return err
	}
	whole := data[:bytes.LastIndexByte(data, '\n')+1]
	for line := range strings.Lines(string(whole)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) != 3 || trust.ID(fields[2]).Check() != nil {
			return &diag.HintError{Code: CodeInvalid, Message: fmt.Sprintf("the line %.200q names no server, host and identity", strings.TrimSpace(line)), Hint: "mend it, or remove the line"}
		}
		if fields[0] == k.server {
			k.ids[fields[1]] = trust.ID(fields[2])
		}
	}
	k.read += int64(len(whole))
	if len(whole) < len(data) {
		return f.Truncate(k.read)
	}
	return nil
}

// add adds a line. It is durable before the host is reached.
func (k *known) add(f *os.File, name string, id trust.ID) error {
	if name == "" || strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || diag.Unsafe(c) }) {
		return &diag.HintError{Code: CodeInvalid, Message: fmt.Sprintf("%.80q is no name of a host", name)}
	}
	line := k.server + " " + name + " " + string(id) + "\n"
	n, err := f.WriteAt([]byte(line), k.read)
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", k.file, err)
	}
	k.ids[name] = id
	k.read += int64(n)
	return nil
}

// TrustHost has a name stand for an identity from now on, and gives the one for which it stood; empty: it was not known.
func (c *Client) TrustHost(name string, id trust.ID) (former trust.ID, err error) {
	if err := id.Check(); err != nil {
		return "", &diag.HintError{Code: CodeInvalid, Err: err, Hint: "the machine itself says which it has: tenet agent join prints it"}
	}
	return c.known.trust(name, id)
}
