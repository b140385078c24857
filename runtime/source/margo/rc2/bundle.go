package rc2

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ReadBundle gives the documents of a manifest's deployments, by their ids, from its archive: exactly these, each with its digest.
// The archive itself has been verified.
func ReadBundle(archive []byte, wanted []Reference) (map[string][]byte, error) {
	byDigest := map[Digest][]string{}
	for _, r := range wanted {
		byDigest[r.Digest] = append(byDigest[r.Digest], r.ID)
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, fmt.Errorf("the bundle is no gzip: %w", err)
	}
	files := tar.NewReader(io.LimitReader(unzipped, maxUnpacked))
	found := map[string][]byte{}
	for entries := 0; ; entries++ {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("the bundle is broken, or has more than %d bytes: %w", maxUnpacked, err)
		}
		if entries > 2*len(wanted)+100 {
			return nil, fmt.Errorf("the bundle has more entries than the manifest has deployments")
		}
		if err := readEntry(files, h, byDigest, found); err != nil {
			return nil, err
		}
	}
	for _, r := range wanted {
		if found[r.ID] == nil {
			return nil, fmt.Errorf("the bundle has no document with the digest %s of the deployment %s", r.Digest, r.ID)
		}
	}
	return found, nil
}

func readEntry(files io.Reader, h *tar.Header, byDigest map[Digest][]string, found map[string][]byte) error {
	if h.Typeflag == tar.TypeDir && strings.Trim(h.Name, "./") == "" { // the root, as many archives have it
		return nil
	}
	if h.Typeflag != tar.TypeReg || h.Size > MaxDeployment {
		return fmt.Errorf("the bundle's entry %.80q is no file of at most %d bytes", h.Name, MaxDeployment)
	}
	data, err := io.ReadAll(io.LimitReader(files, MaxDeployment+1))
	if err != nil {
		return fmt.Errorf("the bundle's entry %.80q: %w", h.Name, err)
	}
	ids := byDigest[DigestOf(data)]
	if len(ids) == 0 {
		return fmt.Errorf("the bundle's entry %.80q is none of the manifest's documents", h.Name)
	}
	for _, id := range ids {
		found[id] = data
	}
	return nil
}
