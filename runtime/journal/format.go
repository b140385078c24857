package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// Format is the version of the state folder.
const Format = "tenet.state/3"

// writtenBy begins the second line of the file format.
const writtenBy = "written by tenet "

// checkFormat reads the folder's format, and writes it into a new folder. That
// of an older version is kept until an apply starts: see migrate.
func (f *Folder) checkFormat() error {
	format, by, err := f.readFormat()
	if errors.Is(err, fs.ErrNotExist) {
		if err := f.writeFormat(Format); err != nil {
			return fmt.Errorf("the state folder cannot be written: %w", err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("the state folder cannot be read: %w", err)
	}
	if format != Format && older(format) < 0 {
		return fmt.Errorf("the state folder %s has the format %q, which %s has written, and this program knows %q: use that version",
			f.dir, format, by, Format)
	}
	return nil
}

// readFormat gives the folder's format, and which program has written it.
func (f *Folder) readFormat() (format, by string, err error) {
	data, err := f.disk.readFile(filepath.Join(f.dir, "format"))
	if err != nil {
		return "", "", err
	}
	if len(strings.Trim(string(data), "\x00")) == 0 {
		return "", "", fs.ErrNotExist // a loss of power can leave this of a new one
	}
	format, rest, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
	by = "an unknown version of tenet"
	if version, ok := strings.CutPrefix(strings.TrimSpace(rest), writtenBy); ok && version != "" {
		by = fmt.Sprintf("tenet %q", version)
	}
	return strings.TrimSpace(format), by, nil
}

// writeFormat need not be durable: without it the folder's runs say which format
// they have, and a migration is safe to repeat.
func (f *Folder) writeFormat(format string) error {
	text := format + "\n"
	if f.options.Program != "" {
		text += writtenBy + f.options.Program + "\n"
	}
	return f.disk.replace(filepath.Join(f.dir, "format"), []byte(text), false)
}
