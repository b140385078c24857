package demo

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/internal/cli"
)

// tenetSays runs the program within this process.
func tenetSays(args ...string) (status int, said string) {
	var out strings.Builder
	status = cli.Main(args, cli.Environment{In: strings.NewReader(""), Out: &out, Err: &out, Environ: []string{"HOME=" + os.TempDir()}})
	return status, out.String()
}

// Each revision of each site is formatted and right, but for the one that is there to fail.
func TestSites(t *testing.T) {
	all := machinesFor(20)
	sites, err := fs.ReadDir(siteFiles, "sites")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, site := range sites {
		if !site.IsDir() {
			continue
		}
		revisions, err := fs.ReadDir(siteFiles, "sites/"+site.Name())
		if err != nil {
			t.Fatal(err)
		}
		for n := range revisions {
			f, err := revision(site.Name(), n+1, all)
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), fmt.Sprint(site.Name(), n+1))
			if err := f.write(dir); err != nil {
				t.Fatal(err)
			}
			if status, said := tenetSays("fmt", "--check", dir); status != 0 {
				t.Errorf("%s is not formatted: %s", dir, said)
			}
			status, said := tenetSays("validate", "--strict", dir)
			if isWrong := site.Name() == "metrics" && n+1 == 2; isWrong && !strings.Contains(said, "site.hcl:16:") || isWrong != (status != 0) {
				t.Errorf("%s is wrong or not: %s", dir, said)
			}
			checked++
		}
	}
	if checked < 10 {
		t.Errorf("there are %d revisions", checked)
	}
}

// The shop is right whatever machines there are.
func TestShopOfFewMachines(t *testing.T) {
	for _, count := range []int{1, 2, 3, 5, 8, 200} {
		for number := 1; number <= 3; number++ {
			f, err := revision("shop", number, machinesFor(count))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := f.write(dir); err != nil {
				t.Fatal(err)
			}
			if status, said := tenetSays("validate", dir); status != 0 {
				t.Errorf("revision %d for %d machines: %s", number, count, said)
			}
		}
	}
}

// Names are each there once, whatever the count, and the first ones show the most.
func TestMachines(t *testing.T) {
	for count := 1; count <= 200; count++ {
		all := machinesFor(count)
		seen := map[string]bool{}
		for _, m := range all {
			if seen[m.name] || m.labels["role"] == "" || m.labels["zone"] == "" {
				t.Errorf("of %d machines there is %s %v", count, m.name, m.labels)
			}
			seen[m.name] = true
		}
		if len(seen) != count || !seen["web1"] {
			t.Errorf("there are %d machines of %d", len(seen), count)
		}
	}
}
