package sitefiles

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io/fs"
	"path"

	"github.com/tenetcm/tenet/lang/diag"
)

// maxPacked is how many bytes of a site are packed for a server.
const maxPacked = 256 << 20

// Packer makes the archive of a site that a server takes: the same for the same files.
type Packer struct {
	Name     string            // of the site, for messages
	Contents map[string][]byte // of files, in the place of what they have

	out bytes.Buffer
	tar *tar.Writer
}

// Add adds files below a directory of the archive, without what is there of version control.
func (p *Packer) Add(files fs.FS, below string) error {
	if p.tar == nil {
		p.tar = tar.NewWriter(&p.out)
	}
	return fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		to := path.Join(below, name)
		switch {
		case err != nil:
			return err
		case e.IsDir() && (to == ".git" || to == ".hg" || to == ".jj"):
			return fs.SkipDir
		case e.IsDir():
			return nil
		case !e.Type().IsRegular():
			return &diag.HintError{Message: path.Join(p.Name, to) + " is neither a plain file nor a directory: a server takes no others", Hint: "put the file itself in its place"}
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		data, isGiven := p.Contents[to]
		if !isGiven {
			data, err = fs.ReadFile(files, name)
		}
		if err != nil {
			return err
		}
		return p.add(to, IsExecutable(info.Mode()), data)
	})
}

func (p *Packer) add(name string, executable bool, data []byte) error {
	if p.out.Len()+len(data) > maxPacked {
		return &diag.HintError{Message: fmt.Sprintf("%s has more than %d MiB", p.Name, maxPacked>>20), Hint: "put large files elsewhere, and have hosts fetch them"}
	}
	// Nothing else of the file, so that the same files are the same archive.
	err := p.tar.WriteHeader(&tar.Header{Name: name, Mode: int64(ModeOf(executable)), Size: int64(len(data)), Typeflag: tar.TypeReg})
	if err == nil {
		_, err = p.tar.Write(data)
	}
	return err
}

// Bytes ends the archive, and gives it.
func (p *Packer) Bytes() ([]byte, error) {
	if p.tar == nil {
		p.tar = tar.NewWriter(&p.out)
	}
	err := p.tar.Close()
	return p.out.Bytes(), err
}
