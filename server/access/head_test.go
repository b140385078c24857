package access_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/server/access"
)

// Heads that were kept in a file show that the history was written anew.
func TestKeepHead(t *testing.T) {
	ctx, s, file := context.Background(), written(t, 2), filepath.Join(t.TempDir(), "heads")
	var last access.Head
	keep := func() {
		t.Helper()
		var err error
		last, err = access.KeepHead(ctx, s, last, access.FileKeeper(file))
		must(t, err)
	}
	keep()
	keep() // nothing is new
	write(t, s, access.Entry{Actor: "alice", Action: "x"})
	keep()
	text, err := os.ReadFile(file)
	must(t, err)
	var heads []access.Head
	for line := range strings.Lines(string(text)) {
		var h access.Head
		must(t, json.Unmarshal([]byte(line), &h))
		heads = append(heads, h)
	}
	if len(heads) != 2 || heads[0].N != 2 || heads[1] != last {
		t.Fatal(heads)
	}
	_, err = access.Verify(ctx, s, heads...)
	must(t, err)
	_, err = access.Verify(ctx, written(t, 3), heads...)
	wantCode(t, err, access.CodeBroken)
}

func TestKeepHeadByProgram(t *testing.T) {
	ctx, s, file := context.Background(), written(t, 1), filepath.Join(t.TempDir(), "head")
	head, err := access.KeepHead(ctx, s, access.Head{}, access.ProgramKeeper("sh", "-c", "cat >"+file))
	must(t, err)
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), head.Digest) {
		t.Error(string(text), err)
	}
	for _, argv := range [][]string{{"sh", "-c", "exit 3"}, {"/nowhere"}} {
		again, err := access.KeepHead(ctx, s, access.Head{}, access.ProgramKeeper(argv...))
		wantCode(t, err, access.CodeUnavailable)
		if again != (access.Head{}) {
			t.Error("what was not kept counts as kept")
		}
	}
	none, err := access.KeepHead(ctx, open(t), access.Head{}, access.ProgramKeeper("/nowhere"))
	if err != nil || none.N != 0 {
		t.Error(none, err)
	}
}
