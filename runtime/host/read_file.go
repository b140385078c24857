package host

import (
	"errors"
	"io"
)

// ReadFile gives what is in a file: all of it, or its first limit bytes where that is not 0. A
// symbolic link is followed.
func ReadFile(r Reader, path string, limit int64) ([]byte, error) {
	f, err := r.Open(path)
	if err != nil {
		return nil, err
	}
	in := io.Reader(f)
	if limit > 0 {
		in = io.LimitReader(f, limit)
	}
	data, err := io.ReadAll(in)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return data, nil
}

// ReadText is ReadFile for a whole text.
func ReadText(r Reader, path string) (string, error) {
	data, err := ReadFile(r, path, 0)
	return string(data), err
}
