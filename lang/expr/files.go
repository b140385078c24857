package expr

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"golang.org/x/text/unicode/norm"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// Files gives the files of a site to one evaluation. Paths are relative to a
// directory of the site, and nothing outside the site is read: neither "..",
// nor an absolute path, nor a symbolic link leads out of it. What was read
// once is kept, so that an evaluation sees one version of each file.
//
// A Files serves one goroutine; Fork makes one for another.
type Files struct {
	site          fs.FS
	name          string // the path of site among all that a run opens; "." for the whole
	read          *filesRead
	templates     map[string]*template
	pureFunctions map[string]function.Function // those that read no files
	vault         *Vault
	lookIntoHost  func(HostAttribute) (cty.Value, error) // nil: there are no hosts
	folders       map[string]bool                        // directories that are no symbolic links
	buffer        []byte                                 // for copies
	others        map[string]*Files                      // of other folders, where sources are; see of
}

// NewFiles makes the files of a site.
func NewFiles(site fs.FS) *Files {
	return &Files{
		site:      site,
		name:      ".",
		read:      newFilesRead(),
		templates: map[string]*template{},
		folders:   map[string]bool{},
		vault:     NewVault(Target{}),
	}
}

// NewFilesOf makes the files of a component: messages and sources name them by
// their paths among all that a run opens, where its directory has this name.
func NewFilesOf(component fs.FS, name string) *Files {
	f := NewFiles(component)
	f.name = name
	return f
}

// errOutside is why a path is refused.
func errOutside(name string) error {
	return &diag.HintError{Message: fmt.Sprintf("%q is outside of the site", name),
		Hint: "a site reads nothing but its own directory; copy the file into it, and name it relative to this file"}
}

// maxLinks bounds the symbolic links on the way to a file, as the kernel does.
const maxLinks = 40

// explainMissing explains an error about a path, with the nearest name beside it.
func (f *Files) explainMissing(name, step string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%q cannot be read: %w", name, err)
	}
	var names []string
	if entries, err := fs.ReadDir(f.site, path.Dir(step)); err == nil {
		for _, e := range entries {
			names = append(names, path.Join(path.Dir(step), e.Name()))
		}
	}
	hint := diag.DidYouMean(step, names)
	if hint == "" {
		hint = "the path is relative to the directory of the file that names it"
	}
	return &diag.HintError{Message: fmt.Sprintf("there is no file %q in the site", name), Hint: hint}
}

// Bytes reads a file, relative to dir.
func (f *Files) Bytes(dir, name string) ([]byte, error) {
	found, err := f.locate(dir, name)
	if err != nil {
		return nil, err
	}
	return f.bytes(name, found)
}

// bytes reads the file that a name leads to.
func (f *Files) bytes(name string, found location) ([]byte, error) {
	file, err := f.open(name, found)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("%q cannot be read: %w", name, err)
	}
	return data, nil
}

// Text reads a file as text, relative to dir. Bytes that are not UTF-8 in
// normal form C are an error, since values cannot carry them.
func (f *Files) Text(dir, name string) (text, at string, err error) {
	found, err := f.locate(dir, name)
	if err != nil {
		return "", "", err
	}
	at = found.at
	if text, ok := f.read.texts.get(at); ok {
		return text, at, nil
	}
	data, err := f.bytes(name, found)
	if err != nil {
		return "", "", err
	}
	if err := checkText(string(data)); err != nil {
		return "", "", &diag.HintError{Message: fmt.Sprintf("%q %v", name, err), Hint: sourceHint}
	}
	return f.read.texts.keep(at, string(data)), at, nil
}

const sourceHint = "the attribute source of a file carries any bytes untouched"

// Exists reports whether there is a regular file or a directory of that name.
func (f *Files) Exists(dir, name string) (bool, error) {
	at, err := f.Locate(dir, name)
	var hinted *diag.HintError
	if errors.As(err, &hinted) && strings.HasPrefix(hinted.Message, "there is no file") {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = fs.Stat(f.site, at)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Source describes a file whose bytes go to the host untouched: its path in
// the site, SHA-256 and size, the canonical value of a source attribute.
func (f *Files) Source(dir, name string) (map[string]any, error) {
	found, err := f.locate(dir, name)
	if err != nil {
		return nil, err
	}
	at := found.at
	if s, ok := f.read.sources.get(at); ok {
		return s, nil
	}
	file, err := f.open(name, found)
	if err != nil {
		return nil, err
	}
	if f.buffer == nil {
		f.buffer = make([]byte, 32<<10)
	}
	sum := sha256.New()
	size, err := io.CopyBuffer(sum, file, f.buffer)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("%q cannot be read: %w", name, err)
	}
	return f.read.sources.keep(at, map[string]any{
		"path": path.Join(f.name, at), "sha256": hex.EncodeToString(sum.Sum(nil)),
		"size": json.Number(strconv.FormatInt(size, 10)),
	}), nil
}

// content is Source or Tree, as the kind of an attribute asks for.
func (f *Files) content(kind states.Kind, dir, name string) (map[string]any, error) {
	if kind == states.KindTree {
		return f.Tree(dir, name)
	}
	return f.Source(dir, name)
}

// Tree describes a directory that goes to the host with all below it: the
// canonical value of an attribute of kind tree.
func (f *Files) Tree(dir, name string) (map[string]any, error) {
	at, err := f.Locate(dir, name)
	if err != nil {
		return nil, err
	}
	if known, ok := f.read.trees.get(at); ok {
		return known, nil
	}
	info, err := fs.Stat(f.site, at)
	if err != nil {
		return nil, f.explainMissing(name, at, err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%q is no directory", name)
	}
	entries, err := states.ReadTree(f.site, at)
	if err != nil {
		return nil, fmt.Errorf("%q cannot be read: %w", name, err)
	}
	return f.read.trees.keep(at, states.NewTree(path.Join(f.name, at), entries).Value()), nil
}

// checkText says what keeps a string out of the language's values.
func checkText(s string) error {
	if !utf8.ValidString(s) {
		return errors.New("is not UTF-8 text")
	}
	if !norm.NFC.IsNormalString(s) {
		return errors.New("is not in Unicode's normal form C, which values are")
	}
	return nil
}
