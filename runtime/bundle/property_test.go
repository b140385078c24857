package bundle_test

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/runtime/wire"
)

// TestAnyBundle: whatever a site holds and whatever the machine has of it, what
// arrives is what was sent.
func TestAnyBundle(t *testing.T) {
	store, _ := newStore(t)
	rapid.Check(t, func(rt *rapid.T) {
		any := fstest.MapFS{}
		var files []string
		text := rapid.SampledFrom([]string{"", "x", "same", "\x00\xff", "a longer text of more than a few characters\n"})
		for i := range rapid.IntRange(0, 4).Draw(rt, "files") {
			name := fmt.Sprintf("f%d", i)
			any[name] = &fstest.MapFile{Data: []byte(text.Draw(rt, name)), Mode: 0o644}
			files = append(files, name)
		}
		var trees []string
		for i := range rapid.IntRange(0, 2).Draw(rt, "trees") {
			dir := fmt.Sprintf("t%d", i)
			any[dir] = &fstest.MapFile{Mode: fs.ModeDir | fs.FileMode(rapid.IntRange(0, 0o777).Draw(rt, "mode"))}
			trees = append(trees, dir)
			for k := range rapid.IntRange(0, 4).Draw(rt, "in it") {
				f := &fstest.MapFile{Data: []byte(text.Draw(rt, "text")), Mode: fs.FileMode(rapid.IntRange(0, 0o777).Draw(rt, "mode"))}
				if rapid.Bool().Draw(rt, "link") {
					f = &fstest.MapFile{Data: []byte("../" + dir), Mode: fs.ModeSymlink | 0o777}
				}
				any[fmt.Sprintf("%s/%d/ä %d", dir, k%2, k)] = f
			}
		}
		b := example(t, any, files, trees, nil)
		if rapid.Bool().Draw(rt, "no plan") {
			b.Rows, b.Run.Secrets = nil, nil
		}
		have := slices.Clone(store.Have(b.Site()))
		have = have[:rapid.IntRange(0, len(have)/wire.HaveSize).Draw(rt, "known")*wire.HaveSize]
		if rapid.IntRange(0, 9).Draw(rt, "lost") == 9 {
			if err := os.RemoveAll(store.Dir); err != nil {
				t.Fatal(err)
			}
		}
		got, _, err := send(t, b, store, have)
		if err != nil {
			rt.Fatal(err)
		}
		same(rt, b, got)
	})
	private(t, store.Dir)
}
