// Package download is the module "download": a file that comes from the web.
package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/claim"
	"github.com/tenetcm/tenet/modules/internal/deferred"
	"github.com/tenetcm/tenet/modules/internal/owner"
	"github.com/tenetcm/tenet/modules/internal/web"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Download is the state of one file from the web, wanted or observed. A nil
// attribute is not managed.
type Download struct {
	Path     string            `state:"path,key,path" doc:"Absolute path of the file."`
	URL      *string           `state:"url,in,present" doc:"Where the file comes from: http or https."`
	Mirrors  []string          `state:"mirrors,in" doc:"Other URLs of the same file, tried one after the other where the ones before fail."`
	Checksum *string           `state:"checksum" doc:"What the file must be: \"sha256:\" or \"sha512:\" and hex digits, or the URL of a file of such sums, in which the line of the file's name counts."`
	Owner    *string           `state:"owner,of_user" doc:"Name or number of the user who owns the file."`
	Group    *string           `state:"group,of_group" doc:"Name or number of the group of the file."`
	Mode     *fs.FileMode      `state:"mode" doc:"Permission bits, such as \"0755\"."`
	MaxSize  *int              `state:"max_size,in" doc:"Bytes that the file may have; without it as many as the disk holds."`
	Headers  map[string]string `state:"headers,in,sensitive" doc:"Fields of the requests' header, such as Authorization. They are never shown, and not sent to other hosts that a redirect leads to."`
	CA       *string           `state:"ca,in,path" doc:"File on the host with the certificates (PEM) that are trusted in place of the host's own."`
	Proxy    *string           `state:"proxy,in" doc:"URL of the proxy to go through. Without it there is none: the environment is not asked."`

	ownerEffects []states.Change // observed: what goes with the owner

	// remember: nobody said what the file must be, so that the server's word on
	// its version is kept.
	remember bool
}

const doc = `A file that is downloaded, verified and put in place.

With a checksum nothing is fetched while the file has it, and the plan is certain without asking anybody. The URL may change then: the same bytes are the same file.

Without a checksum the server is asked each time, in a plan too, whether it has another version than the one that was put in place: what it said of that (ETag, Last-Modified) is kept in /var/cache/tenet, or in ~/.cache/tenet of a user who is not root. A file of which nothing is kept, or that was edited since, is compared with all that the server sends. So a large file is better given a checksum.

The new file is written beside the old one as it comes, verified, and renamed over it: nobody ever sees half of it, and a broken download changes nothing. What is not given is not managed; a new file has mode 0644, and belongs to who runs tenet. The directory must be there. Absent removes a regular file.

` + owner.Doc + `

It is tried three times. A transfer that breaks goes on where it was, up to five times in each, where the server offers that and it is the same file: by its ETag, or since a checksum decides in the end. A transfer of which less than 1 KiB comes within 30 s counts as broken, whatever timeout says, which bounds the whole part. To unpack what was downloaded, use archive.`

const example = `download "/usr/local/bin/tool" {
  url      = "http://127.0.0.1/tool"
  mirrors  = ["http://localhost/tool"]
  checksum = "sha256:60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"
  mode     = "0755"
}

download "/srv/news.html" {
  url      = "http://127.0.0.1/tool"
  max_size = 1048576
}`

// Module is the module "download".
var Module = states.Define(states.Type[Download]{
	Name: "download", Doc: doc, Example: example,
	New:      Download{Mode: new(fs.FileMode(0o644))},
	Validate: validate, Claims: claim.File("url"), Complete: complete,
	Read: read, Write: write, Remove: remove, Foresee: foresee,
	Extra: func(have, _ Download) []states.Change { return have.ownerEffects },
	Retry: &states.Retry{Attempts: 3, Delay: 2 * time.Second, Backoff: 2},
})

func validate(want Download) error {
	for _, m := range want.Mirrors {
		if err := web.URL("mirrors", m); err != nil {
			return err
		}
	}
	if want.Path == "/" {
		return states.InvalidAttribute("path", "/ is a directory", "")
	}
	if want.MaxSize != nil && *want.MaxSize < 0 {
		return states.InvalidAttribute("max_size", "a size cannot be less than 0", "")
	}
	return errors.Join(
		check.Path("path", want.Path),
		web.OptionalURL("url", want.URL),
		checkSum(want.Checksum),
		check.Account("owner", want.Owner),
		check.Account("group", want.Group),
		web.Headers("headers", want.Headers),
		check.OptionalPath("ca", want.CA),
		web.OptionalURL("proxy", want.Proxy),
	)
}

func read(ctx context.Context, h host.Host, want Download) (*Download, error) {
	info, err := h.Lstat(want.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.Kind != host.Regular:
		return nil, &states.FinalError{Err: states.WrongKindError(want.Path, info.Kind, "file")}
	}
	have := &Download{
		Path:         want.Path,
		Owner:        owner.User(h, info.UID, want.Owner),
		Group:        owner.Group(h, info.GID, want.Group),
		Mode:         &info.Mode,
		ownerEffects: owner.ListLost(h, want.Path, info, want.Owner),
	}
	if want.Checksum == nil {
		return have, nil
	}
	sum, err := digestAt(ctx, h, want.Path, algorithmOf(*want.Checksum))
	if foreseen, ok := deferred.About[string](err); ok {
		sum, err = foreseen, nil
	}
	have.Checksum = &sum
	return have, err
}

// digestAt is the digest of a file, as "sha256:" and hex digits.
func digestAt(ctx context.Context, h host.Reader, name, algorithm string) (string, error) {
	f, err := h.Open(name)
	if err != nil {
		return "", err
	}
	sum := newDigest(algorithm)
	_, err = io.Copy(sum, host.ReaderWithin(ctx, f))
	return algorithm + ":" + sum.hex(), errors.Join(err, f.Close())
}

func write(ctx context.Context, h host.Host, have *Download, want Download) error {
	meta, err := owner.Meta(h, want.Owner, want.Group, want.Mode)
	if err != nil {
		return err
	}
	if have != nil && (want.Checksum == nil || have.Checksum != nil && *have.Checksum == *want.Checksum) {
		return owner.SetMeta(ctx, h, want.Path, meta, nil)
	}
	if want.URL == nil {
		return states.InvalidAttribute("url", "it is required for a file that is to be fetched", "")
	}
	// What is missing is known before anything is asked for.
	if _, err := h.Lstat(path.Dir(want.Path)); errors.Is(err, fs.ErrNotExist) {
		return &states.FinalError{Err: states.DirectoryError(h, path.Dir(want.Path), err)}
	}
	return want.fromAny(ctx, h, func(source string) error {
		return want.fetch(ctx, h, source, meta)
	})
}

// fromAny tries the URL and its mirrors until one will do.
func (want Download) fromAny(ctx context.Context, h host.Host, try func(source string) error) error {
	var errs []error
	for _, source := range append([]string{*want.URL}, want.Mirrors...) {
		err := try(source)
		if err == nil || ctx.Err() != nil || errors.Is(err, host.ErrUnforeseeable) || errors.Is(err, host.ErrUnsupported) {
			return err
		}
		if _, onHost := errors.AsType[*fs.PathError](err); onHost {
			return err // such as a full disk, which another source does not help
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// request asks for the file.
func (want Download) request(h host.Reader, source string) (host.Request, error) {
	r := host.Request{URL: source, Reads: true, Header: map[string]string{}}
	for name, value := range want.Headers {
		r.Header[name] = value
	}
	if want.Proxy != nil {
		r.Proxy = *want.Proxy
	}
	var err error
	r.CA, err = web.CA(h, want.CA)
	return r, err
}

// fetch puts the file in place as one source has it.
func (want Download) fetch(ctx context.Context, h host.Host, source string, meta host.Meta) error {
	answer, err := want.ask(ctx, h, source, nil)
	if err != nil {
		return err
	}
	answer.Body = want.resumable(ctx, h, source, answer)
	defer answer.Body.Close()
	body := want.verify(answer)
	// What goes wrong with the body is not the file's fault.
	err = h.WriteFile(ctx, want.Path, host.Flow(func() (io.ReadCloser, error) { return body, nil }), meta)
	if body.err != nil {
		return body.err
	}
	if err != nil || !want.remember {
		return err
	}
	return remember(ctx, h, want, source, answer, body.sha256.hex())
}

// ask makes the request, which must be answered with the file; or, with what is
// known of the version that is there, with the word that it is the same.
func (want Download) ask(ctx context.Context, h host.Host, source string, known *record) (*host.Response, error) {
	r, err := want.request(h, source)
	if err != nil {
		return nil, err
	}
	known.conditions(r.Header)
	n, err := host.NetworkOf(h)
	if err != nil {
		return nil, err
	}
	answer, err := n.Fetch(ctx, r)
	if err != nil {
		return nil, err
	}
	if answer.Status == 200 || answer.Status == 304 && known != nil {
		return answer, nil
	}
	return nil, errors.Join(fmt.Errorf("%s was answered by status %d, not 200", web.Shown(source), answer.Status), answer.Body.Close())
}

func foresee(ctx context.Context, h host.Host, have, want *Download) error {
	if want == nil {
		return remove(ctx, h, *have)
	}
	meta, err := owner.Meta(h, want.Owner, want.Group, want.Mode)
	if err != nil {
		return err
	}
	if have != nil && (want.Checksum == nil || have.Checksum != nil && *have.Checksum == *want.Checksum) {
		return h.SetMeta(want.Path, meta)
	}
	about := ""
	if want.Checksum != nil {
		about = *want.Checksum
	}
	return states.DirectoryError(h, path.Dir(want.Path), h.WriteFile(ctx, want.Path, deferred.Content(about), meta))
}

func remove(ctx context.Context, h host.Host, have Download) error {
	return errors.Join(h.Remove(have.Path), forget(h, have.Path))
}

func algorithmOf(checksum string) string {
	if algorithm, _, ok := strings.Cut(checksum, ":"); ok && algorithm == "sha512" {
		return algorithm
	}
	return "sha256"
}
