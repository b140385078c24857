package host

import (
	"bytes"
	"io"
	"os"
	"syscall"
)

// HoleWriter writes a file from its start, and leaves holes where there are zeros: what is
// copied of a sparse file takes no more place than that.
type HoleWriter struct {
	To   io.WriteSeeker
	size int64
	hole bool // at its end
}

// holeSize is what is left out at least, and where: the block of most file systems.
const holeSize = 4 << 10

// Write is io.Writer.Write.
func (w *HoleWriter) Write(data []byte) (written int, err error) {
	for written < len(data) {
		rest := data[written:]
		n := min(len(rest), holeSize-int(w.size%holeSize))
		hole := n == holeSize && isZero(rest[:n])
		for !hole && n < len(rest) { // as much as there is before the next one
			next := min(holeSize, len(rest)-n)
			if next == holeSize && isZero(rest[n:n+next]) {
				break
			}
			n += next
		}
		if hole {
			_, err = w.To.Seek(int64(n), io.SeekCurrent)
		} else {
			n, err = w.To.Write(rest[:n])
		}
		written, w.size, w.hole = written+n, w.size+int64(n), hole
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// isZero reports whether there is nothing but zeros: the first is one, and each is as
// the one before.
func isZero(data []byte) bool { return data[0] == 0 && bytes.Equal(data[1:], data[:len(data)-1]) }

// End gives the file its size, if it ends with a hole.
func (w *HoleWriter) End(truncate func(size int64) error) error {
	if !w.hole {
		return nil
	}
	return truncate(w.size)
}

// IsSparse reports whether what is read is a file with holes.
func IsSparse(r any) bool {
	var st syscall.Stat_t
	switch f := r.(type) {
	case *file:
		if err := syscall.Fstat(int(f.fd.Load()), &st); err != nil {
			return false
		}
	case readerWithin:
		return IsSparse(f.r)
	case *os.File:
		info, err := f.Stat()
		if err != nil {
			return false
		}
		st = *info.Sys().(*syscall.Stat_t)
	}
	return st.Blocks*512 < st.Size
}
