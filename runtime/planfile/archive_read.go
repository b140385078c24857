package planfile

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
)

// DamagedError says that a file is no whole archive, or that what is in it does
// not belong there.
type DamagedError struct{ Why string }

// Error says why.
func (e *DamagedError) Error() string { return "it is damaged: " + e.Why }

func damaged(format string, args ...any) error { return &DamagedError{fmt.Sprintf(format, args...)} }

// FormatError says that an archive has another format.
type FormatError struct {
	Format  string // that it has
	Known   string // that can be read
	Program string // the version that wrote it
}

// Error names both formats, and who wrote it.
func (e *FormatError) Error() string {
	return fmt.Sprintf("it has the format %q, written by tenet %s; this one reads %q", e.Format, e.Program, e.Known)
}

// OpenArchive reads an archive of a format. It is looked through before anything
// in it can be used: the error is a *DamagedError where it is not whole, a
// *FormatError where it has another format. The data must not be changed
// afterwards.
func OpenArchive(data []byte, format string) (*Archive, error) {
	if len(data) > MaxArchive {
		return nil, damaged("it is larger than 1 GiB")
	}
	if !IsArchive(data) || len(data) < IsArchiveLength+digestLength {
		return nil, damaged("it is cut short, or no such file")
	}
	body := data[:len(data)-digestLength]
	if string(data[len(body):]) != digestPrefix+digestOf(body) {
		return nil, damaged("its content and its digest differ")
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, damaged("%v", err)
	}
	if len(z.File) == 0 || len(z.File)-1 > MaxEntries || z.File[0].Name != manifestName {
		return nil, damaged("its list of files is wrong")
	}
	head, err := readHead(z.File[0])
	if err != nil {
		return nil, err
	}
	if head.Format != format {
		return nil, &FormatError{Format: head.Format, Known: format, Program: head.Program}
	}
	a := &Archive{Format: head.Format, Program: head.Program, Created: head.Created, about: head.About,
		zip: z, index: map[string]*zip.File{}}
	return a, a.check(head.Entries)
}

// readHead reads the manifest. What other versions have in theirs does not
// matter before the format is known.
func readHead(f *zip.File) (*manifest, error) {
	if f.UncompressedSize64 > maxHead {
		return nil, damaged("its list of files is too long")
	}
	data, err := readEntry(f, maxHead)
	if err != nil {
		return nil, err
	}
	head := &manifest{}
	if err := json.Unmarshal(data, head); err != nil {
		return nil, damaged("its list of files is no JSON: %v", err)
	}
	return head, nil
}

// check compares all entries with the manifest.
func (a *Archive) check(entries []entry) error {
	files := a.zip.File[1:]
	if len(files) != len(entries) {
		return damaged("it holds %d files, and lists %d", len(files), len(entries))
	}
	var total int64
	for i, f := range files {
		e := entries[i]
		switch {
		case f.Name != e.Name || !validName(e.Name) || !f.Mode().IsRegular():
			return damaged("the file %q is not the one that is listed", f.Name)
		case i > 0 && e.Name <= entries[i-1].Name:
			return damaged("the file %q stands twice, or in the wrong place", f.Name)
		case e.Size < 0 || uint64(e.Size) != f.UncompressedSize64:
			return damaged("%s has another size than the one that is listed", f.Name)
		}
		if total += e.Size; total > MaxContent || total < 0 {
			return damaged("what is in it is larger than 4 GiB")
		}
		if err := checkEntry(f, e); err != nil {
			return err
		}
		a.index[e.Name] = f
		a.names = append(a.names, e.Name)
	}
	return nil
}

func checkEntry(f *zip.File, e entry) error {
	in, err := f.Open()
	if err != nil {
		return damaged("%s: %v", f.Name, err)
	}
	defer in.Close()
	digest := sha256.New()
	n, err := io.Copy(digest, io.LimitReader(in, e.Size+1))
	if err != nil {
		return damaged("%s: %v", f.Name, err)
	}
	if n != e.Size || hex.EncodeToString(digest.Sum(nil)) != e.SHA256 {
		return damaged("%s has another content than the one that is listed", f.Name)
	}
	return nil
}

func readEntry(f *zip.File, limit int64) ([]byte, error) {
	in, err := f.Open()
	if err != nil {
		return nil, damaged("%s: %v", f.Name, err)
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = errors.New("it is too large")
	}
	if err != nil {
		return nil, damaged("%s: %v", f.Name, err)
	}
	return data, nil
}

// About reads what the manifest says beside the list of files.
func (a *Archive) About(v any) error { return a.decode("the manifest", a.about, v) }

// decode reads JSON in which nothing stands that v does not know: what a later
// version means by it must not be passed over.
func (a *Archive) decode(name string, data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return damaged("%s, written by tenet %s, cannot be read: %v", name, a.Program, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return damaged("%s holds more than one value", name)
	}
	return nil
}

// Names lists the files, sorted.
func (a *Archive) Names() []string { return slices.Clone(a.names) }

// Read gives a file, not larger than limit.
func (a *Archive) Read(name string, limit int64) ([]byte, error) {
	f := a.index[name]
	if f == nil {
		return nil, damaged("there is no %s in it", name)
	}
	return readEntry(f, limit)
}

// JSON reads a file of JSON, not larger than limit.
func (a *Archive) JSON(name string, limit int64, v any) error {
	data, err := a.Read(name, limit)
	if err != nil {
		return err
	}
	return a.decode(name, data, v)
}

// Sub gives the files below a directory; there may be none.
func (a *Archive) Sub(dir string) (fs.FS, error) { return fs.Sub(a.zip, dir) }
