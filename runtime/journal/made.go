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
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// madeFormat is the first line of a list of what one part has made. After it comes a
// line for each thing: its kind, its digest or "-", and its name, quoted, since a name
// may hold any byte.
const madeFormat = "tenet.made/1"

// maxMade bounds the bytes of such a list. What is beyond is not listed, and so never
// removed.
const maxMade = 256 << 20

// madePath is the file of a list, by its SHA-256.
func (f *Folder) madePath(digest string) string { return filepath.Join(f.dir, "made", digest) }

// KeepMade writes down what a part is to have made once its act is done, durably, and
// gives the name of that list. An event that does not name it is no reason to keep it.
func (r *Run) KeepMade(list []states.Made) (string, error) {
	var b bytes.Buffer
	fmt.Fprintln(&b, madeFormat)
	for _, m := range list {
		line := fmt.Sprintf("%s %s %s\n", m.Kind, orDash(m.Digest), strconv.Quote(m.Name))
		if b.Len()+len(line) > maxMade {
			break
		}
		b.WriteString(line)
	}
	sum := sha256.Sum256(b.Bytes())
	digest := hex.EncodeToString(sum[:])
	disk, dir := r.folder.disk, filepath.Join(r.folder.dir, "made")
	err := disk.mkdir(dir)
	if err == nil {
		err = disk.sync(r.folder.dir)
	}
	if err == nil {
		err = disk.replace(r.folder.madePath(digest), b.Bytes(), true)
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

// Made reads the list of the things that a resource consists of, by Created.Made.
// One that is not what was written is an error.
func (m *Managed) Made(digest string) ([]states.Made, error) {
	if !isDigest(digest) {
		return nil, fmt.Errorf("%.80q names no list of what was made", digest)
	}
	f, err := m.folder.disk.read(m.folder.madePath(digest))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxMade+1))
	if err = Join(err, f.Close()); err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != digest {
		return nil, fmt.Errorf("%s is damaged", m.folder.madePath(digest))
	}
	return parseMade(data)
}

func isDigest(s string) bool {
	return len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}

// parseMade reads a list.
func parseMade(data []byte) ([]states.Made, error) {
	lines := bufio.NewScanner(bytes.NewReader(data))
	if !lines.Scan() || lines.Text() != madeFormat {
		return nil, fmt.Errorf("a list of what was made has the format %.80q, and this program knows %q: %w", lines.Text(), madeFormat, ErrNewer)
	}
	var list []states.Made
	for lines.Scan() {
		m, ok := parseMadeLine(lines.Text())
		if !ok {
			return nil, fmt.Errorf("a list of what was made holds %.80q", lines.Text())
		}
		list = append(list, m)
	}
	return list, lines.Err()
}

func parseMadeLine(line string) (m states.Made, ok bool) {
	kind, rest, _ := strings.Cut(line, " ")
	digest, quoted, _ := strings.Cut(rest, " ")
	name, err := strconv.Unquote(quoted)
	m = states.Made{Name: name, Kind: host.Kind(kind), Digest: strings.TrimPrefix(digest, "-")}
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

// sweepMade removes the lists that nothing names any more. The lock is held, and all
// runs are read.
func (m *Managed) sweepMade() error {
	entries, err := m.folder.disk.list(filepath.Join(m.folder.dir, "made"))
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
			named[c.Made] = true
		}
	}
	for _, e := range entries {
		if !named[e.Name()] {
			err = Join(err, m.folder.disk.remove(m.folder.madePath(e.Name())))
		}
	}
	return err
}
