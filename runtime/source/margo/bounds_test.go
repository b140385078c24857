package margo_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/source/margo"
	"github.com/tenetcm/tenet/runtime/source/margo/managertest"
	"github.com/tenetcm/tenet/runtime/source/margo/rc2"
)

func (b *bench) wantNoDocuments() {
	b.Helper()
	entries, err := os.ReadDir(filepath.Join(b.dir, "records", "documents"))
	if err != nil || len(entries) > 0 {
		b.Errorf("%d documents are kept, %v", len(entries), err)
	}
}

// Documents that come one by one are bounded together, as those of a bundle are.
func TestDocumentsAreBoundedTogether(t *testing.T) {
	b := newBench(t)
	documents := map[string]string{}
	for i := range 66 {
		id := fmt.Sprintf("app-%d", i)
		text := managertest.Document(id, []string{"web"})
		documents[id] = text + "# " + strings.Repeat("x", rc2.MaxDeployment-len(text)-3) + "\n"
	}
	b.manager.Publish(documents)
	b.manager.Disturb(func(w http.ResponseWriter, r *http.Request) bool {
		isBundle := strings.HasPrefix(r.URL.Path, "/api/v1/bundles/")
		if isBundle {
			w.WriteHeader(http.StatusNotFound)
		}
		return isBundle
	})
	b.turn()
	b.wantTold(margo.Trouble, "together")
	b.wantNoDocuments()
}

// A manifest that is not accepted leaves nothing on the disk: a manager can offer many of them.
func TestDocumentsOfOthersAreNotKept(t *testing.T) {
	b := newBench(t)
	for i := range 3 {
		b.manager.Publish(map[string]string{"app": managertest.Document(fmt.Sprintf("other-%d", i), []string{"web"})})
		b.after(time.Hour)
		b.wantTold(margo.Trouble, fmt.Sprintf("another one, other-%d", i))
		b.wantNoDocuments()
	}
}
