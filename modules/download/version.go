package download

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/web"
	"github.com/tenetcm/tenet/runtime/host"
)

// complete finds out what the file must be, where the part does not say so itself.
func complete(ctx context.Context, h host.Host, want *Download) error {
	switch {
	case want.Checksum != nil && isURL(*want.Checksum):
		return want.look(ctx, h)
	case want.Checksum != nil || want.URL == nil:
		return nil
	}
	want.remember = true
	now, err := digestAt(ctx, h, want.Path, "sha256")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		if info, wrong := h.Lstat(want.Path); wrong == nil && info.Kind != host.Regular {
			return nil // Read says so
		}
		return err
	}
	return want.fromAny(ctx, h, func(source string) error {
		return want.compare(ctx, h, source, now)
	})
}

// look finds the checksum in a list on the web.
func (want *Download) look(ctx context.Context, h host.Host) error {
	r, err := want.request(h, *want.Checksum)
	if err != nil {
		return err
	}
	name := path.Base(want.Path)
	if want.URL != nil {
		u, err := url.Parse(*want.URL)
		if err != nil {
			return err
		}
		if base := path.Base(u.Path); base != "/" && base != "." {
			name = base
		}
		if list, err := url.Parse(*want.Checksum); err == nil && list.Host != u.Host {
			r.Header = nil // what is for one host is not for another
		}
	}
	answer, err := web.Get(ctx, h, r)
	if err == nil {
		err = web.Expected([]string{"200"}, answer.Status)
	}
	if err != nil {
		return fmt.Errorf("the list of checksums: %w", err)
	}
	sum, err := fromList(answer.Text, name)
	want.Checksum = &sum
	return err
}

// compare asks a source whether it has another file than the one that is there,
// whose digest is now; empty: none is there.
func (want *Download) compare(ctx context.Context, h host.Host, source, now string) error {
	var known *record
	if now != "" {
		known = recall(h, *want, source, now)
	}
	answer, err := want.ask(ctx, h, source, known)
	if err != nil {
		return err
	}
	switch {
	case answer.Status == 304:
		want.Checksum = &now
		return answer.Body.Close()
	case now == "":
		return answer.Body.Close() // it is there, and all of it is fetched later
	}
	body := want.verify(answer)
	_, err = io.Copy(io.Discard, body)
	sum := "sha256:" + body.sha256.hex()
	want.Checksum = &sum
	return errors.Join(err, answer.Body.Close())
}

// record is what a server said of the version that was put in place.
type record struct {
	Source   string `json:"source"` // digest of the URL, which may hold what is secret
	SHA256   string `json:"sha256"` // of the file
	ETag     string `json:"etag,omitempty"`
	Modified string `json:"last_modified,omitempty"`
}

// conditions asks for another version than the recorded one only.
func (r *record) conditions(header map[string]string) {
	if r == nil {
		return
	}
	if r.ETag != "" {
		header["If-None-Match"] = r.ETag
	}
	if r.Modified != "" {
		header["If-Modified-Since"] = r.Modified
	}
}

// recordPath is where the record of a path is kept; empty: nowhere.
func recordPath(h host.Host, name string) string {
	dir := "/var/cache"
	if uid, _ := h.Actor(); uid != 0 {
		u, err := h.UserID(uid)
		if err != nil || u.Home == "" || u.Home == "/" {
			return ""
		}
		dir = path.Join(u.Home, ".cache")
	}
	return path.Join(dir, "tenet/download", digestOf(name)+".json")
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// maxRecord bounds what is read of a record.
const maxRecord = 64 << 10

// recall gives what is known of the file that is there, if it came from that
// source and is as it was. A record that cannot be read is none: it saves time, and
// nothing else.
func recall(h host.Host, want Download, source, now string) *record {
	name := recordPath(h, want.Path)
	if name == "" {
		return nil
	}
	text, err := host.ReadFile(h, name, maxRecord)
	var r record
	if err != nil || json.Unmarshal(text, &r) != nil {
		return nil
	}
	if r.Source != digestOf(source) || "sha256:"+r.SHA256 != now || r.ETag == "" && r.Modified == "" {
		return nil
	}
	return &r
}

// remember keeps what the server said of the version that was put in place.
func remember(ctx context.Context, h host.Host, want Download, source string, answer *host.Response, sum string) error {
	first := func(name string) string {
		values := answer.Header[name]
		if len(values) == 0 || len(values[0]) > 1024 || strings.ContainsFunc(values[0], func(r rune) bool { return r < ' ' || r > '~' }) {
			return "" // what could not be sent back
		}
		return values[0]
	}
	r := record{Source: digestOf(source), SHA256: sum, ETag: first("Etag"), Modified: first("Last-Modified")}
	name := recordPath(h, want.Path)
	if name == "" || r.ETag == "" && r.Modified == "" {
		return forget(h, want.Path) // an old one would be about another file
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	for _, dir := range []string{path.Dir(path.Dir(path.Dir(name))), path.Dir(path.Dir(name)), path.Dir(name)} {
		mode := fs.FileMode(0o755)
		if dir == path.Dir(name) {
			mode = 0o700
		}
		if err := h.Mkdir(dir, host.Meta{Mode: &mode}); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("keeping what the server said of its version: %w", err)
		}
	}
	mode := fs.FileMode(0o600)
	return h.WriteFile(ctx, name, host.Text(string(text)), host.Meta{Mode: &mode})
}

// forget removes the record of a path.
func forget(h host.Host, name string) error {
	at := recordPath(h, name)
	if at == "" {
		return nil
	}
	if err := h.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
