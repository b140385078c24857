package update

import (
	"testing"

	"github.com/tenetcm/tenet/server/store"
)

// A server that was restored offers no release by itself, whether an update was rolling in its backup or done. One that is begun then works as ever.
func TestRestored(t *testing.T) {
	for _, phase := range []Phase{Rolling, Done} {
		w := newWorld(t, 1)
		w.start("v1.1.0")
		if phase == Done {
			w.runs("h1", "v1.1.0")
			w.round()
			w.runs("h1", "v1.0.0")
		}
		w.expect(phase, "h1:v1.1.0")
		if err := w.Store.Write(t.Context(), func(tx store.Tx) error { return Restored(tx) }); err != nil {
			t.Fatal(err)
		}
		w.restart()
		w.run()
		if u := w.expect(Aborted, ""); u.Reason == "" {
			t.Error("nobody says why")
		}
		w.start("v1.2.0")
		w.expect(Rolling, "h1:v1.2.0")
	}
}
