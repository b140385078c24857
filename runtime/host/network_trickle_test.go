package host_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/host"
)

// A body that comes byte by byte does not go on for ever; one that is slow and steady does.
func TestTricklingBodyEnds(t *testing.T) {
	for piece, wrong := range map[int]bool{1: true, 2048: false} {
		t.Run(fmt.Sprint(piece), func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for range 60 { // all in all longer than the patience
					if _, err := w.Write(make([]byte, piece)); err != nil {
						return
					}
					w.(http.Flusher).Flush()
					time.Sleep(50 * time.Millisecond)
				}
			}))
			defer server.Close()
			h, err := host.NewLocal(host.LocalOptions{})
			if err != nil {
				t.Fatal(err)
			}
			n, err := host.NetworkOf(h)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := n.Fetch(t.Context(), host.Request{URL: server.URL, Reads: true, Timeout: 2 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			_, err = io.Copy(io.Discard, answer.Body)
			if (err != nil) != wrong {
				t.Errorf("%d bytes at a time: %v", piece, err)
			}
		})
	}
}
