package cli

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/machine"
)

// maxContents is how many bytes of files a machine may give at once.
const maxContents = 4 << 30

// tooMuch is the error of files that are more than that.
func tooMuch() error {
	return &diag.HintError{Message: fmt.Sprintf("the files that go into the site have more than %d GiB", maxContents>>30), Hint: "name fewer paths"}
}

// receiveContents asks a machine for files, and writes them below a directory, each by its path. Nothing is overwritten.
func receiveContents(ctx context.Context, i machine.Importer, dir string, paths []string, sizes map[string]int64) error {
	left := int64(maxContents)
	for _, name := range paths {
		if left -= sizes[name]; left < 0 {
			return machine.ErrorOf(tooMuch())
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	in, out := io.Pipe()
	extracted := make(chan error, 1)
	fault.Go(func() {
		err := extract(in, dir, paths)
		if err != nil {
			cancel(err)
		}
		_ = in.CloseWithError(err) // which never fails
		extracted <- err
	})
	_, err := i.Import(ctx, machine.ImportRequest{Contents: paths}, machine.Observer{Output: func(stream string, data []byte) {
		if stream == "stdout" {
			_, _ = out.Write(data) // that nobody reads it any more has its reason, which is told
		}
	}})
	_ = out.CloseWithError(err) // which never fails
	wrong := <-extracted
	if wrong != nil && (err == nil || !errors.Is(wrong, err)) { // else it has only ended early
		return machine.ErrorOf(wrong)
	}
	return err
}

// extract writes the files of an archive, which has to hold those that were asked for, in that order.
func extract(in io.Reader, dir string, paths []string) error {
	archive, left := tar.NewReader(in), int64(maxContents)
	for _, name := range paths {
		h, err := archive.Next()
		switch {
		case err == io.EOF:
			return fmt.Errorf("the files end before %s", name)
		case err != nil:
			return err
		case h.Typeflag != tar.TypeReg || "/"+h.Name != name:
			return fmt.Errorf("%.200q came where the file %s was due", h.Name, name)
		}
		if left -= h.Size; left < 0 {
			return tooMuch()
		}
		if err := extractFile(archive, h, filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	if _, err := archive.Next(); err != io.EOF {
		return errors.New("more files came than were asked for")
	}
	_, err := io.Copy(io.Discard, io.LimitReader(in, 1<<20)) // the rest of the last block
	return err
}

// extractFile writes one file. What others may not read there they may not read here.
func extractFile(archive io.Reader, h *tar.Header, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	mode := os.FileMode(0o666)
	if h.Mode&0o004 == 0 {
		mode = 0o600
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, archive)
	return errors.Join(err, f.Close())
}
