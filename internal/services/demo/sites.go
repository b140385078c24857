package demo

import (
	"archive/tar"
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// siteFiles are the sites: SITE/1 is the first revision, and SITE/N what another one has otherwise than that.
//
//go:embed sites
var siteFiles embed.FS

// files are those of a revision of a site, by their names.
type files map[string]string

// kindsOf are the kinds of machines that a site is for; none: all.
func kindsOf(site string) []string {
	switch site {
	case "shop":
		return []string{"web", "lb", "db"}
	case "lab":
		return []string{"edge"}
	case "builds":
		return []string{"build"}
	case "metrics":
		return []string{"lb", "db", "mon"}
	case "status":
		return []string{"mon"}
	}
	return nil
}

// revision gives the files of a revision of a site, for the machines that there are.
func revision(site string, number int, all []machine) (files, error) {
	f := files{"hosts.hcl": hostsFile(named(all, kindsOf(site)...))}
	for _, n := range slices.Compact([]int{1, number}) {
		dir := path.Join("sites", site, fmt.Sprint(n))
		entries, err := fs.ReadDir(siteFiles, dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			text, err := fs.ReadFile(siteFiles, path.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			f[e.Name()] = string(text)
		}
	}
	if len(named(all, "db")) == 0 { // a stage without hosts is a mistake
		f["site.hcl"] = strings.Replace(f["site.hcl"], "  stage \"databases\" {\n    hosts = \"@databases\"\n  }\n\n", "", 1)
	}
	return f, nil
}

// hostsFile declares the hosts of a site.
func hostsFile(names []string) string {
	var b strings.Builder
	b.WriteString("# The machines, which are enrolled under these names.\n\nhost \"machine\" {\n  executor = \"agent\"\n\n  for_each = toset([\n")
	for _, name := range names {
		fmt.Fprintf(&b, "    %q,\n", name)
	}
	b.WriteString("  ])\n}\n")
	return b.String()
}

// with gives the files with another text in the place of one that is in a file.
func (f files) with(name, former, next string) files {
	out := maps.Clone(f)
	out[name] = strings.Replace(f[name], former, next, 1)
	return out
}

// archive packs the files, as an upload has them.
func (f files) archive() ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(f[name])), Typeflag: tar.TypeReg}); err != nil {
			return nil, err
		}
		if _, err := w.Write([]byte(f[name])); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// write puts the files into a folder, each of them in one step.
func (f files) write(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if err := replaceFile(filepath.Join(dir, name), f[name]); err != nil {
			return err
		}
	}
	return nil
}
