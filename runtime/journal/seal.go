package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/tenetcm/tenet/internal/sealed"
)

// sealedLines checks the lines of one file, one after the other.
type sealedLines struct{ sealed bool }

// check gives an error if a line's digest is wrong, or missing though a line before has
// one: who wrote that did not write this.
func (s *sealedLines) check(line []byte) error {
	is, err := sealed.Check(line)
	if err == nil && s.sealed && !is {
		err = fmt.Errorf("it has no digest: %w", sealed.ErrDigest)
	}
	s.sealed = s.sealed || is
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
	_, err := io.WriteString(s.out, sealed.End(s.digest)+"\n")
	return err
}

// checkFile gives an error if a file is one object whose digest is wrong.
func checkFile(file io.ReaderAt, size int64) error {
	end := make([]byte, sealed.Length)
	before := size - int64(sealed.Length+1)
	if before < 0 {
		return nil
	}
	if _, err := file.ReadAt(end, before); err != nil {
		return err
	}
	if !sealed.IsEnd(string(end)) {
		return nil
	}
	digest := sha256.New()
	if _, err := io.Copy(digest, io.NewSectionReader(file, 0, before)); err != nil {
		return err
	}
	return sealed.CheckEnd(digest, end)
}
