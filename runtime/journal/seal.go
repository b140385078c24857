package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/tenetcm/tenet/internal/plainjson"
)

// What a run writes down is acted upon by later ones: a wrong byte in it must not make
// them change another path, or another way. So each JSON object, a line or a file,
// ends with a digest of all that is before it:
//
//	{"path":"/etc/motd","sum":"0123456789abcdef"}
//
// Older versions wrote none. An object without one is believed, save where a reader says
// otherwise: a single wrong byte either is in what the digest is of, or spoils
// the digest and nothing else.

const (
	sumBegin  = `,"sum":"`
	sumEnd    = `"}`
	sumDigits = 16 // hex digits of the SHA-256
	sumLength = len(sumBegin) + sumDigits + len(sumEnd)
)

// errSum is that of an object whose digest is not right.
var errSum = errors.New("its digest is not that of its content: it was changed by something other than tenet, or the disk is failing")

// sumText gives the end of an object.
func sumText(h hash.Hash) string {
	return sumBegin + hex.EncodeToString(h.Sum(nil))[:sumDigits] + sumEnd
}

// seal gives an object as a line with its digest.
func seal(object any) ([]byte, error) {
	line, err := plainjson.Marshal(object)
	if err != nil {
		return nil, err
	}
	line = bytes.TrimSuffix(line, []byte("}"))
	digest := sha256.New()
	digest.Write(line)
	return append(append(line, sumText(digest)...), '\n'), nil
}

// isSealed reports whether an object, be it followed by a line's end, has a digest,
// and gives an error if that is wrong.
func isSealed(line []byte) (bool, error) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	before := len(line) - sumLength
	if before < 0 || !looksSealed(string(line[before:])) {
		return false, nil
	}
	digest := sha256.New()
	digest.Write(line[:before])
	return true, checkSum(digest, line[before:])
}

func looksSealed(end string) bool {
	return strings.HasPrefix(end, sumBegin) && strings.HasSuffix(end, sumEnd)
}

func checkSum(digest hash.Hash, end []byte) error {
	if sumText(digest) != string(end) {
		return errSum
	}
	return nil
}

// unseal decodes an object whose digest, if it has one, is right.
func unseal(line []byte, v any) error {
	if _, err := isSealed(line); err != nil {
		return err
	}
	return json.Unmarshal(line, v)
}

// sealedLines checks the lines of one file, one after the other.
type sealedLines struct{ sealed bool }

// check gives an error if a line's digest is wrong, or missing though a line before has
// one: who wrote that did not write this.
func (s *sealedLines) check(line []byte) error {
	sealed, err := isSealed(line)
	if err == nil && s.sealed && !sealed {
		err = fmt.Errorf("it has no digest: %w", errSum)
	}
	s.sealed = s.sealed || sealed
	return err
}

// isTorn reports whether a line was not written to its end: it is the beginning of an
// object, or all of it. Where there is more, its end was changed afterwards.
func isTorn(line []byte) bool {
	if bytes.HasSuffix(line, []byte("\n")) {
		return false
	}
	written := bytes.TrimRight(line, "\x00") // as a loss of power can leave them
	var object json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(written))
	err := decoder.Decode(&object)
	return err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) || err == nil && decoder.InputOffset() == int64(len(line))
}

// sealer writes one object, which is written to it with a line's end, with its digest.
type sealer struct {
	out    io.Writer
	digest hash.Hash
	held   []byte // its end, as far as it is known
}

func newSealer(out io.Writer) *sealer { return &sealer{out: out, digest: sha256.New()} }

// Write hands on all but what may be the object's end.
func (s *sealer) Write(data []byte) (int, error) {
	s.held = append(s.held, data...)
	ready := max(0, len(s.held)-len("}\n"))
	s.digest.Write(s.held[:ready])
	_, err := s.out.Write(s.held[:ready])
	s.held = append(s.held[:0], s.held[ready:]...)
	return len(data), err
}

// end writes the digest.
func (s *sealer) end() error {
	if string(s.held) != "}\n" {
		return fmt.Errorf("a record ends with %q, and not as an object", s.held)
	}
	_, err := io.WriteString(s.out, sumText(s.digest)+"\n")
	return err
}

// checkFile gives an error if a file is one object whose digest is wrong.
func checkFile(file io.ReaderAt, size int64) error {
	end := make([]byte, sumLength)
	before := size - int64(sumLength+1)
	if before < 0 {
		return nil
	}
	if _, err := file.ReadAt(end, before); err != nil {
		return err
	}
	if !looksSealed(string(end)) {
		return nil
	}
	digest := sha256.New()
	if _, err := io.Copy(digest, io.NewSectionReader(file, 0, before)); err != nil {
		return err
	}
	return checkSum(digest, end)
}
