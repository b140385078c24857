package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tenetcm/tenet/modules/internal/web"
	"github.com/tenetcm/tenet/runtime/host"
)

// maxResumed is how often one transfer goes on after it broke.
const maxResumed = 5

// resumption is the body of an answer which, when its transfer breaks, goes on where it
// was, as long as it is known that it is the same file.
type resumption struct {
	io.ReadCloser
	ctx   context.Context
	open  func(offset int64) (io.ReadCloser, error)
	size  int64 // that was read
	tries int
}

// resumable gives the answer's body. Without a strong ETag, or a checksum that decides in
// the end, another version might go on where the one before ended: it is not resumed.
func (want Download) resumable(ctx context.Context, h host.Host, source string, answer *host.Response) io.ReadCloser {
	version := field(answer, "Etag")
	if !strings.HasPrefix(version, `"`) {
		version = ""
	}
	if version == "" && want.Checksum == nil || strings.EqualFold(field(answer, "Accept-Ranges"), "none") {
		return answer.Body
	}
	body := &resumption{ReadCloser: answer.Body, ctx: ctx}
	body.open = func(offset int64) (io.ReadCloser, error) {
		return want.requestRest(ctx, h, source, answer, version, offset)
	}
	return body
}

// Read reads on after a break.
func (r *resumption) Read(p []byte) (int, error) {
	for {
		n, err := r.ReadCloser.Read(p)
		r.size += int64(n)
		if n > 0 && err != nil && !errors.Is(err, io.EOF) {
			return n, nil // the error comes again
		}
		if err == nil || errors.Is(err, io.EOF) || !r.retry() {
			return n, err
		}
	}
}

// retry asks for the rest, a few times. Whether that goes well or not, the error of the
// transfer is what is told.
func (r *resumption) retry() bool {
	for r.tries < maxResumed {
		wait := time.Duration(0) // at first a connection that broke is made anew at once
		if r.tries > 0 {
			wait = time.Second << (r.tries - 1)
		}
		r.tries++
		select {
		case <-r.ctx.Done():
			return false
		case <-time.After(wait):
		}
		body, err := r.open(r.size)
		if errors.Is(err, errOther) {
			return false
		}
		if err == nil {
			_ = r.ReadCloser.Close() // of which nothing more is read
			r.ReadCloser = body
			return true
		}
	}
	return false
}

// errOther is an answer that is not the rest of the file, and will not be.
var errOther = errors.New("the server has no rest of it")

// requestRest asks for a file from an offset on. The request goes where the first one ended,
// and the header that the site gives only to the host that it is for.
func (want Download) requestRest(ctx context.Context, h host.Host, source string, first *host.Response, version string, offset int64) (io.ReadCloser, error) {
	r, err := want.request(h, source)
	if err != nil {
		return nil, err
	}
	if !sameHost(source, first.URL) {
		r.Header = map[string]string{}
	}
	r.URL = first.URL
	r.Header["Range"] = fmt.Sprintf("bytes=%d-", offset)
	if version != "" {
		r.Header["If-Range"] = version
	}
	n, err := host.NetworkOf(h)
	if err != nil {
		return nil, err
	}
	answer, err := n.Fetch(ctx, r)
	if err != nil {
		return nil, err
	}
	if answer.Status >= 500 { // which may pass
		return nil, errors.Join(fmt.Errorf("%s was answered by status %d", web.Shown(first.URL), answer.Status), answer.Body.Close())
	}
	if answer.Status != 206 || !goesOn(answer, first, offset) {
		return nil, errors.Join(errOther, answer.Body.Close())
	}
	return answer.Body, nil
}

func sameHost(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	return errX == nil && errY == nil && x.Scheme == y.Scheme && x.Host == y.Host
}

// goesOn reports whether an answer is all that follows an offset of the file that was
// begun, as far as it says. A server may send less than it was asked for.
func goesOn(answer, first *host.Response, offset int64) bool {
	span, ok := strings.CutPrefix(field(answer, "Content-Range"), "bytes ")
	start, rest, dashed := strings.Cut(span, "-")
	last, total, slashed := strings.Cut(rest, "/")
	if !ok || !dashed || !slashed || start != strconv.FormatInt(offset, 10) {
		return false
	}
	is := func(name, value string) bool {
		was := field(first, name)
		return was == "" || value == "" || was == value
	}
	if total == "*" {
		total = field(first, "Content-Length")
	}
	size, err := strconv.ParseInt(total, 10, 64)
	whole := total == "" || err == nil && last == strconv.FormatInt(size-1, 10)
	return whole && is("Etag", field(answer, "Etag")) && is("Content-Length", total)
}

// field gives a field of an answer's header, by its canonical name.
func field(answer *host.Response, name string) string {
	if values := answer.Header[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}
