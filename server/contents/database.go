package contents

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tenetcm/tenet/server/store"
)

// pieceSize is how many bytes a row holds.
const pieceSize = 1 << 20

// Database keeps contents in the tables of Migration. Each piece is a write of its own, so that
// others get their turn: until the last one, they belong to an upload that nobody reads.
type Database struct{ store *store.Store }

// Migration makes the tables.
func Migration() store.Migration {
	return store.Migration{Name: "contents", SQL: `
CREATE TABLE contents (digest TEXT PRIMARY KEY, upload TEXT NOT NULL, size BIGINT NOT NULL, at BIGINT NOT NULL) STRICT;
CREATE TABLE contents_uploads (upload TEXT PRIMARY KEY, at BIGINT NOT NULL) STRICT;
CREATE INDEX contents_uploads_by_time ON contents_uploads (at);
CREATE TABLE contents_pieces (upload TEXT NOT NULL, number BIGINT NOT NULL, data BYTES NOT NULL, PRIMARY KEY (upload, number)) STRICT;
`}
}

// InDatabase keeps contents in a store with the tables of Migration, which stays the caller's.
func InDatabase(s *store.Store) *Database { return &Database{s} }

// Put is Store's.
func (c *Database) Put(ctx context.Context, d Digest, r io.Reader) error {
	if _, err := ParseDigest(string(d)); err != nil {
		return err
	}
	upload, now := rand.Text(), time.Now()
	if there, err := c.refresh(ctx, d, now); there || err != nil {
		return err
	}
	err := c.store.Write(ctx, func(tx store.Tx) error {
		if err := sweep(tx, now.Add(-abandoned)); err != nil {
			return err
		}
		_, err := tx.Exec("INSERT INTO contents_uploads (upload, at) VALUES ($1, $2)", upload, now)
		return err
	})
	if err != nil {
		return err
	}
	size, err := c.pieces(ctx, upload, checked(until{ctx, r}, d))
	if err == nil {
		err = c.store.Write(ctx, func(tx store.Tx) error { return finish(tx, d, upload, size, now) })
	}
	if err != nil {
		// Who has given up waits no longer; what cannot be forgotten now is swept away later.
		forget := c.store.Write(context.WithoutCancel(ctx), func(tx store.Tx) error { return drop(tx, upload) })
		return errors.Join(err, forget)
	}
	return nil
}

// refresh has a content that is there count as put now.
func (c *Database) refresh(ctx context.Context, d Digest, now time.Time) (there bool, err error) {
	if _, _, err := c.find(ctx, d); err != nil {
		if errors.Is(err, ErrNone) {
			err = nil
		}
		return false, err
	}
	err = c.store.Write(ctx, func(tx store.Tx) error {
		changed, err := tx.Exec("UPDATE contents SET at = $2 WHERE digest = $1 AND at < $2", d, now)
		if err != nil || changed > 0 {
			there = changed > 0
			return err
		}
		var at time.Time // of somebody who has put it later, or it was removed meanwhile
		there, err = store.One(tx, "SELECT at FROM contents WHERE digest = $1", []any{d}, &at)
		return err
	})
	return there, err
}

// pieces writes what it reads.
func (c *Database) pieces(ctx context.Context, upload string, r io.Reader) (size int64, err error) {
	piece := make([]byte, pieceSize)
	for number := 0; ; number++ {
		n, err := io.ReadFull(r, piece)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return 0, err
		}
		if n > 0 {
			size += int64(n)
			err := c.store.Write(ctx, func(tx store.Tx) error {
				changed, err := tx.Exec("UPDATE contents_uploads SET at = $2 WHERE upload = $1", upload, time.Now())
				if err == nil && changed == 0 {
					err = errors.New("the upload took too long, and was given up")
				}
				if err == nil {
					_, err = tx.Exec("INSERT INTO contents_pieces (upload, number, data) VALUES ($1, $2, $3)", upload, number, piece[:n])
				}
				return err
			})
			if err != nil {
				return 0, err
			}
		}
		if err != nil {
			return size, nil
		}
	}
}

// finish makes the pieces the content, unless another upload of the same was faster.
func finish(tx store.Tx, d Digest, upload string, size int64, at time.Time) error {
	done, err := tx.Exec("DELETE FROM contents_uploads WHERE upload = $1", upload)
	if err == nil && done == 0 {
		err = errors.New("the upload took too long, and was given up")
	}
	if err != nil {
		return err
	}
	first, err := tx.Exec("INSERT INTO contents (digest, upload, size, at) VALUES ($1, $2, $3, $4) ON CONFLICT (digest) DO NOTHING", d, upload, size, at)
	if err == nil && first == 0 {
		if err = drop(tx, upload); err == nil {
			_, err = tx.Exec("UPDATE contents SET at = $2 WHERE digest = $1 AND at < $2", d, at)
		}
	}
	return err
}

func drop(tx store.Tx, upload string) error {
	for _, table := range []string{"contents_pieces", "contents_uploads"} {
		if _, err := tx.Exec("DELETE FROM "+table+" WHERE upload = $1", upload); err != nil {
			return err
		}
	}
	return nil
}

// sweep forgets uploads that nobody has gone on with since.
func sweep(tx store.Tx, since time.Time) error {
	_, err := tx.Exec("DELETE FROM contents_pieces WHERE upload IN (SELECT upload FROM contents_uploads WHERE at < $1)", since)
	if err == nil {
		_, err = tx.Exec("DELETE FROM contents_uploads WHERE at < $1", since)
	}
	return err
}

func (c *Database) find(ctx context.Context, d Digest) (upload string, size int64, err error) {
	err = c.store.Read(ctx, func(r store.Reader) error {
		found, err := store.One(r, "SELECT upload, size FROM contents WHERE digest = $1", []any{d}, &upload, &size)
		if err == nil && !found {
			err = ErrNone
		}
		return err
	})
	return upload, size, err
}

// Open is Store's.
func (c *Database) Open(ctx context.Context, d Digest, offset int64) (io.ReadCloser, int64, error) {
	if _, err := ParseDigest(string(d)); err != nil {
		return nil, 0, err
	}
	upload, size, err := c.find(ctx, d)
	if err == nil && (offset < 0 || offset > size) {
		err = badOffset(offset, size)
	}
	if err != nil {
		return nil, 0, err
	}
	p := &pieceReader{c.store, ctx, upload, offset, size, nil}
	if offset == 0 {
		return io.NopCloser(checked(p, d)), size, nil
	}
	return io.NopCloser(p), size, nil
}

// pieceReader holds one piece at a time.
type pieceReader struct {
	store    *store.Store
	ctx      context.Context
	upload   string
	at, size int64
	piece    []byte
}

// Read reads the next piece where it must.
func (p *pieceReader) Read(out []byte) (int, error) {
	if len(p.piece) == 0 {
		if p.at >= p.size {
			return 0, io.EOF
		}
		number, skip := p.at/pieceSize, p.at%pieceSize
		err := p.store.Read(p.ctx, func(r store.Reader) error {
			found, err := store.One(r, "SELECT data FROM contents_pieces WHERE upload = $1 AND number = $2", []any{p.upload, number}, &p.piece)
			if err == nil && (!found || int64(len(p.piece)) <= skip) {
				err = fmt.Errorf("the content was removed while it was read")
			}
			return err
		})
		if err != nil {
			return 0, err
		}
		p.piece = p.piece[skip:]
	}
	n := copy(out, p.piece)
	p.piece, p.at = p.piece[n:], p.at+int64(n)
	return n, nil
}

// Remove is Store's.
func (c *Database) Remove(ctx context.Context, d Digest, before time.Time) error {
	if _, err := ParseDigest(string(d)); err != nil {
		return err
	}
	return c.store.Write(ctx, func(tx store.Tx) error {
		_, err := tx.Exec("DELETE FROM contents_pieces WHERE upload IN (SELECT upload FROM contents WHERE digest = $1 AND at < $2)", d, before)
		if err == nil {
			_, err = tx.Exec("DELETE FROM contents WHERE digest = $1 AND at < $2", d, before)
		}
		return err
	})
}

// List is Store's.
func (c *Database) List(ctx context.Context, each func(Info) error) error {
	return c.store.Read(ctx, func(r store.Reader) error {
		return r.Query("SELECT digest, size, at FROM contents", nil, func(row store.Row) error {
			var info Info
			if err := row.Scan(&info.Digest, &info.Size, &info.At); err != nil {
				return err
			}
			return each(info)
		})
	})
}
