package states

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/tenetcm/tenet/runtime/host"
)

// Source is a file of the site whose bytes go to the host untouched. In values
// it is {"path", "sha256", "size"}: a site that loads holds the digest, and the
// runtime opens the file again where the bytes are needed.
type Source struct {
	Path   string // within the site, slash-separated
	SHA256 string // lower-case hex
	Size   int64
	site   fs.FS
}

// Content gives the file's bytes. Reading them fails when the file is not at
// hand, or has changed since the site was loaded.
func (s Source) Content() (host.Content, error) {
	if s.Size > host.InlineLimit {
		return host.Stream(s.Size, s.SHA256, s.open), nil
	}
	f, err := s.open()
	if err != nil {
		return host.Content{}, err
	}
	var data bytes.Buffer
	data.Grow(int(max(s.Size, 0)) + bytes.MinRead) // it says its end in what is left
	_, err = data.ReadFrom(io.LimitReader(f, host.InlineLimit+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return host.Content{}, err
	}
	c := host.Text(data.String())
	if c.Sum() != s.SHA256 {
		return host.Content{}, fmt.Errorf("%s has changed since the site was loaded", s.Path)
	}
	return c, nil
}

func (s Source) open() (io.ReadCloser, error) {
	if s.site == nil {
		return nil, fmt.Errorf("%s: the site's files are not at hand", s.Path)
	}
	return s.site.Open(s.Path)
}
