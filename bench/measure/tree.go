package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/tenetcm/tenet/bench"
)

// tree copies a directory with n small files, found as wanted or (cold) not at all,
// and compares that with rsync or cp.
func (l *lab) tree(dir string, n int, cold bool) ([]program, error) {
	source, copied := filepath.Join(dir, "site", "source"), filepath.Join(dir, "copy")
	if err := bench.WriteTree(source, n); err != nil {
		return nil, err
	}
	if err := writeAll(filepath.Join(dir, "site"), map[string]string{"site.hcl": bench.TreeSite(copied)}); err != nil {
		return nil, err
	}
	tenet := program{name: "tenet", argv: []string{l.tenet, "apply", "--yes", "--state-dir", filepath.Join(dir, "state"), filepath.Join(dir, "site")}}
	same := []string{"diff", "-r", "-q", source, copied}
	tenet.check = func() error { _, _, err := measure(dir, same); return err }
	if cold {
		cp := program{name: "cp", argv: []string{"cp", "-a", source, copied}}
		tenet.prepare, cp.prepare = removeTree(copied), removeTree(copied)
		return []program{cp, tenet}, nil
	}
	rsync, err := exec.LookPath("rsync")
	if err != nil {
		return nil, fmt.Errorf("rsync is not installed: apt-get install rsync: %w", err)
	}
	if _, _, err := measure(dir, tenet.argv); err != nil {
		return nil, err
	}
	argv := []string{rsync, "-n", "--checksum", "-r", source + "/", copied + "/"}
	return []program{{name: "rsync", argv: argv}, tenet}, nil
}

// removeTree removes what the last round has made.
func removeTree(dir string) func() error {
	return func() error { return os.RemoveAll(dir) }
}
