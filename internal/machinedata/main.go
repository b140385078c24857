// Program machinedata writes down what packages of Debian and its like put on a machine,
// for the machines of modules/simulated: names, versions, needs, paths and units, and no
// content. It reads a tree in which they are installed, or single packages.
//
//	machinedata root DIR          # an installed system, such as debootstrap makes
//	machinedata deb FILE.deb …    # packages, by dpkg-deb
package main

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	var all []parcel
	var err error
	switch {
	case len(os.Args) == 3 && os.Args[1] == "root":
		all, err = installed(os.Args[2])
	case len(os.Args) > 2 && os.Args[1] == "deb":
		all, err = unpacked(os.Args[2:])
	default:
		err = fmt.Errorf("usage: machinedata root DIR, or machinedata deb FILE.deb …")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	slices.SortFunc(all, func(a, b parcel) int { return strings.Compare(a.name, b.name) })
	out := bufio.NewWriter(os.Stdout)
	for _, p := range all {
		p.write(out)
		if p.isUnpacked {
			os.RemoveAll(p.root) // what is left of it is in a folder for temporary files
		}
	}
	if err := out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// parcel is a package with what it brings.
type parcel struct {
	name, version string
	needs         []string
	paths         []string
	root          string // where the paths are
	isUnpacked    bool   // there alone, to be read
	postinst      string
}

// fields reads the fields of a stanza.
func fields(stanza string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(stanza) {
		if key, value, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, " ") {
			out[key] = strings.TrimSpace(value)
		}
	}
	return out
}

// parcelOf makes what a stanza says into a parcel.
func parcelOf(stanza, root string) parcel {
	f := fields(stanza)
	p := parcel{name: f["Package"], version: f["Version"], root: root}
	for need := range strings.SplitSeq(f["Pre-Depends"]+","+f["Depends"], ",") {
		first, _, _ := strings.Cut(need, "|") // apt takes the first that it can have
		if words := strings.Fields(first); len(words) > 0 {
			name, _, _ := strings.Cut(words[0], ":")
			p.needs = append(p.needs, name)
		}
	}
	slices.Sort(p.needs)
	p.needs = slices.Compact(p.needs)
	return p
}

// installed reads a tree.
func installed(root string) ([]parcel, error) {
	info := filepath.Join(root, "var/lib/dpkg/info")
	status, err := os.ReadFile(filepath.Join(root, "var/lib/dpkg/status"))
	if err != nil {
		return nil, err
	}
	var all []parcel
	for stanza := range strings.SplitSeq(string(status), "\n\n") {
		if !strings.Contains(stanza, "\nStatus: install ok installed\n") {
			continue
		}
		p := parcelOf(stanza, root)
		base := filepath.Join(info, p.name)
		list, err := os.ReadFile(base + ".list")
		if err != nil {
			base += ":" + fields(stanza)["Architecture"]
			if list, err = os.ReadFile(base + ".list"); err != nil {
				return nil, err
			}
		}
		p.paths = strings.Fields(string(list))
		postinst, err := os.ReadFile(base + ".postinst")
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		p.postinst = string(postinst)
		all = append(all, p)
	}
	return all, nil
}

// unpacked reads packages.
func unpacked(names []string) ([]parcel, error) {
	var all []parcel
	for _, name := range names {
		dir, err := os.MkdirTemp("", "machinedata-")
		if err != nil {
			return nil, err
		}
		if out, err := exec.Command("dpkg-deb", "-R", name, dir).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", name, err, out)
		}
		control, err := os.ReadFile(filepath.Join(dir, "DEBIAN/control"))
		if err != nil {
			return nil, err
		}
		p := parcelOf(string(control), dir)
		p.isUnpacked = true
		postinst, err := os.ReadFile(filepath.Join(dir, "DEBIAN/postinst"))
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		p.postinst = string(postinst)
		err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if name, ok := strings.CutPrefix(path, dir+"/"); ok && !strings.HasPrefix(name, "DEBIAN") {
				p.paths = append(p.paths, "/"+name)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// merged gives a path as it is where /usr is merged.
func merged(path string) string {
	for _, dir := range []string{"/bin/", "/sbin/", "/lib/"} {
		if strings.HasPrefix(path, dir) {
			return "/usr" + path
		}
	}
	return path
}

// isOfInterest tells the paths that sites deal with: programs, units, what is below /etc
// and /var, and what is given to others below /usr/share.
func isOfInterest(path string) bool {
	dir := filepath.Dir(path)
	switch {
	case path == "/usr/lib/locale/C.utf8": // where locales are made
		return true
	case strings.ContainsAny(path, " \t"), strings.HasPrefix(path, "/etc/init.d/"), strings.HasPrefix(path, "/etc/rc"):
		return false
	case strings.HasPrefix(path, "/etc/"), strings.HasPrefix(path, "/srv/"), strings.HasPrefix(path, "/opt/"):
		return true
	case strings.HasPrefix(path, "/var/"):
		return path != "/var/lib" && path != "/var/log" && path != "/var/cache" && path != "/var/spool" && !strings.HasPrefix(path, "/var/lib/dpkg")
	}
	return dir == "/usr/bin" || dir == "/usr/sbin"
}

const unitDir = "/usr/lib/systemd/system"

// write writes a parcel: a line for each thing, the word that says what it is first.
func (p parcel) write(out *bufio.Writer) {
	fmt.Fprintf(out, "package %s %s\n", p.name, p.version)
	if len(p.needs) > 0 {
		fmt.Fprintf(out, "needs %s\n", strings.Join(p.needs, " "))
	}
	slices.Sort(p.paths)
	p.paths = slices.DeleteFunc(p.paths, func(path string) bool {
		path = merged(path)
		return !isOfInterest(path) && filepath.Dir(path) != unitDir
	})
	for i, path := range p.paths {
		info, err := os.Lstat(filepath.Join(p.root, path))
		if err != nil {
			continue // a script of the package has moved it
		}
		path = merged(path)
		if unit := filepath.Base(path); filepath.Dir(path) == unitDir && isUnit(unit) {
			p.writeUnit(out, unit)
			continue
		}
		switch {
		case filepath.Dir(path) == unitDir: // what belongs to units
		case info.IsDir():
			implied := i+1 < len(p.paths) && strings.HasPrefix(p.paths[i+1], p.paths[i]+"/")
			switch mode := info.Mode().Perm(); {
			case mode != 0o755:
				fmt.Fprintf(out, "directory %s %04o\n", path, mode)
			case !implied:
				fmt.Fprintf(out, "directory %s\n", path)
			}
		case info.Mode()&fs.ModeSymlink != 0:
			if target, err := os.Readlink(filepath.Join(p.root, p.paths[i])); err == nil {
				fmt.Fprintf(out, "link %s %s\n", path, target)
			}
		case info.Mode().Perm() != 0o644 && !strings.HasPrefix(path, "/usr/"):
			fmt.Fprintf(out, "file %s %04o\n", path, info.Mode().Perm())
		default:
			fmt.Fprintf(out, "file %s\n", path)
		}
	}
}

func isUnit(name string) bool {
	return slices.Contains([]string{".service", ".socket", ".timer", ".path", ".target"}, filepath.Ext(name))
}

// writeUnit writes what is to be known of a unit: whether it is enabled when the package
// is installed, its type, whether it can reload, and what wants it.
func (p parcel) writeUnit(out *bufio.Writer, unit string) {
	text, err := os.ReadFile(filepath.Join(p.root, unitDir, unit))
	if err != nil {
		text, err = os.ReadFile(filepath.Join(p.root, "/lib/systemd/system", unit))
	}
	if err != nil {
		return // a link: another name of another unit
	}
	words := []string{"unit", unit}
	for _, setting := range []string{"Type", "RemainAfterExit", "WantedBy"} {
		if m := regexp.MustCompile(`(?m)^` + setting + `=\s*(\S+)`).FindStringSubmatch(string(text)); m != nil {
			words = append(words, setting+"="+m[1])
		}
	}
	if strings.Contains(string(text), "\nExecReload=") || strings.Contains(string(text), "\nType=notify-reload") {
		words = append(words, "reloads")
	}
	if regexp.MustCompile(`deb-systemd-helper (--quiet )?(was-enabled|enable) '?` + regexp.QuoteMeta(unit)).MatchString(p.postinst) {
		words = append(words, "enabled")
	}
	fmt.Fprintln(out, strings.Join(words, " "))
}
