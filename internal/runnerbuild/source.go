package runnerbuild

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
)

// module is tenet's own source.
const module = "github.com/tenetcm/tenet"

// program is what is built of it.
const program = "cmd/tenet-runner"

// isSource reports whether a folder holds tenet's module.
func isSource(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil || !bytes.HasPrefix(text, []byte("module "+module+"\n")) {
		return false
	}
	_, err = os.Stat(filepath.Join(dir, program))
	return err == nil
}

// source finds the module's folder: where this program was compiled, or among the modules that Go
// has fetched. The folder that it runs in is none: what is built acts as root on hosts, and a
// checkout of somebody else can call itself tenet.
func source() string {
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		if dir := filepath.Join(filepath.Dir(file), "..", ".."); isSource(dir) && isOurs(dir) {
			return dir
		}
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Path != module || !strings.HasPrefix(info.Main.Version, "v") {
		return ""
	}
	fetched, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if dir := filepath.Join(strings.TrimSpace(string(fetched)), module+"@"+info.Main.Version); err == nil && isSource(dir) {
		return dir
	}
	return ""
}

// isOurs reports whether a folder belongs to this user or to root, and nobody else may put
// files into it: a path at which a program was compiled once, as below /tmp, may be anybody's.
func isOurs(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o002 != 0 {
		return false
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && (owner.Uid == 0 || int(owner.Uid) == os.Geteuid())
}

// fits tells why a runner that is built from a folder's source is not of this program; nil: it is,
// as far as anybody can tell.
func fits(dir string) error {
	revision := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
	}
	if revision == "" {
		return nil
	}
	now, err := exec.Command("git", "-C", dir, "rev-parse", "HEAD").Output()
	if text := strings.TrimSpace(string(now)); err == nil && text != revision {
		return fmt.Errorf("the source in %s is of revision %.12s, and this program of %.12s", dir, text, revision)
	}
	return nil
}

// digest tells sources apart: it is of the names, sizes and times of all files that a program may be
// made of. Each command over hosts asks for it, and to read the files would take it longer than the rest.
func digest(dir string) (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version(), dir)
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch base := d.Name(); {
		case d.IsDir() && name != dir && (base == "testdata" || base == "docs" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")):
			return fs.SkipDir
		case !d.Type().IsRegular() || strings.HasSuffix(base, "_test.go"):
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(sum, strings.TrimPrefix(name, dir), info.Size(), info.ModTime().UnixNano())
		return nil
	})
	return hex.EncodeToString(sum.Sum(nil))[:12], err
}
