package deploy

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/tenetcm/tenet/internal/sitefiles"
)

// Limits of what is unpacked of an archive.
const (
	MaxArchive  = 1 << 30 // bytes of all files
	MaxFiles    = 50000
	maxNameSize = 1024
	maxDepth    = 64
)

// unpack writes the files of an archive, a tar that may be compressed by gzip, into a folder. Only plain files and directories are
// taken, and nothing is written outside of the folder or through a link.
func unpack(in io.Reader, dir string) error {
	buffered := bufio.NewReader(in)
	var source io.Reader = buffered
	if magic, _ := buffered.Peek(2); len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		unzipped, err := gzip.NewReader(buffered)
		if err != nil {
			return refusal("the archive cannot be read: " + err.Error())
		}
		defer unzipped.Close()
		source = unzipped
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	archive := tar.NewReader(source)
	left, count := int64(MaxArchive), 0
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return refusal("the archive is damaged: " + err.Error())
		}
		if count++; count > MaxFiles {
			return refusal(fmt.Sprintf("the archive has more than %d entries", MaxFiles))
		}
		if left -= header.Size; header.Size < 0 || left < 0 {
			return refusal(fmt.Sprintf("the files of the archive have more than %d MiB", MaxArchive>>20))
		}
		if err := unpackOne(root, archive, header); err != nil {
			return err
		}
	}
	if count == 0 {
		return refusal("the archive is empty")
	}
	return nil
}

func refusal(message string) error {
	return invalid(message, "tenet deploy packs a site as it has to be")
}

// unpackOne writes one entry.
func unpackOne(root *os.Root, archive io.Reader, header *tar.Header) error {
	name := strings.TrimSuffix(header.Name, "/")
	name = strings.TrimPrefix(name, "./")
	if (name == "." || name == "") && header.Typeflag == tar.TypeDir {
		return nil
	}
	if !fs.ValidPath(name) || name == "." || len(name) > maxNameSize || strings.ContainsAny(name, "\\\x00\n") || strings.Count(name, "/") > maxDepth {
		return refusal(fmt.Sprintf("the archive has the name %.200q, which cannot be that of a site's file", header.Name))
	}
	switch header.Typeflag {
	case tar.TypeDir:
		if err := sitefiles.MakeDirectories(root, name); err != nil {
			return refusal(fmt.Sprintf("%.200q cannot be made: %v", name, err))
		}
		return nil
	case tar.TypeReg:
	default:
		return refusal(fmt.Sprintf("%.200q is neither a plain file nor a directory: a site has no others", name))
	}
	err := sitefiles.Write(root, name, sitefiles.IsExecutable(header.FileInfo().Mode()), archive)
	var place *fs.PathError
	switch {
	case errors.Is(err, fs.ErrExist):
		return refusal(fmt.Sprintf("%.200q is in the archive twice", name))
	case errors.As(err, &place) && place.Op != "write":
		return refusal(fmt.Sprintf("%.200q cannot be made: %v", name, err))
	case err != nil:
		return fmt.Errorf("%s cannot be unpacked: %w", name, err)
	}
	return nil
}
