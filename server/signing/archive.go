package signing

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"os"

	"github.com/tenetcm/tenet/runtime/trust"
)

// partSize is how many bytes an archive is to have, where that can be chosen.
const partSize = 64 << 20

// Archives packs what was signed for a server, in as many parts as are needed: each is whole by itself. Contents that the server has already, as those of
// the revision's own files, are left out.
func (s *Signed) Archives(has func(trust.Digest) bool) func(yield func([]byte, error) bool) {
	return func(yield func([]byte, error) bool) {
		all := map[trust.Digest]*Content{}
		for i := range s.Contents {
			all[s.Contents[i].SHA256] = &s.Contents[i]
		}
		sent := map[trust.Digest]bool{}
		for rest := s.Hosts; len(rest) > 0; {
			var need []*Content
			size, n := int64(0), 0
			for n < len(rest) && (n == 0 || size < partSize) {
				for _, d := range rest[n].contents {
					if c := all[d]; c != nil && !sent[d] && !has(d) {
						sent[d], size = true, size+c.Size
						need = append(need, c)
					}
				}
				n++
			}
			data, err := pack(rest[:n], need)
			if !yield(data, err) || err != nil {
				return
			}
			rest = rest[n:]
		}
	}
}

// pack writes one archive.
func pack(hosts []SignedHost, need []*Content) ([]byte, error) {
	list, err := json.Marshal(hosts)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	add := func(name string, data []byte) error {
		err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(data)), Typeflag: tar.TypeReg})
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	}
	if err := add("assignments.json", list); err != nil {
		return nil, err
	}
	for _, c := range need {
		data := c.Data
		if data == nil {
			if data, err = os.ReadFile(c.File); err != nil {
				return nil, err
			}
		}
		if err := add("contents/"+c.SHA256.String(), data); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), w.Close()
}
