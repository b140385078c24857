package identity

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
)

const (
	fileName   = "identity.json"
	lockName   = "lock"
	fileFormat = "tenet.identity/1"
	maxFile    = 64 << 20
)

// CodeInUse is the code of the error that another process has the folder.
const CodeInUse = "in_use"

// record is the file. It holds secrets.
type record struct {
	Format    string            `json:"format"`
	Keys      keptKeys          `json:"keys"`
	Following *keptKeys         `json:"following,omitempty"` // keys that the server is told of, and has not answered yet
	Former    []string          `json:"former,omitempty"`    // sealing keys: what was encrypted to them may still lie here
	State     State             `json:"state,omitempty"`
	Reason    string            `json:"reason,omitempty"`
	Token     string            `json:"token,omitempty"` // until the host is taken in
	Name      string            `json:"name,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Addresses []string          `json:"addresses,omitempty"`
	Brokers   []string          `json:"brokers,omitempty"`
	// Credential is for brokers that want one.
	Credential string `json:"credential,omitempty"`
	// BrokerAuthorities are CAs of brokers, as DER.
	BrokerAuthorities [][]byte        `json:"broker_authorities,omitempty"`
	Documents         []*trust.Signed `json:"documents,omitempty"`
	Value             []byte          `json:"value,omitempty"` // that the server knows
	Next              []byte          `json:"next,omitempty"`  // that it may know
}

// folder is open, and nobody else's meanwhile.
type folder struct {
	root   *os.Root
	lock   *os.File
	path   string
	isView bool // somebody else has it, and it is only read here
}

// openFolder opens a folder, and makes it where there is none.
func openFolder(dir string) (*folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	f := &folder{root: root, path: dir}
	if err := f.take(); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

func (f *folder) take() error {
	info, err := f.root.Stat(".")
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return &diag.HintError{Code: "permissions", Message: f.path + " holds the keys of this host, and others may look into it", Hint: "chmod 0700 " + f.path}
	}
	if f.lock, err = f.root.OpenFile(lockName, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return err
	}
	err = unix.Flock(int(f.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return &diag.HintError{Code: CodeInUse, Message: "another process has " + f.path + " open", Hint: "is the agent running? Stop it first", Err: err}
	}
	return err
}

func (f *folder) close() error {
	err := f.root.Close()
	if f.lock != nil {
		// A program that this process is just beginning has the file open, too, until it is another program: closing it here alone would not release it.
		err = errors.Join(err, unix.Flock(int(f.lock.Fd()), unix.LOCK_UN), f.lock.Close())
	}
	return err
}

// read gives the file; nil: there is none.
func (f *folder) read() (*record, error) {
	file, err := f.root.Open(fileName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return decodeKept(file, filepath.Join(f.path, fileName))
}

func decodeKept(r io.Reader, path string) (*record, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile))
	if err != nil {
		return nil, err
	}
	k := &record{}
	if json.Unmarshal(data, k) != nil { // its error could quote a secret
		return nil, &diag.HintError{Code: "damaged", Message: path + " is damaged", Hint: "remove the folder, and join the host anew: it gets another identity, which a person approves"}
	}
	if k.Format != fileFormat {
		return nil, &diag.HintError{Code: "format", Message: fmt.Sprintf("%s has the format %.40q, and this program knows %s", path, k.Format, fileFormat), Hint: "use the newer tenet"}
	}
	return k, nil
}

// write replaces the file, durably.
func (f *folder) write(k *record) error {
	if f.isView {
		return errors.New(f.path + " is only looked at by this process")
	}
	data, err := plainjson.Marshal(k)
	if err != nil {
		return err
	}
	return atomicfile.ReplaceIn(f.root, fileName, atomicfile.Options{Mode: 0o600, Durable: true}, atomicfile.Data(data))
}

// Open opens the folder of a host's identity. Where there is none, keys are made.
func Open(dir string, o Options) (*Identity, error) {
	return open(dir, o, true)
}

// Load opens the folder of an identity that is there.
func Load(dir string, o Options) (*Identity, error) {
	if _, err := os.Stat(filepath.Join(dir, fileName)); errors.Is(err, fs.ErrNotExist) {
		return nil, &diag.HintError{Code: "not_joined", Message: "this host has not joined a server: there is nothing in " + dir, Hint: "tenet agent join", Err: err}
	}
	return open(dir, o, false)
}

// View opens the folder of an identity beside the process that has it: nothing of it can be changed.
func View(dir string, o Options) (*Identity, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	i := &Identity{folder: &folder{root: root, path: dir, isView: true}, options: o}
	if err := i.load(false); err != nil {
		return nil, errors.Join(err, i.folder.close())
	}
	return i, nil
}

func open(dir string, o Options, create bool) (*Identity, error) {
	f, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	i := &Identity{folder: f, options: o}
	if err := i.load(create); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return i, nil
}

func (i *Identity) load(create bool) error {
	k, err := i.folder.read()
	switch {
	case err != nil:
		return err
	case k == nil && !create:
		return fs.ErrNotExist
	case k == nil:
		made, err := makeKeys(nil, 1, i.now())
		if err != nil {
			return err
		}
		return i.save(record{Format: fileFormat, Keys: *made})
	}
	return i.take(*k)
}

// save makes something durable, and then takes it up. The caller holds mu, unless nobody else knows i yet.
func (i *Identity) save(next record) error {
	i.step("before")
	if err := i.folder.write(&next); err != nil {
		return fmt.Errorf("the identity of this host cannot be kept: %w", err)
	}
	i.step("after")
	return i.take(next)
}

func (i *Identity) step(name string) {
	if i.options.Step != nil {
		i.options.Step(name)
	}
}

// take takes up what is durable.
func (i *Identity) take(next record) error {
	keys, err := next.open()
	if err != nil {
		return err
	}
	chain, err := trust.ParseChain(next.Documents)
	if err != nil {
		return err
	}
	i.kept, i.keys, i.chain = next, *keys, chain
	return nil
}

// Remove removes the identity of a host that leaves its server, which still knows it: its keys are gone for good.
func Remove(dir string) error {
	f, err := openFolder(dir)
	if err != nil {
		return err
	}
	err = f.root.Remove(fileName)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil {
		err = f.root.Remove(lockName)
	}
	return errors.Join(err, f.close())
}
