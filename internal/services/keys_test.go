package services

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tenetcm/tenet/internal/cli"
)

// A key of one site opens no other one's secrets.
func TestKeysOfSites(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	list := []cli.SiteIdentity{{File: file("any")}, {Site: "shop", File: file("shop")}, {Site: "bank", File: file("bank")}}
	for site, want := range map[string][]string{"shop": {"any", "shop"}, "bank": {"any", "bank"}, "other": {"any"}} {
		if got, err := readKeys(list, site); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", site, got, err)
		}
	}
	list[1].File = filepath.Join(dir, "none")
	if _, err := readKeys(list, "bank"); err != nil {
		t.Errorf("a file of another site lacks: %v", err)
	}
	if _, err := readKeys(list, "shop"); err == nil {
		t.Error("a file that lacks is not told")
	}
}
