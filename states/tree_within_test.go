package states_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/states"
)

// A site's files are all that fs.FS promises, and end with the context.
func TestSiteFiles(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	site := states.WithTrees(ctx, fstest.MapFS{"a": {Data: []byte("text")}, "d/b": {Data: []byte("more")}}, nil)
	if err := fstest.TestFS(site, "a", "d/b"); err != nil {
		t.Error(err)
	}
	opened, err := site.Open("a")
	if err != nil {
		t.Fatal(err)
	}
	whole, err := states.OpenFile(site, "d/b")
	if err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	stop(enough)
	for _, f := range []io.ReadCloser{opened, whole} {
		if _, err := io.ReadAll(f); !errors.Is(err, enough) {
			t.Errorf("it is read to %v", err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
