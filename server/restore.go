package server

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/age"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/server/enroll"
	"github.com/tenetcm/tenet/server/sessions"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/open"
	"github.com/tenetcm/tenet/server/update"
)

// Restore puts a backup into a folder that is empty, or is not there, and into the database if the server has one: that is to be empty as well. The
// server recovers then: it delivers nothing until a person has it resume; tokens, sessions and approvals are void.
//
// All is made beside the folder, and takes its place in one step. Where there is a database its transaction ends last: who is stopped right before that has the
// keys without the rows, and begins again with an empty folder.
func Restore(ctx context.Context, c Config, r io.Reader, identities []age.Identity) (err error) {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return err
	}
	if err := demandEmpty(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	beside := filepath.Join(filepath.Dir(dir), ".tenet-restore-"+filepath.Base(dir))
	if err := os.Mkdir(beside, 0o700); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return &diag.HintError{Code: CodeBackup, Message: "a backup is being restored, or that was interrupted: there is " + beside, Hint: "if it was interrupted, remove that folder"}
		}
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(beside))
		}
	}()
	opened, err := age.Decrypt(r, identities...)
	if err != nil {
		return &diag.HintError{Code: CodeBackup, Err: fmt.Errorf("the backup cannot be opened: %w", err), Hint: "nothing was changed; give the private key of one of its recipients"}
	}
	b := &backupReader{ctx: ctx, plain: opened, tar: tar.NewReader(opened), sum: sha256.New(), dir: beside}
	if c.Store != "" {
		moved := false
		err = b.restore(c, c.Store, func() error {
			if err := moveInto(beside, dir); err != nil {
				return err
			}
			moved = true
			return nil
		})
		if err != nil && moved {
			err = errors.Join(err, os.RemoveAll(dir))
		}
		return err
	}
	if err := b.restore(c, filepath.Join(beside, "store"), func() error { return nil }); err != nil {
		return err
	}
	return moveInto(beside, dir)
}

// demandEmpty refuses a folder in which there is something.
func demandEmpty(dir string) error {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && len(list) > 0 {
		return &diag.HintError{Code: CodeBackup, Message: "there is something in " + dir + ", and a backup takes the place of nothing", Hint: "give a folder that is empty"}
	}
	return err
}

// moveInto puts a folder in the place of one that is empty or not there.
func moveInto(from, to string) error {
	if err := syncFolder(from); err != nil {
		return err
	}
	// Go refuses to rename to a folder. One that is not empty stays, and the next step fails.
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(to))
}

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// backupReader reads a backup.
type backupReader struct {
	ctx    context.Context
	plain  io.Reader
	tar    *tar.Reader
	sum    hash.Hash
	before []byte // the digest of all files before the present one
	files  int
	pieces int
	dir    string // where files go

	name string // of the present file
	size int64
}

var errDamaged = errors.New("it is damaged")

// next goes to the next file.
func (b *backupReader) next() error {
	if err := context.Cause(b.ctx); err != nil {
		return err
	}
	h, err := b.tar.Next()
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: its end lacks", errDamaged)
	}
	if err != nil {
		return err
	}
	if h.Typeflag != tar.TypeReg || h.Size < 0 {
		return errDamaged
	}
	b.name, b.size, b.before = h.Name, h.Size, b.sum.Sum(nil)
	b.files++
	noteFile(b.sum, b.name, b.size)
	return nil
}

// Read reads the present file.
func (b *backupReader) Read(p []byte) (int, error) {
	n, err := b.tar.Read(p)
	b.sum.Write(p[:n])
	return n, err
}

// small reads the present file, if it is no longer than that.
func (b *backupReader) small(limit int64) ([]byte, error) {
	if b.size > limit {
		return nil, errDamaged
	}
	return io.ReadAll(b)
}

// restore reads all. The last step is done once everything is known to be right.
func (b *backupReader) restore(c Config, url string, last func() error) (err error) {
	if err := b.begin(); err != nil {
		return refused(err)
	}
	folder, err := contents.OpenFolder(filepath.Join(b.dir, "contents"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	if err := b.contents(folder); err != nil {
		return refused(err)
	}
	engine, err := open.Engine(b.ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	return store.Restore(b.ctx, engine, Migrations(), &storePieces{from: b}, func(tx store.Tx) error {
		for strings.HasPrefix(b.name, storeDir) { // of which nothing was left to read
			if err := b.next(); err != nil {
				return refused(err)
			}
		}
		if err := b.rest(folder); err != nil {
			return refused(err)
		}
		if err := markRestored(tx, time.Now().UTC()); err != nil {
			return err
		}
		return last()
	})
}

func refused(err error) error {
	return &diag.HintError{Code: CodeBackup, Err: fmt.Errorf("the backup cannot be restored: %w", err), Hint: "nothing was changed; take another one"}
}

// markRestored makes void what may have been taken back since.
func markRestored(tx store.Tx, now time.Time) error {
	if err := sessions.Restored(tx); err != nil {
		return err
	}
	if err := enroll.Restored(tx, now); err != nil {
		return err
	}
	if err := deploy.Restored(tx, now); err != nil {
		return err
	}
	if err := update.Restored(tx); err != nil {
		return err
	}
	return access.Void(tx, now, "the server was restored from a backup")
}

// begin reads what kind of backup it is.
func (b *backupReader) begin() error {
	if err := b.next(); err != nil {
		return err
	}
	data, err := b.small(maxWords)
	if err != nil {
		return err
	}
	var begin backupBegin
	if b.name != beginName || json.Unmarshal(data, &begin) != nil {
		return errors.New("it is no backup of a server")
	}
	if begin.Format != backupFormat {
		return fmt.Errorf("the program %q has made it, whose backups this one does not know", begin.Version)
	}
	return b.next()
}

// contents keeps contents from the present file on, and stops at another one.
func (b *backupReader) contents(folder *contents.Folder) error {
	for {
		text, isContent := strings.CutPrefix(b.name, contentsDir)
		if !isContent {
			return nil
		}
		d, err := contents.ParseDigest(text)
		if err != nil {
			return errDamaged
		}
		if err := folder.Put(b.ctx, d, b); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, b); err != nil { // it was there already
			return err
		}
		if err := b.next(); err != nil {
			return err
		}
	}
}

// rest reads what comes after the store, to the very end.
func (b *backupReader) rest(folder *contents.Folder) error {
	if err := b.contents(folder); err != nil {
		return err
	}
	if err := b.keys(); err != nil {
		return err
	}
	files, sum := b.files, hex.EncodeToString(b.before)
	data, err := b.small(maxWords)
	if err != nil {
		return err
	}
	var end backupEnd
	if b.name != endName || json.Unmarshal(data, &end) != nil || end.Files != files-1 || end.SHA256 != sum {
		return errDamaged
	}
	if _, err := b.tar.Next(); !errors.Is(err, io.EOF) {
		return errors.Join(errDamaged, err)
	}
	// Only at the end of what is sealed is it known that nothing was cut.
	if n, err := io.Copy(io.Discard, b.plain); err != nil || n > 0 {
		return errors.Join(errDamaged, err)
	}
	return nil
}

// keys keeps the folder of keys.
func (b *backupReader) keys() error {
	dir := filepath.Join(b.dir, "keys")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for n := 0; strings.HasPrefix(b.name, keysDir); n++ {
		name := strings.TrimPrefix(b.name, keysDir)
		if n == maxKeyFiles || !filepath.IsLocal(name) || filepath.Base(name) != name {
			return errDamaged
		}
		data, err := b.small(maxKeyFile)
		if err != nil {
			return err
		}
		if err := atomicfile.Replace(filepath.Join(dir, name), atomicfile.Options{Mode: 0o600, Durable: true}, atomicfile.Data(data)); err != nil {
			return err
		}
		if err := b.next(); err != nil {
			return err
		}
	}
	return nil
}

// storePieces reads the pieces of the store as one.
type storePieces struct{ from *backupReader }

// Read reads some more.
func (s *storePieces) Read(p []byte) (int, error) {
	for {
		if s.from.name != pieceName(s.from.pieces) {
			return 0, io.EOF
		}
		n, err := s.from.Read(p)
		if n > 0 || !errors.Is(err, io.EOF) {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return n, err
		}
		s.from.pieces++
		if err := s.from.next(); err != nil {
			return 0, err
		}
	}
}
