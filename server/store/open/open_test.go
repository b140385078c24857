package open_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/open"
)

func TestOpen(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	for name, folder := range map[string]string{
		"sqlite://" + dir + "/a%20b%3Fc": "a b?c",
		dir + "/d%20e?f":                 "d%20e?f",
	} {
		s, err := open.Open(ctx, name, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(dir, folder, "tenet.db")); err != nil {
			t.Error(err)
		}
	}
	for name, says := range map[string]string{
		"mysql://x":                     "no store of the kind mysql://",
		"sqlite://relative":             "no URL of a folder",
		"sqlite:///a?mode=ro":           "no URL of a folder",
		"sqlite:///%zz":                 "no URL of a folder",
		"postgres://h:x/y":              "port",
		"postgres://u:geheim@[::1/x":    "parse",
		"postgres://u@/d?host=/nowhere": "cannot be reached",
		"":                              "is no path",
	} {
		_, err := open.Open(ctx, name, store.Options{})
		if err == nil || !strings.Contains(err.Error(), says) || diag.HintOf(err) == "" || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: %v\nhint: %s", name, err, diag.HintOf(err))
		}
	}
}
