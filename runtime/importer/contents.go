package importer

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/machine"
)

// Contents writes files of a host as a tar archive, in their order, with the names that they have below the root. What looks like a secret
// is refused, as Read refuses it; so is a file that becomes shorter meanwhile. Of one that grows, as a log does, the beginning is written.
func Contents(ctx context.Context, h host.Host, paths []string, to io.Writer) error {
	out := tar.NewWriter(to)
	for _, name := range paths {
		if err := checkPath(name); err != nil {
			return err
		}
		if err := content(ctx, h, name, out); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return out.Close()
}

// content writes one file.
func content(ctx context.Context, h host.Host, name string, out *tar.Writer) (err error) {
	info, err := h.Lstat(name)
	if err != nil {
		return err
	}
	if info.Kind != host.Regular {
		return errors.New("it is no regular file any more")
	}
	opened, err := h.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	f := host.ReaderWithin(ctx, opened)
	// What is searched for secrets is what is written: the file may be another one by now.
	begin, err := io.ReadAll(io.LimitReader(f, scanLimit))
	if err != nil {
		return err
	}
	if why := secretIn(name, info.Mode, string(begin)); why != "" {
		return &OmissionError{Why: "it looks like a secret: " + why, Secret: true}
	}
	if err := out.WriteHeader(&tar.Header{Name: name[1:], Mode: int64(info.Mode.Perm()), Size: info.Size, Format: tar.FormatPAX}); err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(io.MultiReader(bytes.NewReader(begin), f), info.Size))
	if err == nil && n < info.Size {
		err = fmt.Errorf("it has become shorter while it was read: %d bytes of %d", n, info.Size)
	}
	return err
}

// Copies lists the files that an import names for Contents, in its order and each once, with their sizes in bytes.
func Copies(i *machine.Import) (paths []string, sizes map[string]int64) {
	sizes = map[string]int64{}
	for _, a := range i.Areas {
		for _, p := range a.Parts {
			if _, known := sizes[p.Copy]; p.Copy != "" && !known {
				paths, sizes[p.Copy] = append(paths, p.Copy), p.Size
			}
		}
	}
	return paths, sizes
}
