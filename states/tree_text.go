package states

import (
	"bytes"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/tenetcm/tenet/runtime/host"
)

// TreeText writes the entries of a directory down: the fields of each, in the order
// in which they are declared, each ended by a NUL character, which no name holds. The
// digest of a Tree is that of this text.
func TreeText(entries []TreeEntry) []byte {
	var text []byte
	for i := range entries {
		text = appendEntry(text, &entries[i])
	}
	return text
}

func appendEntry(line []byte, e *TreeEntry) []byte {
	line = append(append(line, e.Name...), 0)
	line = append(append(line, e.Kind...), 0)
	line = append(strconv.AppendUint(line, uint64(e.Mode), 8), 0)
	line = append(strconv.AppendInt(line, e.Size, 10), 0)
	line = append(append(line, e.SHA256...), 0)
	return append(append(line, e.Target...), 0)
}

// entryFields is how many fields of an entry TreeText writes.
const entryFields = 6

// ParseTree reads what TreeText has written. Whoever trusts the text by its digest
// trusts the names in it too: Tree.Entries checks them.
func ParseTree(text []byte) ([]TreeEntry, error) {
	if len(text) > 0 && text[len(text)-1] != 0 {
		return nil, fmt.Errorf("the list of a directory is cut short")
	}
	count := bytes.Count(text, []byte{0})
	if count%entryFields != 0 || count/entryFields > host.MaxTree {
		return nil, fmt.Errorf("the list of a directory has %d fields, which cannot be", count)
	}
	entries := make([]TreeEntry, count/entryFields)
	for i := range entries {
		var field [entryFields]string
		for k := range field {
			end := bytes.IndexByte(text, 0)
			field[k], text = string(text[:end]), text[end+1:]
		}
		mode, err := strconv.ParseUint(field[2], 8, 32)
		if err != nil {
			return nil, fmt.Errorf("the list of a directory: %w", err)
		}
		size, err := strconv.ParseInt(field[3], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the list of a directory: %w", err)
		}
		entries[i] = TreeEntry{Name: field[0], Kind: host.Kind(field[1]), Mode: fs.FileMode(mode), Size: size, SHA256: field[4], Target: field[5]}
	}
	return entries, nil
}
