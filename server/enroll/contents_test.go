package enroll

import (
	"bytes"
	"context"
	"crypto/rand"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/contents"
)

// put keeps a content.
func (w *world) put(content []byte) trust.Digest {
	w.Helper()
	must(w, w.contents.Put(context.Background(), contents.Sum(content), bytes.NewReader(content)))
	return trust.DigestOf(content)
}

// breaking sends so many bytes of an answer, and then no more.
type breaking struct {
	http.ResponseWriter
	left int
}

func (b *breaking) Write(p []byte) (int, error) {
	if len(p) > b.left {
		b.ResponseWriter.Write(p[:b.left])
		http.NewResponseController(b.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	b.left -= len(p)
	return b.ResponseWriter.Write(p)
}

// A content is fetched over as many connections as it takes, none of it twice, and goes on after a restart.
func TestFetch(t *testing.T) {
	w := newWorld(t)
	i, _ := w.host("web1")
	content := make([]byte, 300_000)
	rand.Read(content)
	d := w.put(content)
	tickets, err := w.registry.Ticket(i.ID(), d)
	must(t, err)
	c := trust.Content{SHA256: d, Size: int64(len(content))}
	served, left := 0, 100_000
	w.wrap = func(h http.ResponseWriter) http.ResponseWriter { served++; return &breaking{h, left} }
	dir := t.TempDir()
	path, err := i.Fetch(w.ctx, dir, c, tickets[d])
	must(t, err)
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, content) || served != 3 {
		t.Errorf("%d bytes in %d requests, %v", len(got), served, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left over: %v", entries)
	}
	served = 0
	if _, err := i.Fetch(w.ctx, dir, c, "no ticket"); err != nil || served != 0 {
		t.Errorf("what is there is fetched again: %v", err)
	}
	// What was fetched before the process ended, and what of it is of another content.
	for name, part := range map[string][]byte{"begun": content[:1000], "other": bytes.Repeat([]byte("x"), 1000), "longer": bytes.Repeat([]byte("x"), 400_000)} {
		left, served = len(content), 0
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, d.String()+".part"), part, 0o600))
		_, err := i.Fetch(w.ctx, dir, c, tickets[d])
		if name == "other" {
			wantError(t, err, "is not the content")
			_, err = i.Fetch(w.ctx, dir, c, tickets[d])
		}
		must(t, err)
		if got, err := os.ReadFile(filepath.Join(dir, d.String())); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	// A server that sends nothing is given up, and one that says another size is not believed.
	left = 0
	_, err = i.Fetch(w.ctx, t.TempDir(), c, tickets[d])
	wantError(t, err, "EOF")
	left = len(content)
	_, err = i.Fetch(w.ctx, t.TempDir(), trust.Content{SHA256: d, Size: 10}, tickets[d])
	wantError(t, err, "another size")
	_, err = i.Fetch(w.ctx, t.TempDir(), trust.Content{SHA256: trust.DigestOf(nil), Size: 10}, tickets[d])
	wantCode(t, err, CodeTicket)
}

// As many hosts fetch at once as there are slots; one that is done, or whose time is up, makes room.
func TestStartSlots(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Starts = 2 })
	a, _ := w.host("a")
	b, _ := w.host("b")
	c, _ := w.host("c")
	for _, id := range []trust.ID{a.ID(), b.ID(), a.ID()} {
		_, err := w.registry.Ticket(id)
		must(t, err)
	}
	_, err := w.registry.Ticket(c.ID())
	wantCode(t, err, CodeBusy)
	w.registry.Done(a.ID())
	_, err = w.registry.Ticket(c.ID())
	must(t, err)
	_, err = w.registry.Ticket(a.ID())
	wantCode(t, err, CodeBusy)
	w.pass(ticketValidity + time.Second)
	_, err = w.registry.Ticket(a.ID())
	must(t, err)
	_, err = w.registry.Ticket("nobody")
	wantCode(t, err, CodeState)
	w.pass(-24 * time.Hour) // the clock was ahead, and is put right
	for _, id := range []trust.ID{b.ID(), c.ID()} {
		_, err = w.registry.Ticket(id)
		must(t, err)
	}
}
