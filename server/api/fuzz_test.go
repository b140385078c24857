package api

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/server/access"
)

// No text is a cursor, or a position in a feed, but those that were given out.
func FuzzCursor(f *testing.F) {
	a := &API{o: Options{CursorKey: []byte("key")}}
	c := &access.Caller{Name: "alice"}
	good, err := a.NewCursor(c, "list", 7)
	if err != nil {
		f.Fatal(err)
	}
	feed := NewFeed(4)
	f.Add(good)
	f.Add(good[:20])
	f.Add(feed.id(0))
	f.Fuzz(func(t *testing.T, text string) {
		var n int
		if found, err := a.ReadCursor(c, "list", text, &n); err == nil && found && strings.TrimRight(text, "\r\n") != good {
			t.Fatalf("%q is taken for a cursor", text)
		}
		if n, ok := feed.position(text); ok && (n != 0 || !strings.HasPrefix(text, feed.name+"-")) {
			t.Fatalf("%q is taken for a position", text)
		}
	})
}
