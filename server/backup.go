package server

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"filippo.io/age"
	"filippo.io/age/agessh"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/open"
)

// CodeBackup is of a backup that cannot be made, or not be restored.
const CodeBackup = "backup"

// A backup is a tar, sealed by age. Its files are, in this order:
//
//	begin.json        backupBegin
//	contents/DIGEST   where contents are kept in a folder
//	store/NUMBER      pieces of what store.Backup writes, from 00000000 on
//	contents/DIGEST   those that came meanwhile
//	keys/NAME         the folder of keys
//	end.json          backupEnd: without it the backup is not whole
//
// Contents are read before the store and after it, so that none is missing that the store knows, whatever is forgotten or comes meanwhile.
const (
	beginName, endName                = "begin.json", "end.json"
	contentsDir, storeDir, keysDir    = "contents/", "store/", "keys/"
	backupFormat                      = 1
	pieceSize                         = 1 << 20
	maxKeyFile, maxKeyFiles, maxWords = 1 << 20, 32, 1 << 16
)

// backupBegin says what a backup is.
type backupBegin struct {
	Format  int       `json:"format"`
	Version string    `json:"version"` // of the program, for people
	At      time.Time `json:"at"`
}

// backupEnd says what all before it was.
type backupEnd struct {
	Files  int    `json:"files"`
	SHA256 string `json:"sha256"` // of the names and sizes of the files, and of what is in them
}

// Backup writes all that the server must not lose, for the recipients alone: public keys of age, or of SSH. It may run beside everything else.
func (s *Server) Backup(ctx context.Context, w io.Writer, recipients []string) error {
	var folder *contents.Folder
	if f, isFolder := s.Contents.(*contents.Folder); isFolder {
		folder = f
	}
	return backup(ctx, backupSource{s.Config, s.Store, folder, false}, w, recipients)
}

// Backup is Server.Backup for a server that another process runs, or none: it only reads the folder and the store.
func Backup(ctx context.Context, c Config, w io.Writer, recipients []string) (err error) {
	if _, err := os.Stat(filepath.Join(c.Dir, "keys")); err != nil {
		return &diag.HintError{Code: CodeBackup, Err: fmt.Errorf("there is no server: %w", err), Hint: "--dir DIR is the folder of the server"}
	}
	s, err := open.Open(ctx, c.storeURL(), store.Options{Migrations: Migrations(), BeforeMigration: func(*store.Store) error {
		return &diag.HintError{Code: CodeBackup, Message: "the store is of an earlier program", Hint: "make the backup by the program that runs the server"}
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if c.inDatabase() {
		return backup(ctx, backupSource{c, s, nil, false}, w, recipients)
	}
	folder, err := contents.OpenFolder(filepath.Join(c.Dir, "contents"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	return backup(ctx, backupSource{c, s, folder, false}, w, recipients)
}

// backupSource is what a backup is made of.
type backupSource struct {
	Config
	store    *store.Store
	contents *contents.Folder // nil: they are in the store
	// mayLackKeys lets the folder of keys be lost: whoever replaces them by the recovery key has none.
	mayLackKeys bool
}

// keys reads the folder of keys.
func (from *backupSource) keys() (map[string][]byte, error) {
	keys, err := readKeyFolder(from.Dir)
	if from.mayLackKeys && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return keys, err
}

func backup(ctx context.Context, from backupSource, w io.Writer, recipients []string) error {
	to, err := parseRecipients(recipients)
	if err != nil {
		return err
	}
	sealed, err := age.Encrypt(w, to...)
	if err != nil {
		return &diag.HintError{Code: CodeBackup, Err: err, Hint: "--recipient age1… or a public SSH key"}
	}
	b := &backupWriter{ctx: ctx, tar: tar.NewWriter(sealed), sum: sha256.New(), copied: map[contents.Digest]bool{}}
	if err := b.all(&from); err != nil {
		return fmt.Errorf("the backup is not whole: %w", err)
	}
	return errors.Join(b.tar.Close(), sealed.Close())
}

// parseRecipients reads public keys.
func parseRecipients(texts []string) (out []age.Recipient, err error) {
	for _, text := range texts {
		var r age.Recipient
		if strings.HasPrefix(text, "ssh-") {
			r, err = agessh.ParseRecipient(text)
		} else {
			r, err = age.ParseX25519Recipient(text)
		}
		if err != nil {
			return nil, &diag.HintError{Code: CodeBackup, Err: fmt.Errorf("this is no recipient of a backup: %w", err), Hint: "give the public key: age1…, or ssh-ed25519 … or ssh-rsa …"}
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		return nil, &diag.HintError{Code: CodeBackup, Message: "a backup holds the keys of the server, and is sealed to somebody", Hint: "--recipient age1…: age-keygen makes a key"}
	}
	return out, nil
}

// backupWriter writes a backup.
type backupWriter struct {
	ctx    context.Context
	tar    *tar.Writer
	sum    hash.Hash
	files  int
	pieces int
	copied map[contents.Digest]bool
}

func (b *backupWriter) all(from *backupSource) error {
	keys, err := from.keys()
	if err != nil {
		return err
	}
	if err := b.json(beginName, backupBegin{backupFormat, from.Version, time.Now().UTC()}); err != nil {
		return err
	}
	if err := b.contents(from.contents); err != nil {
		return err
	}
	if err := b.store(from.store); err != nil {
		return err
	}
	if err := b.contents(from.contents); err != nil {
		return err
	}
	after, err := from.keys()
	if err != nil {
		return err
	}
	if !maps.EqualFunc(keys, after, bytes.Equal) {
		return &diag.HintError{Code: CodeBackup, Message: "the keys of the server have changed meanwhile", Hint: "make the backup again"}
	}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		if err := b.add(keysDir+name, keys[name]); err != nil {
			return err
		}
	}
	return b.json(endName, backupEnd{b.files, hex.EncodeToString(b.sum.Sum(nil))})
}

// header begins a file.
func (b *backupWriter) header(name string, size int64) error {
	if err := context.Cause(b.ctx); err != nil {
		return err
	}
	b.files++
	noteFile(b.sum, name, size)
	return b.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600})
}

func noteFile(sum hash.Hash, name string, size int64) {
	fmt.Fprintf(sum, "%s %d\n", name, size) // a hash takes all
}

func (b *backupWriter) add(name string, data []byte) error {
	if err := b.header(name, int64(len(data))); err != nil {
		return err
	}
	b.sum.Write(data)
	_, err := b.tar.Write(data)
	return err
}

func (b *backupWriter) json(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return b.add(name, data)
}

// contents copies those that were not copied yet.
func (b *backupWriter) contents(folder *contents.Folder) error {
	if folder == nil {
		return nil
	}
	return folder.List(b.ctx, func(i contents.Info) error {
		if b.copied[i.Digest] {
			return nil
		}
		r, size, err := folder.Open(b.ctx, i.Digest, 0)
		if errors.Is(err, contents.ErrNone) {
			return nil // it was forgotten meanwhile
		}
		if err != nil {
			return err
		}
		b.copied[i.Digest] = true
		err = b.header(contentsDir+string(i.Digest), size)
		if err == nil {
			_, err = io.Copy(io.MultiWriter(b.tar, b.sum), r)
		}
		return errors.Join(err, r.Close())
	})
}

// store copies the store in pieces, since nobody knows how long all of it will be.
func (b *backupWriter) store(s *store.Store) error {
	p := &pieces{to: b}
	if err := s.Backup(b.ctx, p); err != nil {
		return err
	}
	return p.flush()
}

// pieces makes files of what is written to it.
type pieces struct {
	to   *backupWriter
	data []byte
}

// Write takes some more.
func (p *pieces) Write(data []byte) (int, error) {
	p.data = append(p.data, data...)
	if len(p.data) >= pieceSize {
		return len(data), p.flush()
	}
	return len(data), nil
}

func (p *pieces) flush() error {
	if len(p.data) == 0 {
		return nil
	}
	err := p.to.add(pieceName(p.to.pieces), p.data)
	p.to.pieces++
	p.data = p.data[:0]
	return err
}

func pieceName(n int) string { return fmt.Sprintf("%s%08d", storeDir, n) }

// readKeyFolder reads the files of the folder of keys.
func readKeyFolder(dir string) (map[string][]byte, error) {
	root, err := os.OpenRoot(filepath.Join(dir, "keys"))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	list, err := os.ReadDir(root.Name())
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, e := range list {
		if strings.HasPrefix(e.Name(), atomicfile.TempPrefix) || !e.Type().IsRegular() {
			continue
		}
		data, err := root.ReadFile(e.Name())
		if err != nil {
			return nil, err
		}
		if len(data) > maxKeyFile || len(out) == maxKeyFiles {
			return nil, fmt.Errorf("%s is no folder of keys: there is too much in it", root.Name())
		}
		out[e.Name()] = data
	}
	return out, nil
}
