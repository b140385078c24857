package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/cluster"
	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/store"
)

// Clusters are found by filters, page by page, by what of them the caller may see.
func TestPagesOfClusters(t *testing.T) {
	w := startDeployments(t)
	must(t, w.store.Write(t.Context(), func(tx store.Tx) error {
		for _, o := range []cluster.Overview{
			{Site: "shop", Cluster: "a", State: cluster.Waiting, Waiting: []string{"db1"}, Peers: []cluster.PeerReport{{Host: "web1"}, {Host: "db1"}}},
			{Site: "shop", Cluster: "b", State: cluster.Deployed, Peers: []cluster.PeerReport{{Host: "web1"}}},
			{Site: "shop", Cluster: "c", State: cluster.Failed, Peers: []cluster.PeerReport{{Host: "db1"}}},
			{Site: "work", Cluster: "a", State: cluster.Deployed, Peers: []cluster.PeerReport{{Host: "db1"}}},
		} {
			body, err := json.Marshal(map[string]any{"site": o.Site, "name": o.Cluster, "report": o})
			must(t, err)
			if _, err := tx.Exec(`INSERT INTO deploy_clusters (site, name, body) VALUES ($1, $2, $3)`, o.Site, o.Cluster, body); err != nil {
				return err
			}
		}
		return nil
	}))
	page := func(secret, path string) (names []string, next string) {
		t.Helper()
		r := w.ask("GET", path, secret, "")
		var list api.List[*api.Cluster]
		if r.status != http.StatusOK || json.Unmarshal([]byte(r.text), &list) != nil {
			t.Fatalf("%s: %d %s", path, r.status, r.text)
		}
		for _, c := range list.Items {
			names = append(names, c.Site+"/"+c.Cluster)
		}
		return names, list.Next
	}
	for _, c := range []struct{ secret, path, want string }{
		{w.alice, "/v1/clusters?", "shop/a shop/b shop/c work/a"},
		{w.carol, "/v1/clusters?", "shop/a shop/b shop/c"},
		{w.alice, "/v1/sites/shop/clusters?", "shop/a shop/b shop/c"},
		{w.alice, "/v1/sites/shop/clusters?name=b", "shop/b"},
		{w.alice, "/v1/clusters?name=a", "shop/a work/a"},
		{w.alice, "/v1/clusters?state=waiting,failed", "shop/a shop/c"},
		{w.alice, "/v1/clusters?words=DB1+deploy", "work/a"},
		{w.alice, "/v1/clusters?words=shop/a", "shop/a"},
		{w.alice, "/v1/clusters?host=db1&parts=none", "shop/a shop/c work/a"},
		{w.carol, "/v1/clusters?host=db1", ""}, // which carol may not see
		{w.carol, "/v1/clusters?words=db1", ""},
	} {
		want, got := strings.Fields(c.want), []string{}
		for cursor, pages := "", 0; pages < 9; pages++ {
			names, next := page(c.secret, c.path+"&limit=1&cursor="+cursor)
			if got, cursor = append(got, names...), next; next == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", c.path, got, want)
		}
	}
	_, next := page(w.alice, "/v1/clusters?limit=1")
	for _, path := range []string{"/v1/clusters?state=failed&cursor=" + next, "/v1/sites/shop/clusters?cursor=" + next, "/v1/clusters?cursor=x"} {
		if r := w.ask("GET", path, w.alice, ""); r.status != http.StatusBadRequest || !strings.Contains(r.text, "cursor") {
			t.Errorf("%s: %d %s", path, r.status, r.text)
		}
	}
	if r := w.ask("GET", "/v1/clusters?state=lost", w.alice, ""); r.status == http.StatusOK {
		t.Errorf("a state that is none: %s", r.text)
	}
}
