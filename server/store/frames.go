package store

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
)

// A backup is a line, and frames: the length of each as a varint, its kind, its data.
//
//	H  JSON: header, first and once
//	T  JSON: table, to which the rows that follow belong
//	R  a row: for each column a byte of its kind, and the value
//	E  the number of rows as a varint, and the SHA-256 of all before this frame: the end
const (
	magic    = "tenet backup 1\n"
	maxFrame = 256 << 20
)

type header struct {
	Term       int64     `json:"term"`
	At         int64     `json:"at"` // microseconds since 1970
	Migrations []applied `json:"migrations"`
}

type table struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
}

// frames writes a backup.
type frames struct {
	to  *bufio.Writer
	sum hash.Hash
}

func writeFrames(w io.Writer) (*frames, error) {
	f := &frames{bufio.NewWriterSize(w, 1<<16), sha256.New()}
	_, err := io.WriteString(io.MultiWriter(f.to, f.sum), magic)
	return f, err
}

func (f *frames) write(kind byte, data []byte) error {
	if len(data) >= maxFrame {
		return fmt.Errorf("a row of %d bytes is too long for a backup", len(data))
	}
	head := append(binary.AppendUvarint(nil, uint64(len(data)+1)), kind)
	for _, part := range [][]byte{head, data} {
		if kind != 'E' {
			f.sum.Write(part)
		}
		if _, err := f.to.Write(part); err != nil {
			return err
		}
	}
	return nil
}

func (f *frames) writeJSON(kind byte, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return f.write(kind, data)
}

func (f *frames) end(rows uint64) error {
	if err := f.write('E', f.sum.Sum(binary.AppendUvarint(nil, rows))); err != nil {
		return err
	}
	return f.to.Flush()
}

func encodeRow(row Row) []byte {
	var out []byte
	for _, v := range row {
		switch v := v.(type) {
		case nil:
			out = append(out, 0)
		case int64:
			out = binary.AppendVarint(append(out, 1), v)
		case string:
			out = append(binary.AppendUvarint(append(out, 2), uint64(len(v))), v...)
		case []byte:
			out = append(binary.AppendUvarint(append(out, 3), uint64(len(v))), v...)
		}
	}
	return out
}

var errDamaged = errors.New("it is damaged")

// decodeRow gives as many values as there are columns.
func decodeRow(data []byte, columns int) (Row, error) {
	row := make(Row, columns)
	for i := range row {
		if len(data) == 0 {
			return nil, errDamaged
		}
		kind := data[0]
		data = data[1:]
		switch kind {
		case 0:
		case 1:
			v, n := binary.Varint(data)
			if n <= 0 {
				return nil, errDamaged
			}
			row[i], data = v, data[n:]
		case 2, 3:
			v, n := binary.Uvarint(data)
			if n <= 0 || v > uint64(len(data)-n) {
				return nil, errDamaged
			}
			value := data[n : n+int(v)]
			if row[i], data = any(bytes.Clone(value)), data[n+int(v):]; kind == 2 {
				row[i] = string(value)
			} else if v == 0 {
				row[i] = []byte{}
			}
		default:
			return nil, errDamaged
		}
	}
	if len(data) > 0 {
		return nil, errDamaged
	}
	return row, nil
}

// reading reads a backup.
type reading struct {
	from *bufio.Reader
	sum  hash.Hash
}

func readFrames(r io.Reader) (*reading, error) {
	f := &reading{bufio.NewReaderSize(r, 1<<16), sha256.New()}
	line := make([]byte, len(magic))
	if _, err := io.ReadFull(f.from, line); err != nil || string(line) != magic {
		return nil, errors.New("it is no backup of a store, or one of a newer version")
	}
	f.sum.Write(line)
	return f, nil
}

// next gives the next frame. No more memory is taken than data is there.
func (f *reading) next() (kind byte, data []byte, err error) {
	size, err := binary.ReadUvarint(f.from)
	if err != nil || size == 0 || size > maxFrame {
		return 0, nil, cut(err)
	}
	var frame bytes.Buffer
	if _, err := io.CopyN(&frame, f.from, int64(size)); err != nil {
		return 0, nil, cut(err)
	}
	data = frame.Bytes()
	if data[0] != 'E' {
		f.sum.Write(binary.AppendUvarint(nil, size))
		f.sum.Write(data)
	}
	return data[0], data[1:], nil
}

func cut(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errors.New("it is cut off")
	}
	return cmp.Or(err, errDamaged)
}

// end checks the last frame, after so many rows.
func (f *reading) end(data []byte, rows uint64) error {
	if !bytes.Equal(data, f.sum.Sum(binary.AppendUvarint(nil, rows))) {
		return errDamaged
	}
	if _, err := f.from.ReadByte(); err != io.EOF {
		return cmp.Or(err, errors.New("something follows its end"))
	}
	return nil
}
