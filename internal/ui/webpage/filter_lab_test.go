//go:build lab

package webpage_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/tenetcm/tenet/server/web/webtest"
)

// TestFilterByHost looks, in a browser, for what hosts have in common: by host, one that has the rows of another is shown where
// by state such a row is.
func TestFilterByHost(t *testing.T) {
	p := hostsPage(5)
	for i := 1; i < 5; i++ {
		p.Hosts[i].Rows = p.Hosts[i].Rows[1:] // what is left is the same
	}
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, []byte(write(t, p)), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := webtest.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	tab, done, err := b.Tab(2 * time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if err := chromedp.Do(tab, chromedp.Navigate("file://"+file), chromedp.WaitReady("#on")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ words, on, rows, hosts string }{
		{"file.b", "web3", "state.web.file.b", "web3"},
		{"file.b", "web1", "state.web.file.b", "web1"},
		{"file.only", "web3", "", ""},
		{"file.only", "", "state.web.file.only", "web0"},
		{"file.b", "", "state.web.file.b", "web0 web1 web2 web3 web4"},
		{"", "web3", "state.web.file.b", "web3"},
	} {
		if rows, hosts := filterBy(t, tab, c.words, c.on); rows != c.rows || hosts != c.hosts {
			t.Errorf("%q on %q: the rows %q of %q, wanted %q of %q", c.words, c.on, rows, hosts, c.rows, c.hosts)
		}
	}
}

// filterBy filters by words and a host, and gives the rows that are shown by state, and the hosts by host.
func filterBy(t *testing.T, tab context.Context, words, on string) (rows, hosts string) {
	t.Helper()
	const script = `((words, on) => new Promise(done => {
		document.getElementById("find").value = words;
		document.getElementById("on").value = on;
		document.getElementById("find").dispatchEvent(new Event("input", { bubbles: true }));
		const text = (list, what) => [...document.querySelectorAll(list)].filter(e => !e.hidden).map(what).join(" ");
		setTimeout(() => done([text("#by-state .row", r => r.querySelector("b").textContent), text(".host", h => h.dataset.n)]), 500);
	}))`
	out, err := chromedp.Run(tab, chromedp.Evaluate[[]string](fmt.Sprintf("%s(%q, %q)", script, words, on), chromedp.EvalAwaitPromise))
	if err != nil || len(out) != 2 {
		t.Fatal(out, err)
	}
	return out[0], out[1]
}
