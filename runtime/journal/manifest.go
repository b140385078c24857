package journal

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// manifestFormat is the first line of a manifest: the list of what one part has made. After
// it comes a line for each thing: its kind, its digest or "-", and its name, quoted, since a
// name may hold any byte.
const manifestFormat = "tenet.manifest/1"

// manifestFormatOfState2 is the first line of those that folders of format 2 hold. Nothing
// else differs.
const manifestFormatOfState2 = "tenet.made/1"

// maxManifest bounds the bytes of a manifest. What is beyond is not listed, and so never
// removed.
const maxManifest = 256 << 20

// The directory of manifests, and its name in folders of format 2.
const (
	manifestsDir = "manifests"
	madeDir      = "made"
)

// manifestDir is where manifests are. A folder of format 2 has the old one until an apply
// migrates it.
func (f *Folder) manifestDir() string {
	old := filepath.Join(f.dir, madeDir)
	if info, err := os.Lstat(old); err == nil && info.IsDir() {
		return old
	}
	return filepath.Join(f.dir, manifestsDir)
}

// manifestPath is the file of a manifest, by its SHA-256.
func (f *Folder) manifestPath(digest string) string { return filepath.Join(f.manifestDir(), digest) }

// KeepManifest writes down what a part is to have made once its act is done, durably, and
// gives the name of that list. An event that does not name it is no reason to keep it.
func (r *Run) KeepManifest(list []states.ManifestEntry) (string, error) {
	var b bytes.Buffer
	fmt.Fprintln(&b, manifestFormat)
	for _, m := range list {
		line := fmt.Sprintf("%s %s %s\n", m.Kind, orDash(m.Digest), strconv.Quote(m.Name))
		if b.Len()+len(line) > maxManifest {
			break
		}
		b.WriteString(line)
	}
	sum := sha256.Sum256(b.Bytes())
	digest := hex.EncodeToString(sum[:])
	disk, dir := r.folder.disk, r.folder.manifestDir()
	err := disk.mkdir(dir)
	if err == nil {
		err = disk.sync(r.folder.dir)
	}
	if err == nil {
		err = disk.replace(r.folder.manifestPath(digest), b.Bytes(), true)
	}
	if err != nil {
		return "", fmt.Errorf("what a part makes cannot be recorded: %w", err)
	}
	return digest, nil
}

func orDash(digest string) string {
	if digest == "" {
		return "-"
	}
	return digest
}

// Manifest reads the list of the things that a resource consists of, by Created.Manifest.
// One that is not what was written is an error.
func (m *Managed) Manifest(digest string) ([]states.ManifestEntry, error) {
	if !isDigest(digest) {
		return nil, fmt.Errorf("%.80q names no manifest", digest)
	}
	f, err := m.folder.disk.read(m.folder.manifestPath(digest))
	if errors.Is(err, fs.ErrNotExist) { // the directory may have got its name of today just now
		f, err = m.folder.disk.read(filepath.Join(m.folder.dir, manifestsDir, digest))
	}
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err = Join(err, f.Close()); err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != digest {
		return nil, fmt.Errorf("%s is damaged", m.folder.manifestPath(digest))
	}
	return parseManifest(data)
}

func isDigest(s string) bool {
	return len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}

// parseManifest reads a manifest.
func parseManifest(data []byte) ([]states.ManifestEntry, error) {
	lines := bufio.NewScanner(bytes.NewReader(data))
	if !lines.Scan() || lines.Text() != manifestFormat && lines.Text() != manifestFormatOfState2 {
		return nil, fmt.Errorf("a manifest has the format %.80q, and this program knows %q: %w", lines.Text(), manifestFormat, ErrNewer)
	}
	var list []states.ManifestEntry
	for lines.Scan() {
		m, ok := parseManifestLine(lines.Text())
		if !ok {
			return nil, fmt.Errorf("a manifest holds %.80q", lines.Text())
		}
		list = append(list, m)
	}
	return list, lines.Err()
}

func parseManifestLine(line string) (m states.ManifestEntry, ok bool) {
	kind, rest, _ := strings.Cut(line, " ")
	digest, quoted, _ := strings.Cut(rest, " ")
	name, err := strconv.Unquote(quoted)
	m = states.ManifestEntry{Name: name, Kind: host.Kind(kind), Digest: strings.TrimPrefix(digest, "-")}
	switch m.Kind {
	case host.Directory:
		ok = m.Digest == ""
	case host.Regular, host.Symlink:
		ok = isDigest(m.Digest) && name != "."
	}
	return m, ok && err == nil && isBelow(name)
}

// isBelow reports whether a name leads nowhere but below a directory, or to it.
func isBelow(name string) bool {
	if name == "." {
		return true
	}
	for step := range strings.SplitSeq(name, "/") {
		if step == "" || step == "." || step == ".." || strings.ContainsRune(step, 0) {
			return false
		}
	}
	return true
}

// sweepManifests removes the manifests that nothing names any more. The lock is held, and
// all runs are read.
func (m *Managed) sweepManifests() error {
	entries, err := m.folder.disk.list(m.folder.manifestDir())
	if errors.Is(err, fs.ErrNotExist) || len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	named := map[string]bool{}
	for _, site := range m.Sites() {
		h := m.Holding(site)
		if h == nil {
			m.err = nil // who needs that site is told; here nothing is removed
			return nil
		}
		for _, c := range h.Entries() {
			named[c.Manifest] = true
		}
	}
	for _, e := range entries {
		if !named[e.Name()] {
			err = Join(err, m.folder.disk.remove(m.folder.manifestPath(e.Name())))
		}
	}
	return err
}
