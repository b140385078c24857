package identity

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
)

// partSuffix ends the names of contents that are not whole yet.
const partSuffix = ".part"

// Fetch gets a content into a folder, as a file that is named by its digest, and gives its path. What was fetched before it was interrupted is not
// fetched again. A file is there under its name only once it is whole, durable, and has the digest. Ticket is the server's for this content.
func (i *Identity) Fetch(ctx context.Context, dir string, c trust.Content, ticket string) (string, error) {
	path := filepath.Join(dir, c.SHA256.String())
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() == c.Size {
		return path, nil
	}
	f, err := os.OpenFile(path+partSuffix, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := i.fill(ctx, f, c, ticket); err != nil {
		return "", err
	}
	if err := check(f, c); err != nil {
		return "", errors.Join(err, f.Truncate(0))
	}
	if err := f.Sync(); err != nil {
		return "", err
	}
	if err := os.Rename(path+partSuffix, path); err != nil {
		return "", err
	}
	d, err := os.Open(dir)
	if err != nil {
		return "", err
	}
	defer d.Close()
	return path, d.Sync()
}

// maxBroken is how often in a row a connection may break without having brought anything.
const maxBroken = 3

// fill fetches what lacks.
func (i *Identity) fill(ctx context.Context, f *os.File, c trust.Content, ticket string) error {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if size > c.Size {
		if size = 0; f.Truncate(0) != nil {
			return fmt.Errorf("%s is too large, and cannot be emptied", f.Name())
		}
	}
	for broken := 0; size < c.Size; {
		n, err := i.fetchFrom(ctx, f, c, ticket, size)
		size += n
		var refused *ServerError
		switch {
		case err == nil:
		case n > 0:
			broken = 0
		case ctx.Err() != nil || errors.As(err, &refused) && !refused.Retryable:
			return err
		case refused != nil && refused.Retryable && broken < maxBroken-1:
			broken++
			if err := sleep(ctx, min(max(refused.After, time.Second), time.Minute)); err != nil {
				return err
			}
		default:
			if broken++; broken == maxBroken {
				return err
			}
		}
	}
	return nil
}

// fetchFrom fetches from an offset on, as far as one connection goes.
func (i *Identity) fetchFrom(ctx context.Context, f *os.File, c trust.Content, ticket string, offset int64) (int64, error) {
	addresses := i.Addresses()
	if len(addresses) == 0 {
		return 0, &diag.HintError{Code: "not_joined", Message: "this host has not joined a server", Hint: "tenet agent join"}
	}
	proof := &Proof{Method: http.MethodGet, Path: ContentsPath + c.SHA256.String(), Nonce: ticket, Body: trust.DigestOf(nil)}
	header := http.Header{TicketHeader: {ticket}, "Range": {fmt.Sprintf("bytes=%d-", offset)}}
	var failed []error
	for _, address := range addresses {
		r, err := i.send(ctx, address, proof, nil, header)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		n, err := copyFrom(f, r, c, offset)
		var refused *ServerError
		if errors.As(err, &refused) && refused.Code == CodeStandby {
			failed = append(failed, err)
			continue
		}
		return n, err
	}
	return 0, errors.Join(failed...)
}

func copyFrom(f *os.File, r *http.Response, c trust.Content, offset int64) (int64, error) {
	defer r.Body.Close()
	wanted := fmt.Sprintf("bytes %d-%d/%d", offset, c.Size-1, c.Size)
	if r.StatusCode != http.StatusPartialContent || r.Header.Get("Content-Range") != wanted {
		data, err := io.ReadAll(io.LimitReader(r.Body, maxProblem))
		if err != nil {
			return 0, err
		}
		if r.StatusCode == http.StatusPartialContent {
			return 0, &ServerError{Problem: Problem{Code: "content", Detail: "the content has another size than the assignment says"}}
		}
		return 0, problem(r, data)
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return 0, err
	}
	n, err := io.Copy(f, io.LimitReader(r.Body, c.Size-offset))
	if err == nil && n < c.Size-offset {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

const maxProblem = 1 << 20

// check reads the file anew: parts of it may be of another day.
func check(f *os.File, c trust.Content) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	if trust.Digest(sum.Sum(nil)) != c.SHA256 {
		return fmt.Errorf("what was fetched is not the content %s: it is fetched anew", c.SHA256)
	}
	return nil
}
